# SPDX-License-Identifier: Apache-2.0
"""Draws what simulated cores do over time: a row per core, coloured by activity."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from numascape.appearance.style import SETTINGS
from numascape.atomic import replacing_file
from numascape.balance.simulation import COMMUNICATION, MIGRATION, WORK, Simulation
from numascape.errors import NumascapeError
from numascape.figures.drawing import SUFFIXES, encode

_COLOURS: Final = {WORK: "#2c7fb8", COMMUNICATION: "#fdae61", MIGRATION: "#d7191c"}


def draw_timeline(run: Simulation, title: str) -> Figure:
    """Draw a row for each core over time; white is idle, dotted lines end iterations."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(10.0, 1.5 + 0.14 * run.cores), layout="constrained")
        axes = figure.add_subplot()
        for kind, colour in _COLOURS.items():
            boxes = [
                ((i.start, i.core - 0.45), (i.start, i.core + 0.45),
                 (i.end, i.core + 0.45), (i.end, i.core - 0.45))
                for i in run.intervals if i.kind == kind
            ]  # fmt: skip
            axes.add_collection(PolyCollection(boxes, facecolors=colour, linewidths=0))
        for end in run.iteration_ends:
            axes.axvline(end, color="black", linewidth=0.6, linestyle=":")
        axes.set_xlim(0.0, run.end or 1.0)
        axes.set_ylim(run.cores - 0.5, -0.5)
        axes.set_xlabel("s")
        axes.set_ylabel("core")
        axes.set_title(title, loc="left")
        patches = [Patch(color=colour, label=kind) for kind, colour in _COLOURS.items()]
        figure.legend(handles=patches, ncols=3, loc="outside lower center", frameon=False)
    return figure


def check_timeline(file: Path) -> None:
    """Raise NumascapeError unless a timeline can be drawn to this file."""
    if file.suffix.lower() not in SUFFIXES:
        raise NumascapeError(f"{file}: a timeline is drawn to {', '.join(SUFFIXES)}")


def save_timeline(run: Simulation, title: str, file: Path) -> None:
    """Draw to `file`: .svg, .png or .pdf. Raises NumascapeError, OSError."""
    check_timeline(file)
    content = encode(draw_timeline(run, title), file.suffix.lower())
    with replacing_file(file) as beside:
        beside.write_bytes(content)
