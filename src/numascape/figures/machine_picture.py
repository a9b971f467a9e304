# SPDX-License-Identifier: Apache-2.0
"""Draws a machine: packages, nodes, caches and CPUs, and the matrices between nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.gridspec import GridSpec
from matplotlib.patches import Rectangle

from numascape.appearance.style import Style
from numascape.figures.drawing import TraceFigure, new_figure
from numascape.machine.description import Machine, MachineNode
from numascape.machine.factors import Known, bandwidths, latencies, numa_factors
from numascape.machine.kernel_lists import format_cpu_list
from numascape.machine.wording import cache_text
from numascape.quantities import bytes_text

PICTURE_CM: Final = 17.0
# Number of nodes up to which numbers in cells are readable.
_MAX_WRITTEN: Final = 12
_NODE_COLUMNS: Final = 4
_CPU_COLUMNS: Final = 8


@dataclass(frozen=True)
class NodeBox:
    """The position of a node, in units of a CPU cell; y grows downwards."""

    node: MachineNode
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """The boxes of packages (x, y, width, height) and of nodes, and the total size."""

    packages: tuple[tuple[float, float, float, float], ...]
    nodes: tuple[NodeBox, ...]
    width: float
    height: float


def arrange_machine(machine: Machine) -> Layout:
    """Place packages, and the nodes in them, side by side, with at most 4 nodes in a row.

    Nodes without a package come last.
    """
    most = max((len(node.cpus) for node in machine.nodes), default=1)
    columns = min(_CPU_COLUMNS, max(most, 8))
    width = columns + 1.0
    packages: list[tuple[float, float, float, float]] = []
    boxes: list[NodeBox] = []
    x = y = bottom = 0.0
    owned, rest = machine.package_nodes()
    for nodes in [nodes for nodes in [*owned, rest] if nodes]:
        across = min(len(nodes), _NODE_COLUMNS) * (width + 0.6) + 0.2
        if x > 0 and x + across > _NODE_COLUMNS * (width + 1.6):
            x, y = 0.0, bottom + 0.8
        inner = y + 0.4
        for start in range(0, len(nodes), _NODE_COLUMNS):
            row = nodes[start : start + _NODE_COLUMNS]
            height = max(2.8 + math.ceil(max(len(n.cpus), 1) / columns) for n in row)
            boxes += [
                NodeBox(node, x + 0.4 + i * (width + 0.6), inner, width, height)
                for i, node in enumerate(row)
            ]
            inner += height + 0.4
        packages.append((x, y, across, inner - y))
        bottom = max(bottom, inner)
        x += across + 0.6
    return Layout(
        tuple(packages), tuple(boxes), max(left + wide for left, _, wide, _ in packages), bottom
    )


def draw_machine(machine: Machine, style: Style | None = None) -> TraceFigure:
    """Draw the machine, and below its boxes the known matrices."""
    style = style or Style(width=PICTURE_CM)
    layout = arrange_machine(machine)
    matrices = _matrices(machine)
    boxes_cm = style.width * layout.height / max(layout.width, 30.0)
    side = style.width / max(2, len(matrices))
    heights = [boxes_cm, side] if matrices else [boxes_cm]
    with new_figure(style, sum(heights) + 1.2) as drawn:
        grid = GridSpec(len(heights), max(len(matrices), 1), drawn, height_ratios=heights)
        _draw_boxes(drawn.add_subplot(grid[0, :]), machine, layout)
        for i, (title, known) in enumerate(matrices):
            _draw_matrix(drawn.add_subplot(grid[1, i]), machine, title, known, style)
        if style.title:
            drawn.suptitle(machine.name, fontsize=9)
    return drawn


def _matrices(machine: Machine) -> list[tuple[str, Known]]:
    if len(machine.nodes) < 2:
        return []
    found = [
        ("NUMA factor", numa_factors(machine)),
        ("read latency, ns", latencies(machine)),
        ("read bandwidth, GB/s", bandwidths(machine)),
    ]
    return [
        (title, known)
        for title, known in found
        if any(
            value is not None and i != j
            for i, row in enumerate(known.values)
            for j, value in enumerate(row)
        )
    ]


def _draw_boxes(axes: Axes, machine: Machine, layout: Layout) -> None:
    axes.set_xlim(-0.2, max(layout.width, 30.0) + 0.2)
    axes.set_ylim(layout.height + 0.2, -0.2)
    axes.set_aspect("equal", anchor="W")
    axes.axis("off")
    for x, y, width, height in layout.packages:
        axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor="#888888"))
    for box in layout.nodes:
        _draw_node(axes, machine, box)


def _draw_node(axes: Axes, machine: Machine, box: NodeBox) -> None:
    node, usable = box.node, set(machine.usable_cpus)
    face = "#eef4fb" if node.cpus else "#fbf3e6"
    axes.add_patch(
        Rectangle((box.x, box.y), box.width, box.height, facecolor=face, edgecolor="#333333")
    )
    memory = bytes_text(node.memory_bytes) if node.memory_bytes else "size unknown"
    kind = f" {node.kind}" if node.kind else ""
    axes.text(box.x + 0.3, box.y + 0.8, f"node {node.node}", va="center", fontweight="bold")
    axes.text(box.x + box.width - 0.3, box.y + 0.8, memory + kind, va="center", ha="right")
    axes.text(box.x + 0.3, box.y + 1.7, cache_text(machine, node), va="center", fontsize=4.5)
    columns = int(box.width - 1)
    written = len(node.cpus) <= 128
    for i, cpu in enumerate(node.cpus):
        x, y = box.x + 0.5 + i % columns, box.y + 2.3 + i // columns
        colour = "#9cc3e8" if cpu in usable else "#dddddd"
        axes.add_patch(Rectangle((x + 0.06, y + 0.06), 0.88, 0.88, facecolor=colour, linewidth=0))
        if written:
            axes.text(x + 0.5, y + 0.5, str(cpu), ha="center", va="center", fontsize=4)
    if not node.cpus:
        axes.text(box.x + 0.5, box.y + 2.8, "memory only", va="center", fontsize=6)
    elif not written:
        text = format_cpu_list(node.cpus)
        place = (box.x + box.width / 2, box.y + box.height / 2 + 1)
        axes.text(*place, text, ha="center", va="center", fontsize=5)


def _draw_matrix(axes: Axes, machine: Machine, title: str, known: Known, style: Style) -> None:
    askers = [i for i, node in enumerate(machine.nodes) if node.cpus]
    values = np.array(
        [[np.nan if value is None else value for value in known.values[i]] for i in askers]
    )
    axes.imshow(values, cmap=style.intensity, interpolation="nearest")
    names = [str(node.node) for node in machine.nodes]
    ticks = range(0, len(names), max(1, len(names) // 16))
    axes.set_xticks(ticks, [names[i] for i in ticks])
    rows = range(0, len(askers), max(1, len(askers) // 16))
    axes.set_yticks(rows, [names[askers[i]] for i in rows])
    axes.set_xlabel("memory of node")
    axes.set_ylabel("CPUs of node")
    kinds = ", ".join(dict.fromkeys(source.kind for source in known.sources()))
    axes.set_title(f"{title} ({kinds})")
    if len(names) > _MAX_WRITTEN:
        return
    low, high = np.nanmin(values), np.nanmax(values)
    digits = 2 if title == "NUMA factor" else 0
    for (i, j), value in np.ndenumerate(values):
        if not math.isnan(value):
            dark = high > low and (value - low) / (high - low) > 0.55
            axes.text(j, i, f"{value:.{digits}f}", ha="center", va="center",
                      fontsize=5.5, color="white" if dark else "black")  # fmt: skip
