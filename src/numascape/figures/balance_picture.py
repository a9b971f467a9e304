# SPDX-License-Identifier: Apache-2.0
"""Draws a mapping: the cores' loads before and after, traffic between nodes, migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from numascape.appearance.style import SETTINGS, Style
from numascape.atomic import replacing_file
from numascape.balance import Balanced, Problem
from numascape.balance.between_nodes import migrations_between
from numascape.balance.graph import Floats
from numascape.errors import NumascapeError
from numascape.figures.drawing import SUFFIXES, encode

_BEFORE: Final = "#b8b8b8"
_AFTER: Final = "#2c7fb8"
_MAX_BARS: Final = 256
"""Number of cores up to which each core has a bar. With more, a bar is a mean of neighbours."""
_MAX_CELLS_WITH_NUMBERS: Final = 8


def check_balance_picture(file: Path) -> None:
    """Raise NumascapeError unless a mapping can be drawn to a file of this name."""
    if file.suffix.lower() not in SUFFIXES:
        names = ", ".join([*SUFFIXES, ".html"])
        raise NumascapeError(f"{file}: a mapping is drawn to files that end in one of {names}")


def save_balance(problem: Problem, balanced: Balanced, file: Path) -> None:
    """Draw the mapping to `file`: .svg, .png or .pdf. Raises NumascapeError, OSError."""
    check_balance_picture(file)
    content = encode(draw_balance(problem, balanced), file.suffix.lower())
    with replacing_file(file) as beside:
        beside.write_bytes(content)


def draw_balance(problem: Problem, balanced: Balanced) -> Figure:
    """Draw four panels: loads, traffic before, traffic after, tasks that move between nodes."""
    before, after = problem.graph.core, balanced.mapping
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(10.0, 6.4), layout="constrained")
        panels = figure.subplot_mosaic([["loads"] * 3, ["now", "then", "moves"]])
        _draw_loads(panels["loads"], problem, balanced)
        traffic = [problem.node_traffic(mapping) for mapping in (before, after)]
        # Both have one scale. Traffic within a node is left out, because it is much larger.
        most = max(_off_diagonal(matrix).max(initial=0.0) for matrix in traffic)
        unit = "MB" if problem.graph.bytes.any() else "messages"
        for name, matrix, title in (
            ("now", traffic[0], "before"), ("then", traffic[1], "after"),
        ):  # fmt: skip
            draw_node_matrix(panels[name], matrix, most, f"{unit} between nodes, {title}", unit)
        moves = migrations_between(problem.target, before, after)
        draw_node_matrix(panels["moves"], moves, moves.max(initial=0.0), "tasks that migrate", "")
    return figure


def _off_diagonal(matrix: Floats) -> Floats:
    rest: Floats = matrix[~np.eye(len(matrix), dtype=bool)]
    return rest


def _draw_loads(axes: Axes, problem: Problem, balanced: Balanced) -> None:
    times = [problem.core_times(problem.graph.core), problem.core_times(balanced.mapping)]
    cores = problem.target.cores
    per_bar = -(-cores // _MAX_BARS)
    for values, offset, colour, name in (
        (times[0], -0.2, _BEFORE, "before"), (times[1], 0.2, _AFTER, "after"),
    ):  # fmt: skip
        bars = [values[i : i + per_bar].mean() for i in range(0, cores, per_bar)]
        axes.bar(np.arange(len(bars)) + offset, bars, 0.4, color=colour, label=name)
    mean = times[0].mean()
    axes.axhline(mean, color="black", linewidth=0.8, linestyle="--", label="mean")
    edges = np.nonzero(np.diff(problem.target.numa_node))[0]
    if len(edges) < 64:
        for edge in edges:
            axes.axvline((edge + 1) / per_bar - 0.5, color="#888888", linewidth=0.5)
    title = f"{balanced.algorithm}: time of each core, by node; {balanced.metrics.migrations} of "
    axes.set_title(f"{title}{problem.graph.tasks} tasks migrate", loc="left")
    axes.set_xlabel("core" if per_bar == 1 else f"groups of {per_bar} cores")
    axes.set_ylabel("s")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(ncols=3, loc="upper right", frameon=False)


def draw_node_matrix(axes: Axes, matrix: Floats, most: float, title: str, unit: str) -> None:
    """Draw nodes x nodes as cells; `most` is the darkest. Values are bytes if `unit` is MB."""
    shown = matrix / 1e6 if unit == "MB" else matrix
    top = most / 1e6 if unit == "MB" else most
    axes.imshow(shown, cmap=Style().intensity, vmin=0.0, vmax=top or 1.0)
    axes.set_title(title, loc="left")
    axes.set_xlabel("to node")
    axes.set_ylabel("from node")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    if len(matrix) <= _MAX_CELLS_WITH_NUMBERS:
        for i, row in enumerate(shown):
            for j, value in enumerate(row):
                dark = top > 0 and value > 0.6 * top
                text = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
                axes.text(j, i, text, ha="center", va="center", fontsize=7,
                          color="white" if dark else "black")  # fmt: skip
