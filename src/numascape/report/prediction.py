# SPDX-License-Identifier: Apache-2.0
"""The page of predictions: the policies of one run on one machine, in the viewer."""

from __future__ import annotations

import html
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from numascape.analysis.text import short_printable
from numascape.errors import NumascapeError
from numascape.machine import Machine
from numascape.prediction import Prediction
from numascape.report.encode import encode_text
from numascape.report.machine import shown_machine
from numascape.report.render import SIZE, filled, viewer_page, write_page
from numascape.report.run import plain
from numascape.trace import Trace
from numascape.trace.summary import structure_summary

FORMAT: Final = "numascape-prediction"
VERSION: Final = 1
STRUCTURES: Final = (200, 50, 10, 0)
"""Numbers of structures to try, the most used first, until the page fits."""
MIN_SHARE: Final = 0.0001
"""Share of the accesses below which a structure is left out."""
_LONGEST_NAME: Final = 400


@dataclass(frozen=True)
class Predicted:
    """Predictions for a trace on a machine, with the conclusion of `advise`, and assumptions."""

    trace: Trace
    machine: Machine
    found: Sequence[Prediction]
    conclusion: str
    assumed: Sequence[str]


def render_prediction(predicted: Predicted, path: Path) -> int:
    """Write the page, at most SIZE bytes, and return its size. Raises NumascapeError."""
    template = viewer_page()
    program = Path(predicted.trace.info.program).name[:200]
    title = html.escape(f"{program} on {predicted.machine.name[:200]}")
    for structures in STRUCTURES:
        page = filled(template, title, encode_text(prediction_data(predicted, structures)), {})
        if len(page) <= SIZE:
            write_page(page, path)
            return len(page)
    raise NumascapeError(
        f"the page does not fit into {SIZE} bytes: name fewer policies with --policy"
    )


def prediction_data(predicted: Predicted, structures: int) -> dict[str, Any]:
    """The page's data, with this many structures, the most used ones first."""
    info = predicted.trace.info
    used = structure_summary(predicted.trace).filter(pl.col("share") >= MIN_SHARE)
    shown = used.head(structures)
    pages = _pages_of(predicted.trace)
    data = {
        "file": _name(predicted.trace.path.name),
        "program": _name(Path(info.program).name),
        "command": short_printable(shlex.join([info.program, *info.arguments]), 2000),
        "threads": predicted.trace.threads.height,
        "machine": shown_machine(predicted.machine),
        "conclusion": predicted.conclusion,
        "assumed": list(predicted.assumed),
        "policies": [_policy(one, shown["structure"].to_list()) for one in predicted.found],
        "structures": [
            {
                "name": _name(row["name"]),
                "kind": _name(row["kind"]),
                "file": _name(row["file"].rpartition("/")[2]),
                "line": row["line"],
                "share": row["share"],
                "pages": pages.get(row["structure"], 0),
            }
            for row in shown.iter_rows(named=True)
        ],
    }
    return {"format": FORMAT, "version": VERSION, **plain(data)}


def _policy(one: Prediction, structures: list[int]) -> dict[str, Any]:
    """A prediction; `pages` has a row of nodes for each shown structure."""
    on = one.structure_pages
    known = np.zeros((0, len(one.nodes))) if on is None else on
    return {
        "label": _name(one.label),
        "seconds": one.seconds,
        "relative": _finite(one.relative),
        "low": _finite(one.low),
        "high": _finite(one.high),
        "limit": _name(one.limit),
        "limit_kind": one.limit_kind,
        "remote": one.remote_share,
        "extra_bytes": one.extra_bytes,
        "nodes": list(one.nodes),
        "traffic": np.rint(one.traffic).astype(np.int64).ravel().tolist(),
        "pages": [
            np.round(known[number], 1).tolist() if number < len(known) else []
            for number in structures
        ],
        "copied": [row for row, number in enumerate(structures) if number in one.copied],
        "phases": [
            {"name": _name(phase.name), "seconds": phase.seconds, "limit": _name(phase.limit)}
            for phase in one.phases
        ],
    }


def _pages_of(trace: Trace) -> dict[int, int]:
    """By structure, the number of its touched pages."""
    touched = trace.first_touch.group_by("structure").agg(pl.len())
    return {int(structure): int(pages) for structure, pages in touched.iter_rows()}


def _finite(relative: float) -> float | None:
    return relative if math.isfinite(relative) else None


def _name(text: str) -> str:
    return short_printable(text, _LONGEST_NAME)
