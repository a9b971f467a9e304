# SPDX-License-Identifier: Apache-2.0
"""Memory of which each thread has blocks or instances of its own, and where these come from.

No loop over such memory can place its pages: the thread that allocates a part decides.
"""

from __future__ import annotations

import re

import polars as pl

from numascape.findings.subject import Subject
from numascape.findings.thresholds import MIN_DOMINANT_SHARE, MIN_SERIAL_SHARE

_SETS = re.compile(r"_*(mem(set|p?cpy|move)$|mem(set|p?cpy|move)_|dl_|copy_tls)")
"""The functions of C libraries that fill the thread-local memory of a new thread."""


def has_own_instances(subject: Subject) -> bool:
    """Whether nearly all threads use instances of their own, such as buffers of an operation."""
    uses = subject.run.recorded.accesses.filter(pl.col("structure") == subject.structure)
    sums = uses.group_by("instance", "thread").agg(count=(pl.col("reads") + pl.col("writes")).sum())
    own = sums.group_by("instance").agg(own=pl.col("count").max())["own"].sum()
    return uses["instance"].n_unique() > 1 and int(own) >= MIN_DOMINANT_SHARE * int(
        sums["count"].sum()
    )


def allocate_in_threads(subject: Subject, allocated: str, like: str) -> str:
    """Advise that each thread allocates its part; empty if loops over the memory can place it.

    `allocated` is the place of the allocation, and `like` says how the work is divided.
    """
    if subject.row["kind"] == "small":
        one = subject.whole.first_toucher_share >= MIN_SERIAL_SHARE
        who = f"thread {subject.whole.first_toucher}" if one else "other threads"
        at = f" at {allocated}" if allocated else ""
        return (
            f"It is many small blocks, which {who} allocated{at}. Let each thread allocate the "
            f"blocks on which it works, with the same division of work{like}: they are then on "
            "pages of this thread. Or put all blocks into one array, and initialise it in parallel."
        )
    if _is_thread_local(subject):
        return (
            f"Each thread has its own `{subject.name}`. But the C library sets it to zero in the "
            "thread that creates the other threads. Make it a pointer, and let each thread "
            "allocate and initialise its memory itself. The kernel puts a page on the node of the "
            "thread that touches it first."
        )
    return ""


def _is_thread_local(subject: Subject) -> bool:
    """Whether it is a thread-local variable: its thread does not exist when it is initialised."""
    by_library = _SETS.match(subject.whole.place[0]) is not None
    return subject.row["kind"] == "local" and by_library and has_own_instances(subject)
