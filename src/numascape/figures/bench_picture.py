# SPDX-License-Identifier: Apache-2.0
"""Plots a vector loop's bandwidth over its length, and the cache sizes; log-log axes."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from numascape.appearance.style import Style
from numascape.figures.drawing import TraceFigure, new_figure
from numascape.machine.benchmarks import BandwidthPoint, LoopName, Series
from numascape.machine.description import Machine
from numascape.quantities import bytes_text

_HEIGHT_CM = 9.0


def draw_bench(
    machine: Machine,
    experiment: LoopName,
    results: list[BandwidthPoint],
    style: Style | None = None,
) -> TraceFigure:
    """Draw a line for each series; dashed: serial first touch; dotted: serial."""
    style = style or Style(width=14.0)
    with new_figure(style, _HEIGHT_CM) as drawn:
        axes = drawn.add_subplot()
        every = list(dict.fromkeys(result.series for result in results))
        for place, series in enumerate(every):
            _draw_series(axes, series, results, style.threads(place / max(len(every) - 1, 1)))
        _mark_caches(axes, machine)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: bytes_text(round(value))))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel("bytes of all vectors together")
        axes.set_ylabel("GB/s")
        axes.grid(visible=True, linewidth=0.3, color="#cccccc")
        axes.legend(loc="lower left", fontsize=6)
        if style.title:
            axes.set_title(f"{experiment} on {machine.name}")
    return drawn


def _draw_series(axes: Axes, series: Series, results: list[BandwidthPoint], colour: Any) -> None:
    points = [result for result in results if result.series == series]
    axes.errorbar(
        [point.bytes for point in points],
        [point.gb_s for point in points],
        [point.half_width for point in points],
        label=series.label,
        color=colour,
        linestyle=":" if series.serial else "-" if series.touch == "parallel" else "--",
        linewidth=1,
        elinewidth=0.5,
        marker=".",
        markersize=3,
    )


def _mark_caches(axes: Axes, machine: Machine) -> None:
    """Draw a line at the size of one cache of each level, as one thread sees it."""
    for cache in machine.caches:
        if cache.kind in {"data", "unified"} and cache.bytes:
            axes.axvline(cache.bytes, color="#888888", linewidth=0.6, linestyle=":")
            axes.text(
                cache.bytes, 0.99, f" L{cache.level}", transform=axes.get_xaxis_transform(),
                va="top", fontsize=6, color="#555555",
            )  # fmt: skip
