# SPDX-License-Identifier: Apache-2.0
"""Rates over the time of a run: of accesses, of remote ones, and of lines from memory."""

from __future__ import annotations

import numpy as np

from numascape.exchange.chrome_trace import chrome_trace
from numascape.exchange.rates import rates_over_time
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern


def test_accesses_are_spread_over_the_time_of_their_phase() -> None:
    """Phases of 10 ms. The second one runs twice; in it, node 1 reads from node 0."""
    pattern = Pattern("solver", 17)
    pattern.placed_by_first_touch = True
    first, second = pattern.phase("first"), pattern.phase("second", repetitions=2)
    field = pattern.structure("field", 1)
    pattern.access(field, np.array([0]), 0, 7_000, 1_000, phase=first)
    pattern.access(field, np.array([0]), 0, 2_000, 0, phase=second)
    pattern.access(field, np.array([0]), 16, 6_000, 0, phase=second)
    pattern.touch(field, np.array([0]), 0)
    trace = trace_of(pattern)
    accesses, remote = rates_over_time(trace)
    ms = 1_000_000
    assert accesses.values == [
        (0, 800_000), (10 * ms, 400_000), (20 * ms, 0), (30 * ms, 400_000), (40 * ms, 0),
    ]  # fmt: skip
    assert [value for _, value in remote.values] == [0, 75, 0, 75, 0]
    counters = {event["name"] for event in chrome_trace(trace)["traceEvents"] if event["ph"] == "C"}
    assert {accesses.name, remote.name} < counters
