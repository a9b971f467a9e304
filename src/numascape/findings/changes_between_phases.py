# SPDX-License-Identifier: Apache-2.0
"""Compares who uses the pages of a structure in different phases."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import polars as pl

from numascape.analysis.page_numbers import page_numbers
from numascape.findings.page_use import page_use
from numascape.findings.phase_use import PhaseUse
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    MIN_DIVIDED_SHARE,
    MIN_DOMINANT_SHARE,
    MIN_FILLED_SHARE,
    MIN_PHASE_WORK,
)


@dataclass(frozen=True)
class Change:
    """The share of the use of pages that has one main user in phase `one`, and another in `other`.

    The two phases are the pair with the largest share; the share is 0 if there is no pair.
    `walked`: pages have several users in `other`, as when threads walk across the rows of a matrix.
    """

    share: float = 0.0
    one: int = 0
    other: int = 0
    walked: bool = False


def users_by_phase(
    rows: pl.DataFrame, filled_in: int | None, least: float = MIN_DIVIDED_SHARE
) -> Change:
    """Compare the main users of pages in a phase with one user per page, and in other phases.

    The phase `filled_in` only fills the structure. How often a phase accesses a page says little:
    a stencil reads each element several times, and one of these reads comes from memory. Therefore
    all phases with at least MIN_PHASE_WORK of the accesses count alike. If less than `least` of the
    accesses are in phases in which pages have one user, other diagnoses say more.
    """
    rows = rows.filter(pl.col("phase") != (-1 if filled_in is None else filled_in))
    counts = rows.group_by("phase").agg(count=(pl.col("reads") + pl.col("writes")).sum())
    total = float(counts["count"].sum()) or 1.0
    matter = counts.filter(pl.col("count") >= MIN_PHASE_WORK * total).sort("phase")
    page, bound = page_numbers(rows.with_columns(structure=pl.lit(0, pl.UInt32)))
    thread = rows["thread"].to_numpy().astype(np.int64)
    made = (rows["reads"] + rows["writes"]).to_numpy().astype(np.float64)
    in_phase = rows["phase"].to_numpy()
    divided: dict[int, PhaseUse] = {}
    walked: dict[int, PhaseUse] = {}
    in_divided = 0.0
    for phase, count in matter.select("phase", "count").iter_rows():
        at = np.flatnonzero(in_phase == phase)
        use = page_use(rows[at])
        if len(use.threads) < 2:
            continue
        of_phase = PhaseUse.of(page[at], thread[at], made[at], bound)
        if use.dominance >= MIN_DOMINANT_SHARE:
            divided[phase] = of_phase
            in_divided += count
        else:
            walked[phase] = of_phase
    if in_divided < least * total:
        return Change()
    changes = [
        Change(divided[one].changed(divided[other]), one, other)
        for one, other in combinations(divided, 2)
    ]
    changes += [
        Change(divided[one].by_others(walked[other]), one, other, walked=True)
        for one, other in product(divided, walked)
    ]
    return max(changes, key=lambda change: change.share, default=Change())


def filled_in(subject: Subject) -> int | None:
    """The phase that only fills it: it runs once, touches most pages first, and mainly writes.

    If the work divides the pages in another way than this phase, their first touch is remote. None
    if there is no such phase.
    """
    trace = subject.run.trace
    touches = trace.first_touch
    if "phase" not in touches.columns or "repetitions" not in trace.phases.columns:
        return None
    own = touches.filter(pl.col("structure") == subject.structure)
    once = trace.phases.filter(pl.col("repetitions") == 1).select("phase")
    by_phase = own.group_by("phase").len().join(once, on="phase", how="semi")
    most = by_phase.filter(pl.col("len") > MIN_FILLED_SHARE * own.height)
    if most.is_empty():
        return None
    phase = int(most["phase"][0])
    used = subject.rows.filter(pl.col("phase") == phase)
    return phase if int(used["reads"].sum()) <= int(used["writes"].sum()) else None
