# SPDX-License-Identifier: Apache-2.0
"""Tells whether a run computes: the CPU time that its accesses to memory do not explain.

The recorder counts accesses, but not other instructions. A loop that computes in registers, such
as that of a fractal, makes hardly any accesses, and takes nearly all of the CPU time.
"""

from __future__ import annotations

from typing import Final

from numascape.quantities import share_of
from numascape.trace import Trace
from numascape.trace.format import PAGE_BYTES

STARTING_S: Final = 0.25
"""CPU time to start a program with the recorder. It is 0.1 to 0.2 s on the machine of bench/."""
LAST_LEVEL_BYTES: Final = 16 << 20
"""Memory that the last-level cache of a server processor holds."""
LAST_LEVEL_NS: Final = 50.0
"""The longest time of an access that the last-level cache answers, on a busy virtual machine, too.
There, CPU time includes that of others. With the recorder, 220 labelled programs took up to 21 ns
for an access, most of them 1 to 5 ns."""
MEMORY_NS: Final = 100.0
"""The time of an access that memory answers, if the core waits for each of them."""
MIN_COMPUTING_SHARE: Final = 0.5
"""At or above this share of the CPU time that accesses do not explain, a run computes."""


def computing_ns(trace: Trace, at_random: int = 0) -> float:
    """The CPU time for each access, less what accesses take at most; 0 if the run does not compute.

    The first `at_random` accesses may each wait for memory. The others do so if the run uses more
    memory than a cache holds.
    """
    times, totals = trace.info.times, trace.info.totals
    accesses = totals.reads + totals.writes
    if trace.info.recorder.counts != "accesses" or times.cpu_s is None or not accesses:
        return 0.0
    used = times.native_cpu_s or times.cpu_s - STARTING_S
    if not times.native_cpu_s and used < STARTING_S:
        return 0.0  # starting takes more than a short run
    fits = totals.pages * PAGE_BYTES <= LAST_LEVEL_BYTES
    usual = LAST_LEVEL_NS if fits else MEMORY_NS
    at_most = usual + (MEMORY_NS - usual) * share_of(at_random, accesses)
    each = used * 1e9 / accesses
    return each - at_most if each - at_most >= MIN_COMPUTING_SHARE * each else 0.0
