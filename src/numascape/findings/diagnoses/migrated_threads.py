# SPDX-License-Identifier: Apache-2.0
"""Threads ran on several nodes, and their pages did not move with them."""

from __future__ import annotations

import polars as pl

from numascape.findings.advice import pin
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind
from numascape.findings.subject import Run
from numascape.findings.thresholds import MIN_STRUCTURE_SHARE, sureness
from numascape.findings.wording import threads_text
from numascape.quantities import share_of
from numascape.trace.counting import only_touches


def diagnose(run: Run) -> list[Finding]:
    """Return at most one finding; the nodes of threads are known only on the recorded machine."""
    moved = run.trace.threads.filter(pl.col("nodes").list.n_unique() > 1)["thread"].to_list()
    if not moved or len(run.trace.info.machine.nodes) < 2:
        return []
    count = pl.col("reads") + pl.col("writes")
    theirs, all_ = run.work.select(
        count.filter(pl.col("thread").is_in(moved)).sum().alias("theirs"), count.sum().alias("all")
    ).row(0)
    share = share_of(int(theirs), int(all_))
    if share < MIN_STRUCTURE_SHARE:
        return []
    return [
        Finding(
            kind=Kind.MIGRATED_THREADS,
            structure=None,
            name="",
            threads=tuple(moved),
            why=(
                f"{threads_text(moved).capitalize()} ran on more than one node. A page stays on "
                "the node where it was touched first, so it is remote after its thread has moved "
                "to another node."
            ),
            fixes=(Fix(pin(run)),),
            evidence=(
                Evidence("threads seen on several nodes", len(moved), "count"),
                Evidence(
                    "pages first touched by them"
                    if only_touches(run.trace)
                    else "accesses in parallel work made by them",
                    share,
                    "share",
                ),
            ),
            figure=Figure.MACHINE,
            confidence=sureness(share, MIN_STRUCTURE_SHARE, 0.2),
            nearer=round(int(theirs) / 2),
        )
    ]
