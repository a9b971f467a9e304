# SPDX-License-Identifier: Apache-2.0
"""One thread touched a structure first, and who used it later was not recorded."""

from __future__ import annotations

from numascape.analysis.ownership import Owner, is_remainder
from numascape.findings.finding import Evidence, Figure, Finding, Kind
from numascape.findings.subject import Subject
from numascape.findings.thresholds import MORE_THAN_ITS_PART, SERIAL, UNCERTAIN
from numascape.findings.wording import percent


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not; the run's accesses are its first touches."""
    whole, run = subject.whole, subject.run
    if subject.owner is not Owner.PROGRAM or is_remainder(subject.row):
        return None
    threads = run.trace.threads.height
    thread = whole.first_toucher
    if threads < 2 or thread is None or whole.first_toucher_share < SERIAL:
        return None
    # What each thread allocates and touches for itself is as it should be.
    if run.touched_by(thread) < MORE_THAN_ITS_PART * run.accesses / threads:
        return None
    place = subject.touched_at
    where = f" (in {place})" if place else ""
    return Finding(
        kind=Kind.TOUCHED_BY_ONE,
        structure=subject.structure,
        name=subject.name,
        threads=(thread,),
        why=(
            f"Thread {thread} touched {percent(whole.first_toucher_share)} of its pages first"
            f"{where}. Who used them later was not recorded: if several threads did, this is a "
            "serial first touch, and its pages are far from most of them."
        ),
        advice=(
            "If several threads use it, let them initialise it, with the division of work of the "
            "loops that use it.",
            "To know whether they do, record accesses (numascape record without "
            "`--recorder faults`).",
        ),
        evidence=(
            Evidence("pages touched first by this thread", whole.first_toucher_share, "share"),
            Evidence("bytes of its touched pages", subject.touched_bytes, "bytes"),
        ),
        figure=Figure.FIRST_TOUCH,
        confidence=UNCERTAIN,
        place=place,
        nearer=whole.first_touched_pages,
    )
