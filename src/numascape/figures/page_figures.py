# SPDX-License-Identifier: Apache-2.0
"""Draws the figures with a page axis: accesses, first touches, and strips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import FigureBase
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from numascape.appearance.palette import FULL_DOMINANCE, NO_DOMINANCE, NO_THREAD
from numascape.appearance.style import Style, access_scale, quantity
from numascape.figures.tables import Floats, PageMap
from numascape.figures.visible import make_visible
from numascape.terminal import printable

HEIGHT_CM = 5.0
"""Height in centimetres of a figure with threads from top to bottom."""
_LEGEND = 5
_COLUMNS = 512
_ROWS = 256
_MARKS = 128
"""Maximum number of columns, rows, and rows of first touches; thinner ones would be invisible in
print."""


def draw_access(figure: FigureBase, pages: PageMap, style: Style) -> None:
    """Draw threads from top to bottom, pages from left to right; colour: accesses per page."""
    pages = make_visible(pages, _COLUMNS, _ROWS)
    axes = _page_axes(figure, pages)
    density = accesses_per_page(pages)
    mesh = axes.pcolormesh(
        pages.edges,
        _thread_edges(pages),
        np.where(density > 0, density, np.nan),
        cmap=style.intensity,
        norm=access_scale(density),
        rasterized=True,  # a million cells as paths would make the file too large to open
    )
    _access_bar(figure, axes, mesh)
    if style.title:
        axes.set_title(f"{shown_name(pages.name)}: accesses")


def accesses_per_page(pages: PageMap) -> Floats:
    """Mean accesses per thread and page in each cell, rows x columns."""
    threads = np.minimum(np.diff(_thread_edges(pages)), pages.threads_per_row)[:, None]
    mean: Floats = pages.accesses / np.maximum(pages.weight, 1) / threads
    return mean


def _thread_edges(pages: PageMap) -> Floats:
    edges = np.arange(pages.reads.shape[0] + 1.0) * pages.threads_per_row - 0.5
    edges[-1] = pages.threads - 0.5
    return edges.astype(np.float64)


def draw_first_touch(figure: FigureBase, pages: PageMap, style: Style) -> None:
    """Draw a mark where a thread touched pages first; colour: the code that did it."""
    ranked = ranked_places(pages)
    pages = make_visible(pages, _COLUMNS, _MARKS)
    axes = _page_axes(figure, pages)
    shown = ranked[:_LEGEND]
    colour_of = np.full(len(pages.places) + 1, len(shown))
    colour_of[shown] = np.arange(len(shown))
    axes.pcolormesh(
        pages.edges,
        _thread_edges(pages),
        np.where(pages.place < 0, np.nan, colour_of[pages.place]),
        cmap=style.categories,
        vmin=0,
        vmax=style.categories.N - 1,
        rasterized=True,
    )
    names = [_cut_inside(printable(pages.places[place])) for place in shown]
    if len(ranked) > len(shown):
        names.append(f"{len(ranked) - len(shown)} other places")
    patches = [
        Patch(color=style.categories(at), label=name or " ") for at, name in enumerate(names)
    ]
    figure.legend(
        handles=patches, loc="outside lower left", handlelength=1, borderaxespad=0.2, borderpad=0.1
    )
    if style.title:
        axes.set_title(f"{shown_name(pages.name)}: first touch")


def ranked_places(pages: PageMap) -> list[int]:
    """Indices of the places that touched columns first, those with most pages first."""
    touched = pages.place >= 0
    weight = np.bincount(
        pages.place[touched], pages.first_touched[touched], minlength=len(pages.places)
    )
    return [int(place) for place in np.argsort(-weight, kind="stable") if weight[place] > 0]


def draw_strips(
    figure: FigureBase, maps: Sequence[PageMap], name: str | None, style: Style
) -> None:
    """Draw a band per structure; colour: the thread that dominates a page, strength: accesses.

    One shade of grey cannot show both. In grey, the upper half therefore shows the thread (white:
    none dominates), and the lower half shows the accesses.
    """
    threads = maps[0].threads
    maps = [make_visible(pages, _COLUMNS, threads) for pages in maps]
    all_axes = figure.subplots(len(maps), 1, squeeze=False)[:, 0]
    for axes, pages in zip(all_axes, maps, strict=True):
        bands = strip_colours(pages, style)
        axes.pcolormesh(pages.edges, np.arange(len(bands) + 1), bands, rasterized=True)
        axes.set_xlim(0, max(pages.pages, 1))
        axes.invert_yaxis()
        axes.set_yticks([])
        if len(maps) > 1:
            axes.set_xticks([])
            axes.set_ylabel(
                shown_name(pages.name, 16), rotation=0, ha="right", va="center", fontsize=7
            )
    last: Axes = all_axes[-1]
    if len(maps) == 1:
        _label_pages(last, maps[0])
    else:
        last.set_xlabel("pages, from first to last")
    _thread_bar(figure, list(all_axes), threads, style)
    if style.title:
        what = "dominant thread of each page"
        of = what.capitalize() if name is None else f"{shown_name(name)}: {what}"
        figure.suptitle(of, fontsize=8)


def strip_colours(pages: PageMap, style: Style) -> Floats:
    """The colours of one strip: bands x columns x 3, from 0 to 1; white: no accesses."""
    thread, share, mean = dominant_threads(pages)
    threads = max(1, pages.threads - 1)
    scale = access_scale(mean)
    strength = np.asarray(scale(mean))
    colours = style.threads(thread / threads)[:, :3]
    unused = mean == 0
    if style.grey:
        accesses = style.intensity(strength)[:, :3]
        colours[share < NO_DOMINANCE] = 1.0
        bands = np.stack([colours, accesses])
    else:
        span = FULL_DOMINANCE - NO_DOMINANCE
        chroma = np.clip((share - NO_DOMINANCE) / span, 0, 1)[:, None]
        faded = chroma * colours + (1 - chroma) * np.array(to_rgb(NO_THREAD))
        opacity = (0.25 + 0.75 * strength)[:, None]
        bands = (opacity * faded + (1 - opacity))[None]
    bands[:, unused] = 1.0
    coloured: Floats = bands
    return coloured


def dominant_threads(pages: PageMap) -> tuple[npt.NDArray[np.intp], Floats, Floats]:
    """For each column: the thread with most accesses, its share of them, and accesses per page."""
    accesses = pages.accesses
    total = accesses.sum(axis=0)
    share: Floats = accesses.max(axis=0, initial=0) / np.maximum(total, 1)
    mean: Floats = total / np.maximum(pages.weight, 1)
    return accesses.argmax(axis=0), share, mean


def _page_axes(figure: FigureBase, pages: PageMap) -> Axes:
    axes = figure.subplots()
    axes.set_xlim(0, max(pages.pages, 1))
    axes.set_ylim(pages.threads - 0.5, -0.5)
    axes.set_ylabel("thread")
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 4, 8, 10]))
    _label_pages(axes, pages)
    return axes


def _label_pages(axes: Axes, pages: PageMap) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(quantity))
    of = f" (of {pages.instances} instances, summed)" if pages.instances > 1 else ""
    axes.set_xlabel(f"page{of}")


def _access_bar(figure: FigureBase, axes: Axes, mesh: Any) -> None:
    bar = figure.colorbar(mesh, ax=axes, pad=0.02, fraction=0.06, label="accesses per page")
    bar.ax.yaxis.set_major_formatter(FuncFormatter(quantity))
    bar.ax.yaxis.set_minor_formatter("")
    bar.outline.set_linewidth(0.5)


def _thread_bar(figure: FigureBase, axes: list[Axes], threads: int, style: Style) -> None:
    scale = ScalarMappable(Normalize(0, max(1, threads - 1)), style.threads)
    bar = figure.colorbar(scale, ax=axes, pad=0.02, fraction=0.06, label="thread")
    bar.ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    bar.ax.invert_yaxis()
    bar.outline.set_linewidth(0.5)


def shown_name(name: str, longest: int = 40) -> str:
    """A structure's name, printable and no longer than `longest`."""
    return _cut(printable(name), longest)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _cut_inside(text: str) -> str:
    """Cut the middle, because the line number at the end distinguishes places of one function."""
    return text if len(text) <= 48 else f"{text[:26]}…{text[-21:]}"
