# SPDX-License-Identifier: Apache-2.0
"""How many instructions threads execute, by phase."""

from __future__ import annotations

from typing import Any

import numascape

MILLION = 1_000_000
OTHERWISE = 100_000
"""At most as many instructions of a thread of the program are not in its loops."""


def test_instructions_are_counted_by_thread_and_phase(record: Any) -> None:
    """Later threads get the counters of ended ones; loops that wait execute nothing."""
    trace = record("executed").trace
    executed = {
        (thread, trace.phases["name"][phase]): count
        for thread, phase, count in trace.instructions.iter_rows()
    }
    phase_of = {1: "first", 2: "first", 3: "second", 4: "second", 5: "first", 6: "first"}
    for thread, phase in phase_of.items():
        in_loops = thread * MILLION * 9 // 2 + thread * MILLION * 3
        assert in_loops <= executed[thread, phase] < in_loops + OTHERWISE
    strangers = {key: n for key, n in executed.items() if phase_of.get(key[0]) != key[1]}
    assert all(count < OTHERWISE * 10 for count in strangers.values())


def test_without_source_lines_nothing_counts_instructions(record: Any) -> None:
    trace: numascape.OpenedTrace = record("executed", no_source_lines=True).trace
    assert trace.instructions.is_empty()
