# SPDX-License-Identifier: Apache-2.0
"""One thread touched a structure first. The trace has no accesses, so its users are unknown."""

from __future__ import annotations

from numascape.analysis.ownership import Owner, is_remainder
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    HALF_KNOWN_CONFIDENCE,
    MIN_FIRST_TOUCH_RATIO,
    MIN_SERIAL_SHARE,
)
from numascape.quantities import percent


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None; the run's accesses are its first touches."""
    whole, run = subject.whole, subject.run
    if subject.owner is not Owner.PROGRAM or is_remainder(subject.row):
        return None
    threads = run.trace.threads.height
    thread = whole.first_toucher
    if thread is None or whole.first_toucher_share < MIN_SERIAL_SHARE:
        return None
    # A thread that touches only its own share of the memory is not a problem.
    if run.touched_by(thread) < MIN_FIRST_TOUCH_RATIO * run.accesses / threads:
        return None
    place = subject.touched_at
    where = f" (in {place})" if place else ""
    return Finding(
        kind=Kind.ONE_FIRST_TOUCHER,
        structure=subject.structure,
        name=subject.name,
        threads=(thread,),
        why=(
            f"Thread {thread} touched {percent(whole.first_toucher_share)} of its pages first"
            f"{where}. The trace does not show which threads used these pages later. If several "
            "threads used them, this is a serial first touch: the pages are remote for most of "
            "these threads."
        ),
        fixes=(
            Fix(
                "If several threads use it, initialise it in these threads, with the same division "
                "of work as in the loops that use it."
            ),
            Fix(
                "To see which threads use it, record accesses: `numascape record` without "
                "`--recorder faults`."
            ),
        ),
        evidence=(
            Evidence("pages touched first by this thread", whole.first_toucher_share, "share"),
            Evidence("bytes of its touched pages", subject.touched_bytes, "bytes"),
        ),
        figure=Figure.FIRST_TOUCH,
        confidence=HALF_KNOWN_CONFIDENCE,
        place=place,
        nearer=whole.first_touched_pages,
    )
