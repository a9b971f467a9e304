# SPDX-License-Identifier: Apache-2.0
"""Draws a structure in two runs side by side: accesses, first touches and nodes of its pages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from numascape.appearance.palette import CATEGORIES, THREADS
from numascape.appearance.style import CM_PER_INCH, SETTINGS, Style, access_scale, quantity
from numascape.figures.page_figures import accesses_per_page
from numascape.figures.tables import Floats, PageMap, page_map
from numascape.figures.visible import make_visible
from numascape.trace import Trace

WIDTH_CM: Final = 26.0
_HEIGHT_CM: Final = 6.6
_COLUMNS: Final = 320
_ROWS: Final = 128
_NODES_NAMED: Final = 8


def draw_change(before: tuple[Trace, int] | None, after: tuple[Trace, int] | None) -> Figure:
    """Draw a structure, given by a trace and its id there; None: it is not in that run.

    Both sides have the same colours for the same numbers of accesses.
    """
    sides = [None if side is None else _Side(*side) for side in (before, after)]
    densities = [side.density for side in sides if side is not None]
    scale = access_scale(np.concatenate([density.ravel() for density in densities]))
    settings: Any = {**mpl.rcParamsDefault, **SETTINGS}
    del settings["backend"]  # setting it would load a graphical backend
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about characters that the font lacks
        figure = Figure()
        figure.set_size_inches(WIDTH_CM / CM_PER_INCH, _HEIGHT_CM / CM_PER_INCH)
        _draw(figure, sides, scale)
        # Compute the layout only once, because this takes longer than all the rest.
        layout = ConstrainedLayoutEngine()
        figure.set_layout_engine(layout)
        layout.execute(figure)
        figure.set_layout_engine("none")
    return figure


class _Side:
    """One run's page map with the accesses per page, and the node of each column's pages."""

    def __init__(self, trace: Trace, structure: int) -> None:
        self.pages = make_visible(page_map(trace, structure), _COLUMNS, _ROWS)
        self.density: Floats = accesses_per_page(self.pages)
        self.nodes, self.node = _nodes_of_columns(trace, structure, self.pages)


def _nodes_of_columns(trace: Trace, structure: int, pages: PageMap) -> tuple[list[int], Floats]:
    """The nodes that hold pages, and by column the index of the node with most; nan: unknown."""
    placed = trace.placement.filter((pl.col("structure") == structure) & (pl.col("node") >= 0))
    nodes = placed["node"].unique().sort().to_list()
    columns = len(pages.edges) - 1
    held = np.zeros((max(len(nodes), 1), columns))
    at = np.searchsorted(pages.edges, placed["page"].to_numpy(), side="right") - 1
    index = np.searchsorted(np.array(nodes, np.int64), placed["node"].to_numpy())
    np.add.at(held, (index, np.clip(at, 0, columns - 1)), 1)
    return nodes, np.where(held.sum(axis=0) > 0, held.argmax(axis=0), np.nan)


def _draw(figure: Figure, sides: Sequence[_Side | None], scale: Normalize) -> None:
    style = Style()
    known = sorted({node for side in sides if side is not None for node in side.nodes})
    several = len(known) > 1
    heights = [10.0, 1.2, 1.2] if several else [10.0, 1.2]
    grid = figure.subplots(
        len(heights), 2, squeeze=False, gridspec_kw={"height_ratios": heights, "wspace": 0.03}
    )
    mesh = None
    for column, (side, title) in enumerate(zip(sides, ("before", "after"), strict=True)):
        top: Axes = grid[0, column]
        top.set_title(title, loc="left", fontweight="bold")
        if side is None:
            for axes in grid[:, column]:
                axes.axis("off")
            top.text(0.5, 0.5, "not in this run", ha="center", va="center", color="#888888")
            continue
        mesh = _draw_accesses(top, side, style, scale)
        _draw_band(grid[1, column], side.pages, _first_touchers(side.pages), _THREAD_COLOURS)
        if several:
            numbers = np.array([known.index(node) for node in side.nodes] or [0], np.float64)
            known_at = np.nan_to_num(side.node).astype(int)
            at = np.where(np.isnan(side.node), np.nan, numbers[known_at])
            _draw_band(
                grid[2, column], side.pages, at / max(len(known) - 1, 1), _node_colours(known)
            )
        last: Axes = grid[-1, column]
        last.set_xticks(top.get_xticks())
        last.set_xlim(top.get_xlim())
        last.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        last.xaxis.set_major_formatter(FuncFormatter(quantity))
        last.set_xlabel("page")
    labels = ("thread", "first touch", "node")
    grid[0, 0].set_ylabel(labels[0])
    for axes, label in zip(grid[1:, 0], labels[1:], strict=False):
        axes.set_ylabel(label, rotation=0, ha="right", va="center")
    if mesh is not None:
        bar = figure.colorbar(mesh, ax=grid, pad=0.01, fraction=0.02, label="accesses per page")
        bar.ax.yaxis.set_major_formatter(FuncFormatter(quantity))
        bar.ax.yaxis.set_minor_formatter("")
        bar.outline.set_linewidth(0.5)
    if several and len(known) <= _NODES_NAMED:
        colours = _node_colours(known)
        patches = [
            Patch(color=colours(at / max(len(known) - 1, 1)), label=f"node {node}")
            for at, node in enumerate(known)
        ]
        figure.legend(handles=patches, loc="outside upper right", ncols=len(known), handlelength=1)


_THREAD_COLOURS = mpl.colors.LinearSegmentedColormap.from_list("threads", THREADS)


def _node_colours(nodes: Sequence[int]) -> Colormap:
    if len(nodes) <= len(CATEGORIES):
        return ListedColormap(CATEGORIES[: len(nodes)])
    return _THREAD_COLOURS


def _draw_accesses(axes: Axes, side: _Side, style: Style, scale: Normalize) -> Any:
    pages = side.pages
    rows = np.arange(pages.reads.shape[0] + 1.0) * pages.threads_per_row - 0.5
    rows[-1] = pages.threads - 0.5
    mesh = axes.pcolormesh(
        pages.edges,
        rows,
        np.where(side.density > 0, side.density, np.nan),
        cmap=style.intensity,
        norm=scale,
        rasterized=True,
    )
    axes.set_xlim(0, max(pages.pages, 1))
    axes.set_ylim(pages.threads - 0.5, -0.5)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 4, 8, 10]))
    axes.set_xticks([])
    return mesh


def _first_touchers(pages: PageMap) -> Floats:
    """By column the thread that touched most of its pages first, as 0 to 1; nan: no thread."""
    first = pages.first_touched.astype(np.float64)
    thread = first.argmax(axis=0) * pages.threads_per_row / max(pages.threads - 1, 1)
    return np.where(first.sum(axis=0) > 0, np.minimum(thread, 1.0), np.nan)


def _draw_band(axes: Axes, pages: PageMap, at: Floats, colours: Colormap) -> None:
    axes.pcolormesh(pages.edges, [0, 1], at[None], cmap=colours, vmin=0, vmax=1, rasterized=True)
    axes.set_xlim(0, max(pages.pages, 1))
    axes.set_yticks([])
    axes.set_xticks([])
