# SPDX-License-Identifier: Apache-2.0
"""Draws predictions: each policy's time with its interval, and its traffic between nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numascape.appearance.style import SETTINGS
from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.figures.balance_picture import draw_node_matrix
from numascape.figures.drawing import SUFFIXES, encode
from numascape.prediction import Prediction

_COLOURS: Final = {
    "memory": "#d7642c",
    "link": "#8a5aa8",
    "cores": "#5ab4c8",
    "thread": "#2c7fb8",
    "nothing": "#b8b8b8",
}
_MAX_MATRICES: Final = 6
_LONGEST_LABEL: Final = 28


def save_predictions(found: Sequence[Prediction], machine: str, file: Path) -> None:
    """Draw to `file`: .svg, .png or .pdf. Raises NumascapeError, OSError."""
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        names = ", ".join([*SUFFIXES, ".html"])
        raise NumascapeError(f"{file}: a prediction is drawn to files that end in one of {names}")
    content = encode(draw_predictions(found, machine), suffix)
    with replacing_file(file) as beside:
        beside.write_bytes(content)


def draw_predictions(found: Sequence[Prediction], machine: str) -> Figure:
    """Draw a bar for each policy, and below the bars the traffic of the first six, on one scale."""
    matrices = found[:_MAX_MATRICES]
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(10.0, 2.4 + 0.3 * len(found) + 2.2), layout="constrained")
        names = [f"traffic {i}" for i in range(len(matrices))]
        rows: list[list[str]] = [["times"] * len(names), names] if names else [["times"]]
        heights = [1.0 + 0.3 * len(found), 2.4] if names else None
        panels = figure.subplot_mosaic(rows, height_ratios=heights)  # type: ignore[arg-type]
        _draw_times(panels["times"], found, machine)
        most = max((p.traffic.max(initial=0.0) for p in matrices), default=0.0)
        for name, prediction in zip(names, matrices, strict=True):
            draw_node_matrix(
                panels[name], prediction.traffic, most, f"MB, {_short(prediction.label)}", "MB"
            )
    return figure


def _draw_times(axes: Axes, found: Sequence[Prediction], machine: str) -> None:
    at = list(range(len(found)))
    relative = [p.relative for p in found]
    errors = np.array([[p.relative - p.low for p in found], [p.high - p.relative for p in found]])
    axes.barh(at, relative, 0.6, color=[_COLOURS[p.limit_kind] for p in found])
    axes.errorbar(relative, at, xerr=errors, fmt="none", ecolor="black", elinewidth=0.8, capsize=3)
    axes.axvline(1.0, color="black", linewidth=0.8, linestyle="--")
    right = max((p.high for p in found), default=1.0)
    for y, p in zip(at, found, strict=True):
        text = f"{p.relative:.2f}, limited by {p.limit}"
        axes.text(max(right, 1.0) * 1.03, y, text, va="center", fontsize=7)
    axes.set_yticks(at, [_short(p.label) for p in found])
    axes.set_xlim(0.0, 1.35 * max(right, 1.0))
    axes.invert_yaxis()
    axes.set_xlabel("predicted time over that of the run as observed")
    axes.set_title(f"Predicted on {machine}", loc="left")


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"…{label[1 - _LONGEST_LABEL :]}"
