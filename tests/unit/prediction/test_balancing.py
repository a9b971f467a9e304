# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from numascape.prediction.balancing import BalancingKernel, numa_balancing
from unit.prediction.made_up import machine_of, nodes, share_of, trace_of

# One walk through memory takes a second, and begins at once.
KERNEL = BalancingKernel(scan_delay_s=0.0, scan_bytes_per_s=4096.0, fault_s=1.0, move_s=10.0)


def test_nothing_moves_before_the_first_walk() -> None:
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    moved = numa_balancing(trace, machine_of(2), nodes(0, 1), 1.0)
    assert share_of(moved.pages, 0) == {0: 1.0}
    assert (moved.thread_seconds, moved.passes) == (0.0, 0.0)


def test_a_private_page_moves_at_its_first_fault() -> None:
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    moved = numa_balancing(trace, machine_of(2), nodes(0, 1), 1.0, kernel=KERNEL)
    # On the mean of the walk half of its pages have been visited.
    assert share_of(moved.pages, 0) == pytest.approx({0: 0.5, 1: 0.5})
    # A fault and a move, by two threads.
    assert moved.thread_seconds == pytest.approx(11.0 / 2)
    longer = numa_balancing(trace, machine_of(2), nodes(0, 1), 100.0, kernel=KERNEL)
    assert share_of(longer.pages, 0)[1] == pytest.approx(0.995)


def test_a_shared_page_goes_by_two_faults_in_a_row_after_the_first_walk() -> None:
    # Node 1 makes three quarters of the accesses.
    trace = trace_of([(0, 0, 1, 0), (0, 1, 3, 0)], 2)
    moved = numa_balancing(trace, machine_of(2), nodes(0, 1), 1e6, kernel=KERNEL)
    # In the long run in proportion to the squares: 9/16 over 9/16 + 1/16.
    assert share_of(moved.pages, 0)[1] == pytest.approx(0.9, abs=1e-3)


def test_pages_of_a_page_that_nobody_uses_stay() -> None:
    trace = trace_of([(0, 1, 5, 0)], 2, first_touch=[(0, 1), (1, 0)])
    moved = numa_balancing(trace, machine_of(2), nodes(0, 1), 50.0, kernel=KERNEL)
    assert share_of(moved.pages, 1) == {0: 1.0}


def test_a_larger_run_is_walked_through_more_slowly() -> None:
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    large = numa_balancing(
        trace, machine_of(2), nodes(0, 1), 1.0, kernel=KERNEL, resident_bytes=4 * 4096.0
    )
    assert large.passes == pytest.approx(0.25)
    # A quarter visited at the end, an eighth on the mean; four pages for each of the trace's.
    assert share_of(large.pages, 0)[1] == pytest.approx(0.125)
    assert large.thread_seconds == pytest.approx(11.0 / 2)
