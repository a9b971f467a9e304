# SPDX-License-Identifier: Apache-2.0
"""Sentences that say what to do with an array of a Python program.

NumPy and the other packages work on an array in C, so there is no loop of the program to change.
"""

from __future__ import annotations

from numascape.findings.finding import Place

PIN = (
    "Pin the threads: `os.sched_setaffinity(0, {cpu})` in each of them, or `numascape run --plan` "
    "without a change to the program."
)


def is_python(file: str) -> bool:
    """Whether a structure whose statement is in this file is an array of a Python program."""
    return file.endswith(".py")


def initialise_in_parallel(allocated: Place) -> str:
    """Advise that each page is touched first by the thread that works on it."""
    return (
        f"Allocate it{_at(allocated)} with `numpy.empty`, which touches no page. Then let each "
        "thread write the part that it will work on, before any other code uses it. The kernel "
        "puts a page on the node of the thread that touches it first."
    )


def initialise_by(allocated: Place, thread: int) -> str:
    """Advise that the only user of the array touches it first."""
    return (
        f"Allocate and fill it in thread {thread}, which uses it, instead of{_at(allocated)} in "
        "another thread. Its pages are then local."
    )


def use_contiguous_parts() -> str:
    """Advise giving each thread a contiguous part of the work."""
    return (
        "Give each thread one contiguous part of it, the same one each time. A thread pool gives "
        "each part to a thread that is free. So submit one call for each thread, which works on "
        "the part of this thread."
    )


def interleave_pages(allocated: Place) -> str:
    """Advise spreading pages over the nodes: of the whole program, or of this array only."""
    return (
        "Interleave its pages over the nodes, so that no node's memory is the bottleneck: "
        "`numactl --interleave=all` for the whole program. For this array only "
        f"(allocated{_at(allocated)}): `numascape run --plan` with a plan of `numascape advise -o`."
    )


def _at(place: Place) -> str:
    name = place.file.rpartition("/")[2]
    return f" at {name}:{place.line}" if place.line else ""
