# SPDX-License-Identifier: Apache-2.0
"""Results that are kept with a trace."""

from __future__ import annotations

from pathlib import Path

from numascape.trace import Trace
from numascape.trace.once import once_per_trace


def test_a_result_is_computed_once_for_each_trace(small_trace: Path) -> None:
    computed: list[Trace] = []

    @once_per_trace
    def threads(trace: Trace) -> int:
        computed.append(trace)
        return trace.threads.height

    first, second = Trace.read(small_trace), Trace.read(small_trace)
    assert threads(first) == threads(first) == threads(second) > 0
    assert [id(trace) for trace in computed] == [id(first), id(second)]


def test_functions_do_not_get_results_of_each_other(small_trace: Path) -> None:
    @once_per_trace
    def rows(trace: Trace) -> int:
        return trace.accesses.height

    @once_per_trace
    def columns(trace: Trace) -> int:
        return trace.accesses.width

    trace = Trace.read(small_trace)
    assert (rows(trace), columns(trace)) == (trace.accesses.height, trace.accesses.width)
