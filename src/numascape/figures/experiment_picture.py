# SPDX-License-Identifier: Apache-2.0
"""Plots `numascape host experiment`: performance and local share over the file's size."""

from __future__ import annotations

from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from numascape.appearance.style import Style
from numascape.figures.drawing import TraceFigure, new_figure
from numascape.host.experiment import ExperimentResult
from numascape.quantities import bytes_text

_HEIGHT_CM = 12.0
_MAX_TICKS = 9


def draw_experiment(
    results: list[ExperimentResult], note: str, style: Style | None = None
) -> TraceFigure:
    """Draw MFlop/s with a band for its range, and the share of local pages below."""
    style = style or Style(width=14.0)
    with new_figure(style, _HEIGHT_CM) as drawn:
        above, below = drawn.subplots(2, 1, sharex=True)
        for place, way in enumerate(dict.fromkeys(result.way for result in results)):
            points = sorted((r for r in results if r.way == way), key=lambda point: point.size)
            _draw_way(above, below, way, points, style.categories(place))
        above.set_ylabel("MFlop/s, median and range")
        above.set_ylim(bottom=0)
        below.set_ylabel("share of local pages")
        below.set_ylim(-0.03, 1.03)
        below.set_xlabel(f"size of the file in the page cache{note}")
        sizes = sorted({result.size for result in results})
        below.set_xticks(sizes[:: -(-len(sizes) // _MAX_TICKS)])
        below.xaxis.set_major_formatter(FuncFormatter(lambda value, _: bytes_text(round(value))))
        for axes in (above, below):
            axes.grid(visible=True, linewidth=0.3, color="#cccccc")
        above.legend(fontsize=6)
    return drawn


def _draw_way(
    above: Axes, below: Axes, way: str, points: list[ExperimentResult], colour: Any
) -> None:
    sizes = [point.size for point in points]
    samples = [point.triad.mflops for point in points]
    line: Any = {"color": colour, "linewidth": 1, "marker": ".", "markersize": 3}
    above.plot(sizes, [median(values) for values in samples], label=way, **line)
    low, high = [min(values) for values in samples], [max(values) for values in samples]
    above.fill_between(sizes, low, high, color=colour, alpha=0.2, linewidth=0)
    below.plot(sizes, [point.triad.local_share for point in points], **line)
