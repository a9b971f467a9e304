# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from numascape.machine import Machine
from numascape.prediction import first_touch, predict
from numascape.prediction.balancing import (
    BalancedPages,
    BalancingKernel,
    _not_deferred,
    balancing_start,
)
from numascape.prediction.load import RunPlacement
from numascape.trace import Trace
from unit.prediction.made_up import machine_of, nodes, share_of, trace_of

# One scan of the memory takes a second, and begins immediately.
KERNEL = BalancingKernel(scan_delay_s=0.0, scan_bytes_per_s=4096.0, fault_s=1.0, move_s=10.0)


def balanced(
    trace: Trace,
    machine: Machine,
    thread_nodes: npt.NDArray[np.int64],
    seconds: float,
    *,
    kernel: BalancingKernel | None = None,
    resident_bytes: float | None = None,
) -> BalancedPages:
    start = balancing_start(trace, machine, thread_nodes, kernel=kernel)
    return start.after(seconds, resident_bytes)


def test_nothing_moves_before_the_first_walk() -> None:
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    moved = balanced(trace, machine_of(2), nodes(0, 1), 1.0)
    assert share_of(moved.pages, 0) == {0: 1.0}
    assert (moved.thread_seconds, moved.passes) == (0.0, 0.0)


def test_a_private_page_moves_at_its_first_fault() -> None:
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    moved = balanced(trace, machine_of(2), nodes(0, 1), 1.0, kernel=KERNEL)
    # On average over the scan, half of its pages have been visited.
    assert share_of(moved.pages, 0) == pytest.approx({0: 0.5, 1: 0.5})
    # A fault and a move, by two threads.
    assert moved.thread_seconds == pytest.approx(11.0 / 2)
    longer = balanced(trace, machine_of(2), nodes(0, 1), 100.0, kernel=KERNEL)
    assert share_of(longer.pages, 0)[1] == pytest.approx(0.995)


def test_a_shared_page_goes_by_each_fault_of_the_first_walk() -> None:
    trace = trace_of([(0, 0, 1, 0), (0, 1, 2, 1)], 2, first_touch=[(0, 0)])
    moved = balanced(trace, machine_of(2), nodes(0, 1), 1.0, kernel=KERNEL)
    # In proportion to the accesses: 3/4; on average over the scan, half of this.
    assert share_of(moved.pages, 0)[1] == pytest.approx(0.375)


def test_a_shared_page_goes_by_two_faults_in_a_row_after_the_first_walk() -> None:
    # Node 1 makes three quarters of the accesses.
    trace = trace_of([(0, 0, 1, 0), (0, 1, 2, 1)], 2)
    moved = balanced(trace, machine_of(2), nodes(0, 1), 1e6, kernel=KERNEL)
    # Later in proportion to the squares: 9/16 over 9/16 + 1/16.
    assert share_of(moved.pages, 0)[1] == pytest.approx(0.9, abs=1e-3)


def test_pages_of_a_page_that_nobody_uses_stay() -> None:
    trace = trace_of([(0, 1, 5, 0)], 2, first_touch=[(0, 1), (1, 0)])
    moved = balanced(trace, machine_of(2), nodes(0, 1), 50.0, kernel=KERNEL)
    assert share_of(moved.pages, 1) == {0: 1.0}


def test_a_larger_run_is_walked_through_more_slowly() -> None:
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    large = balanced(
        trace, machine_of(2), nodes(0, 1), 1.0, kernel=KERNEL, resident_bytes=4 * 4096.0
    )
    assert large.passes == pytest.approx(0.25)
    # A quarter is visited at the end, an eighth on average; each page of the trace stands for four.
    assert share_of(large.pages, 0)[1] == pytest.approx(0.125)
    assert large.thread_seconds == pytest.approx(11.0 / 2)


def test_linux_3_13_hardly_moves_shared_pages_again() -> None:
    # Page 0 is shared by threads 0 and 1 of two nodes, page 1 is thread 1's.
    accesses = [(0, 0, 1, 0), (0, 1, 1, 0), (1, 1, 1, 0)]
    trace = trace_of(accesses, 2, first_touch=[(0, 0), (1, 0)])
    old = replace(KERNEL, deferred_faults=16, fault_s=0.0, move_s=1.0)
    new = replace(old, deferred_faults=0)
    costs = [
        balanced(trace, machine_of(2), nodes(0, 1), 1000.0, kernel=kernel).thread_seconds
        for kernel in (old, new)
    ]
    # The same: after a fault of another node, a page moves only by successive faults of one thread,
    # or by those of another thread of its node, which does not exist here.
    assert costs[0] == pytest.approx(costs[1])
    # With two threads on each node, half of the successive faults of a node are of another thread.
    accesses = [(0, thread, 1, 0) for thread in range(4)]
    trace = trace_of(accesses, 4)
    moves = [
        balanced(trace, machine_of(2), nodes(0, 0, 1, 1), 2.0, kernel=kernel)
        for kernel in (old, new)
    ]
    # The first scan moves the page with probability 1/2. In the second, the fault before was on the
    # same node with probability 1/2, and by the same thread with 1/4; half of these move it.
    passing = (1 / 3) ** 16
    second = [4 * (1 / 4) * (1 / 4 + 1 / 4 * free) / 2 for free in (passing, 1.0)]
    assert [4 * found.thread_seconds for found in moves] == pytest.approx(
        [1 / 2 + part for part in second], rel=1e-5
    )


def test_hardware_threads_handle_faults_on_the_cores_they_have() -> None:
    # 8 threads on 2 cores, which execute what 2.5 threads would.
    trace = trace_of([(0, thread, 1, 0) for thread in range(8)], 8)
    moved = balanced(
        trace, machine_of(1, 2), nodes(*[0] * 8), 1.0, kernel=replace(KERNEL, move_s=0.0)
    )
    assert moved.thread_seconds == pytest.approx(1.0 / 2.5)


