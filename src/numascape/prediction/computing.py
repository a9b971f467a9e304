# SPDX-License-Identifier: Apache-2.0
"""Tells whether a run computes: it executes far more instructions than accesses to memory.

A loop that computes in registers, such as that of a fractal, makes hardly any accesses. The binary
recorder counts instructions, which do not depend on the machine. Without them, the CPU time of the
run tells less well.
"""

from __future__ import annotations

from typing import Final

from numascape.quantities import share_of
from numascape.trace import Trace
from numascape.trace.format import PAGE_BYTES

LAST_LEVEL_BYTES: Final = 16 << 20
"""Memory that the last-level cache of a server processor holds."""
MEMORY_NS: Final = 100.0
"""The time of an access that memory answers, if the core waits for each access."""

INSTRUCTION_NS: Final = 0.25
"""The time of an instruction that waits for nothing: 4 in a nanosecond."""
CACHE_NS: Final = 20.0
"""The longest time of an access that the last-level cache of a server processor answers. So a run
computes if it executes at least 80 instructions per access, or 400 if it uses more memory. Of 239
labelled programs, one executes 225, and all others 1 to 22."""

STARTING_S: Final = 0.25
"""CPU time to start a program with the recorder. It is 0.1 to 0.2 s on the machine of bench/."""
LAST_LEVEL_NS: Final = 50.0
"""Like CACHE_NS, for measured CPU time, which on a busy virtual machine includes the time of
others. With the recorder, 220 labelled programs took up to 21 ns for an access, most of them 1 to
5 ns."""
MIN_COMPUTING_SHARE: Final = 0.5
"""At or above this share of the CPU time that accesses do not explain, a run computes."""


def computing_ns(trace: Trace, at_random: int = 0) -> float:
    """The time of computing for each access; 0 if the run does not compute.

    So many accesses as `at_random` may each wait for memory. The others do so if the run uses more
    memory than a cache holds. A run computes if its accesses take less time than this.
    """
    totals = trace.info.totals
    accesses = totals.reads + totals.writes
    if trace.info.recorder.counts != "accesses" or not accesses:
        return 0.0
    executed = int(trace.instructions["instructions"].sum())
    fits = totals.pages * PAGE_BYTES <= LAST_LEVEL_BYTES
    looked_up = share_of(at_random, accesses)
    if executed:
        computing = executed * INSTRUCTION_NS / accesses
        return computing if computing >= _at_most(CACHE_NS, looked_up, fits=fits) else 0.0
    each = _used_s(trace) * 1e9 / accesses
    computing = each - _at_most(LAST_LEVEL_NS, looked_up, fits=fits)
    return computing if computing >= MIN_COMPUTING_SHARE * each else 0.0


def _at_most(cache_ns: float, looked_up: float, *, fits: bool) -> float:
    """The longest mean time of an access, if the share `looked_up` of them waits for memory."""
    usual = cache_ns if fits else MEMORY_NS
    return usual + (MEMORY_NS - usual) * looked_up


def _used_s(trace: Trace) -> float:
    """The CPU time of the program; 0 if the run is too short to tell, or its time is unknown."""
    times = trace.info.times
    if times.native_cpu_s or times.cpu_s is None:
        return times.native_cpu_s or 0.0
    used = times.cpu_s - STARTING_S
    return used if used >= STARTING_S else 0.0  # starting takes more than a short run
