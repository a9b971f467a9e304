# SPDX-License-Identifier: Apache-2.0
"""The figures of counts: sizes, reads and writes, sharing of pages, traffic between nodes."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import FigureBase
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from numascape.appearance.style import Style, access_scale, quantity
from numascape.figures.page_figures import shown_name
from numascape.figures.tables import CountArray, TrafficMatrix
from numascape.quantities import bytes_text, percent

_LABELLED_CELLS = 8
"""Number of nodes up to which each cell of the traffic contains its number."""


def draw_sizes(
    figure: FigureBase, structures: pl.DataFrame, chosen: int | None, of: str | None, style: Style
) -> None:
    """Draw two bars per structure: its size, and its reads and writes; `chosen` is marked.

    `of` is the name of the phase; None is the whole run.
    """
    left, right = figure.subplots(1, 2, sharey=True)
    at = np.arange(structures.height)
    reads_colour, writes_colour = style.categories(0), style.categories(1)
    bytes_ = structures["size"].to_numpy() * structures["instances"].to_numpy().astype(float)
    reads = structures["reads"].to_numpy().astype(float)
    writes = structures["writes"].to_numpy().astype(float)
    left.barh(at, bytes_, color=style.categories(2), height=0.7)
    right.barh(at, reads, color=reads_colour, height=0.7, label="reads")
    right.barh(at, writes, left=reads, color=writes_colour, height=0.7, label="writes")
    marks = ["▸ " if number == chosen else "" for number in structures["structure"]]
    names = [shown_name(name, 18) for name in structures["name"]]
    left.set_yticks(at, [mark + name for mark, name in zip(marks, names, strict=True)])
    left.set_ylim(structures.height - 0.5, -0.5)
    left.set_xlabel("size")
    # Ticks at a multiple of a power of two; at most two besides zero.
    step = 2.0 ** np.ceil(np.log2(max(1.0, float(bytes_.max(initial=1))) / 2))
    left.xaxis.set_major_locator(MultipleLocator(step))
    left.xaxis.set_major_formatter(FuncFormatter(_bytes))
    right.set_xlabel("accesses")
    _quantity_axis(right, "x", 4)
    right.tick_params(axis="y", length=0)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower right", ncols=2, handlelength=1, borderpad=0.1)
    if style.title:
        what = "structures with most accesses"
        figure.suptitle(what.capitalize() if of is None else f"{of}: {what}", fontsize=8)


def draw_read_write(
    figure: FigureBase, counts: tuple[CountArray, CountArray], name: str | None, style: Style
) -> None:
    """Draw the reads of each thread, and its writes above them."""
    reads, writes = (values.astype(float) for values in counts)
    axes = figure.subplots()
    edges = np.arange(len(reads) + 1) - 0.5
    axes.stairs(reads, edges, fill=True, color=style.categories(0), label="reads")
    axes.stairs(
        reads + writes, edges, baseline=reads, fill=True, color=style.categories(1), label="writes"
    )
    axes.set_xlim(-0.5, len(reads) - 0.5)
    axes.set_ylim(0, max(1.0, 1.05 * float((reads + writes).max(initial=0))))
    axes.set_xlabel("thread")
    axes.set_ylabel("accesses")
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 4, 8, 10]))
    _quantity_axis(axes, "y", 5)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower right", ncols=2, handlelength=1, borderpad=0.1)
    _title(axes, name, "reads and writes", style)


def draw_sharing(figure: FigureBase, matrix: CountArray, name: str | None, style: Style) -> None:
    """Draw how much each pair of threads uses the same pages, without the diagonal."""
    values = matrix.astype(float)
    np.fill_diagonal(values, 0)
    axes = _matrix(
        figure, values, "accesses to shared pages", style.intensity, access_scale(values)
    )
    axes.set_xlabel("thread")
    axes.set_ylabel("thread")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 4, 8, 10]))
    if not values.any():
        axes.annotate(
            "no page is used\nby two threads",
            (0.5, 0.5),
            xycoords="axes fraction",
            ha="center",
            va="center",
        )
    _title(axes, name, "sharing", style)


def draw_traffic(figure: FigureBase, moved: TrafficMatrix, name: str | None, style: Style) -> None:
    """Draw the accesses from each node's threads to each node's pages."""
    values = moved.accesses.astype(float)
    scale = Normalize(0, max(1.0, float(values.max(initial=0))))
    axes = _matrix(figure, values, "accesses", style.intensity, scale)
    axes.set_xticks(range(len(moved.page_nodes)), moved.page_nodes)
    axes.set_yticks(range(len(moved.thread_nodes)), moved.thread_nodes)
    axes.set_xlabel("node of the page")
    axes.set_ylabel("node of the thread")
    if max(values.shape) <= _LABELLED_CELLS:
        for (row, column), value in np.ndenumerate(values):
            dark = float(scale(value)) > 0.5
            axes.text(
                *(column, row, quantity(value)),
                ha="center",
                va="center",
                color="white" if dark else "black",
                fontsize=6.5,
            )
    total = int(moved.accesses.sum())
    local = f" ({percent(moved.local / total)} local)" if total else ""
    _title(axes, name, f"traffic between nodes{local}", style)


def _matrix(
    figure: FigureBase,
    values: npt.NDArray[np.float64],
    label: str,
    colours: Colormap,
    scale: Normalize,
) -> Axes:
    axes = figure.subplots()
    image = axes.imshow(
        np.where(values > 0, values, np.nan), cmap=colours, norm=scale, interpolation="nearest"
    )
    if not values.any():
        return axes
    bar = figure.colorbar(image, ax=axes, pad=0.02, fraction=0.06, label=label)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(quantity))
    bar.ax.yaxis.set_minor_formatter("")
    bar.outline.set_linewidth(0.5)
    return axes


def _bytes(value: float, _position: object = None) -> str:
    return re.sub(r"\.0+ ", " ", bytes_text(int(value)))


def _quantity_axis(axes: Axes, which: str, ticks: int) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(ticks))
    axis.set_major_formatter(FuncFormatter(quantity))


def _title(axes: Axes, name: str | None, what: str, style: Style) -> None:
    if style.title:
        axes.set_title(f"{shown_name(name) if name is not None else 'Whole run'}: {what}")