def test_a_fault_waits_for_lines_that_other_threads_had() -> None:
    kernel = replace(KERNEL, fault_s=0.0, move_s=0.0)
    machine = machine_of(2, local=100.0, remote=200.0)

    def cost(*places: int) -> float:
        trace = trace_of([(thread, thread, 1, 0) for thread in range(len(places))], len(places))
        found = balanced(trace, machine, nodes(*places), float(len(places)), kernel=kernel)
        return found.thread_seconds

    # Each fault of a thread waits for four lines. A thread that works alone has all of them.
    assert cost(0) == 0.0
    # Half of the lines were the other thread's, which is on either node with probability 1/2 ...
    assert cost(0, 1) == pytest.approx(4 * 0.5 * 150e-9)
    # ... or certainly on this one.
    assert cost(0, 0) == pytest.approx(4 * 0.5 * 100e-9)
    # A thread without a node is on both: 3/4 of all faults are on node 0.
    assert cost(0, -1) == pytest.approx(4 * 0.5 * (10 / 16 * 100e-9 + 6 / 16 * 200e-9))


def test_what_handling_a_fault_costs_is_in_the_interval() -> None:
    trace, machine = trace_of([(0, 0, 64, 0)], 1, lines=[64]), machine_of(2)
    placed = first_touch(trace, machine, nodes(0))
    base = predict(trace, machine, RunPlacement(placed, nodes(0)))
    found = predict(
        trace, machine, RunPlacement(placed, nodes(0), thread_seconds=base.seconds), reference=base
    )
    assert (found.relative, found.low, found.high) == pytest.approx((2.0, 1.5, 3.0))


def test_the_kernel_waits_before_its_first_walk() -> None:
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    late = replace(KERNEL, scan_delay_s=2.0)
    moved = balanced(trace, machine_of(2), nodes(0, 1), 4.0, kernel=late)
    # Two seconds where it was touched, one second of the scan, one second where it is used.
    assert share_of(moved.pages, 0) == pytest.approx({0: 2.5 / 4, 1: 1.5 / 4})
    assert moved.passes == pytest.approx(1.0 + 1.0 / 1.3)  # all faults are local then


def test_walks_take_a_second_at_least() -> None:
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    fast = replace(KERNEL, scan_bytes_per_s=1e12)
    moved = balanced(trace, machine_of(2), nodes(0, 1), 0.5, kernel=fast)
    assert moved.passes == pytest.approx(0.5)
    # Half of the pages are visited at the end; the average over the time is a quarter.
    assert share_of(moved.pages, 0)[1] == pytest.approx(0.25)


def test_walks_become_slower_when_faults_are_local() -> None:
    """If seven of ten faults are local, the period grows by a tenth or more, up to its maximum."""
    trace = trace_of([(0, 0, 10, 0)], 1)
    machine, where = machine_of(2), nodes(0)
    # All faults are local: 1, 1.3, 1.69, ... seconds.
    found = balanced(trace, machine, where, 1.0 + 1.3 + 1.69, kernel=KERNEL)
    assert found.passes == pytest.approx(3.0)
    limited = replace(KERNEL, scan_period_max_s=1.2)
    found = balanced(trace, machine, where, 1.0 + 1.2 + 1.2, kernel=limited)
    assert found.passes == pytest.approx(3.0)
    # Seven of ten accesses are of page 0's own node, where it stays; page 1 has none.
    shared = trace_of([(0, 0, 1, 0), (1, 1, 1, 0)], 2, first_touch=[(0, 0), (1, 1)])
    found = balanced(
        shared, machine, nodes(0, 1), 2.0 + 2.6, kernel=KERNEL
    )  # two pages: two seconds
    assert found.passes == pytest.approx(2.0)


def test_nothing_is_modelled_of_a_run_without_time() -> None:
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    moved = balanced(trace, machine_of(2), nodes(0, 1), 0.0, kernel=KERNEL)
    assert share_of(moved.pages, 0) == {0: 1.0}
    assert (moved.thread_seconds, moved.passes) == (0.0, 0.0)


def test_the_defaults_are_those_of_the_kernel() -> None:
    """The values in docs/prediction.md: a second before the first scan, 1 to 60 s, 2560 MiB/s."""
    trace = trace_of([(0, 1, 10, 0)], 2, first_touch=[(0, 0)])
    moved = balanced(trace, machine_of(2), nodes(0, 1), 3.0, resident_bytes=2 * 2560.0 * (1 << 20))
    # After one second, a scan of two seconds begins.
    assert moved.passes == pytest.approx(1.0)
    assert share_of(moved.pages, 0)[1] == pytest.approx(1.0 / 3)
    pages = 2 * 2560 * 256
    # Each page faults once and moves once; four lines of the other thread's CPU, half of the time.
    lines = 4 * 0.5 * 150e-9
    assert moved.thread_seconds == pytest.approx(pages * (1e-6 + 5e-6 + lines) / 2)


def test_faults_move_pages_if_none_of_the_last_ones_was_deferred() -> None:
    # Half of thread 0's faults on shared pages follow a fault of another node; all of thread 1's
    # do; thread 2 has no such faults.
    found = _not_deferred(
        np.array([0, 0, 1]),
        part=np.array([0.5, 1.0, 1.0]),
        elsewhere=np.array([0.5, 0.25, 1.0]),
        other=np.array([0.5, 0.25, 0.0]),
        threads=3,
        deferred=2,
    )
    assert found.tolist() == [0.25, 0.0, 1.0]
