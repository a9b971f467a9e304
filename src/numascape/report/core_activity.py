# SPDX-License-Identifier: Apache-2.0
"""Computes what simulated cores do in equal parts of the time, for the page of mappings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from numascape.analysis.page_columns import Column
from numascape.balance.graph import Floats
from numascape.balance.simulation import COMMUNICATION, MIGRATION, WORK, Interval, Simulation

KINDS: Final = (WORK, COMMUNICATION, MIGRATION)
FULL: Final = 255
"""The value of one kind of activity in a cell whose cores do nothing else."""


@dataclass(frozen=True, eq=False)
class Activity:
    """A cell for each row of cores and part of the time: what they do, from 0 to FULL."""

    work: Column
    communication: Column
    migration: Column


def no_activity() -> Activity:
    """No cell."""
    nothing = np.zeros(0, np.uint8)
    return Activity(nothing, nothing, nothing)


def activity_of(run: Simulation, cores_per_row: int, parts: int) -> Activity:
    """Divide the time of the simulation into `parts`; a row is the mean of this many cores."""
    edges: Floats = np.linspace(0.0, run.end, parts + 1, dtype=np.float64)
    rows = -(-run.cores // cores_per_row)
    sizes = np.bincount(np.arange(run.cores) // cores_per_row, minlength=rows)
    cells = {kind: np.zeros((rows, parts)) for kind in KINDS}
    for (core, kind), intervals in _by_core_and_kind(run.intervals).items():
        cells[kind][core // cores_per_row] += np.diff(_busy_until(intervals, edges))
    part = run.end / parts if run.end > 0 else 1.0
    # Rounded up, so that short activities are still visible.
    shares = {
        kind: np.ceil(np.clip(FULL * busy / (part * sizes[:, None]) - 1e-6, 0, FULL))
        for kind, busy in cells.items()
    }
    return Activity(*(shares[kind].astype(np.uint8).ravel() for kind in KINDS))


def join_activities(parts: list[Activity]) -> Activity:
    """The cells of several activities, one after the other."""
    parts = parts or [no_activity()]
    return Activity(
        np.concatenate([one.work for one in parts]),
        np.concatenate([one.communication for one in parts]),
        np.concatenate([one.migration for one in parts]),
    )


def _by_core_and_kind(intervals: list[Interval]) -> dict[tuple[int, str], list[Interval]]:
    found: dict[tuple[int, str], list[Interval]] = {}
    for one in intervals:
        found.setdefault((one.core, one.kind), []).append(one)
    return found


def _busy_until(intervals: list[Interval], edges: Floats) -> Floats:
    """The seconds of the intervals, which do not overlap, before each edge."""
    ordered = sorted((one.start, one.end) for one in intervals)
    knots = np.array(ordered).ravel()
    busy = np.cumsum(np.diff(knots, prepend=knots[:1]) * (np.arange(len(knots)) % 2))
    return np.asarray(np.interp(edges, knots, busy))
