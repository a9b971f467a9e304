# SPDX-License-Identifier: Apache-2.0
"""Other threads use variables on the stack of one thread."""

from __future__ import annotations

import re

import polars as pl

from numascape.findings.diagnoses.cache_resident import is_cache_resident
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import MIN_FOREIGN_SHARE, sureness
from numascape.findings.wording import threads_text
from numascape.quantities import percent

_STACK = re.compile(r"Stack#(\d+)")
"""The name of the stack of a thread, with the number of the thread."""


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    named = _STACK.fullmatch(subject.name)
    # The creator of a thread touches the end of its stack first.
    owner = int(named.group(1)) if named else subject.whole.first_toucher
    if owner is None or is_cache_resident(subject):
        return None
    owner = subject.run.first_in_place.get(owner, owner)
    users = subject.run.rows.filter(
        (pl.col("structure") == subject.structure) & (pl.col("thread") != owner)
    )
    # This counts by thread and not by first toucher, because the kernel touches some pages of a
    # stack first, such as those of arguments.
    foreign: int = users.select(pl.sum("reads") + pl.sum("writes")).item()
    share = foreign / subject.whole.accesses
    if share < MIN_FOREIGN_SHARE:
        return None
    others = tuple(int(thread) for thread in users["thread"].unique().sort())
    return Finding(
        kind=Kind.SHARED_STACK,
        structure=subject.structure,
        name=subject.name,
        threads=others,
        why=(
            f"Other threads ({threads_text(others)}) make {percent(share)} of the "
            f"accesses to the stack of thread {owner}."
        ),
        fixes=(Fix(*_fix(subject)),),
        evidence=(Evidence("accesses by other threads", share, "share"),),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(share, MIN_FOREIGN_SHARE, 0.9),
        place=subject.used_at,
        nearer=foreign,
    )


def _fix(subject: Subject) -> tuple[str, Remedy]:
    """The sentence, and the placement that it makes."""
    sentence = (
        "Give each thread a copy of variables that it only reads (`firstprivate` in OpenMP). "
        "Put large arrays on the heap, and initialise them in the threads that use them."
    )
    if subject.pattern in (Pattern.SPLIT, Pattern.PARTS_SHARE_PAGES):
        return sentence, Remedy.USERS
    return sentence, Remedy.COPIED
