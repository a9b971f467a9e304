# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numascape.errors import NumascapeError
from numascape.machine import Machine, open_machine
from numascape.prediction import Speeds, demand_of, first_touch, interleave, predict, speeds_of
from numascape.prediction.load import RunPlacement, Tuning
from numascape.prediction.model import calibrated, predicted_seconds
from numascape.prediction.policies import weighted_interleave
from numascape.trace import Trace
from unit.prediction.made_up import Access, machine_of, nodes, trace_of

ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 999), st.integers(0, 999)),
    max_size=16,
    unique_by=lambda row: row[:2],
)
WHERE = st.lists(st.integers(-1, 2), min_size=4, max_size=4)
FEW = settings(max_examples=25, deadline=None)
# There are only reads, and accesses take no time: all seconds are those of memory.
READS = 1_000_000


def idle(machine: Machine) -> Speeds:
    return replace(speeds_of(machine), core_ns=0.0)


def one_page(*threads: int, lines: int = READS) -> Trace:
    """Page 0, touched first by thread 0; each thread reads its number of lines from it."""
    return trace_of(
        [(0, thread, lines, 0) for thread in threads],
        1 + max(threads),
        lines=[lines] * len(threads),
    )


def test_a_thread_waits_for_its_lines_at_the_latency_of_their_node() -> None:
    machine = machine_of(2, memory_gb_s=1e6, link_gb_s=1e6)
    trace = one_page(0)
    placed = first_touch(trace, machine, nodes(0))
    near = predict(trace, idle(machine), RunPlacement(placed, nodes(0), label="near"))
    far = predict(trace, idle(machine), RunPlacement(placed, nodes(1), label="far"), reference=near)
    # 10 lines at a time, 100 or 200 ns each.
    assert near.seconds == pytest.approx(READS * 100e-9 / 10)
    assert far.relative == pytest.approx(2.0)
    assert (near.remote_share, far.remote_share) == (0.0, 1.0)
    assert (far.limit, far.limit_kind) == ("thread 0", "thread")
    assert far.low <= far.relative <= far.high


def test_the_seconds_alone_are_those_of_the_prediction() -> None:
    machine = machine_of(2)
    trace = one_page(0, 1)
    demand, speeds = demand_of(trace, speeds_of(machine)), speeds_of(machine)
    placed = first_touch(trace, machine, nodes(0, 1))
    for tuning, copied in ((None, ()), (Tuning(lines=2.0, thread_time=3.0), (0,))):
        placement = RunPlacement(placed, nodes(0, 1), copied=copied)
        whole = predict(demand, speeds, placement, tuning=tuning)
        assert predicted_seconds(demand, speeds, placement, tuning) == whole.seconds > 0


def test_threads_on_one_memory_are_limited_by_it() -> None:
    machine = machine_of(2, 8, memory_gb_s=10.0, link_gb_s=1e6)
    trace = one_page(*range(16))
    where = nodes(*[0] * 8, *[1] * 8)
    on_one = predict(
        trace, idle(machine), RunPlacement(first_touch(trace, machine, where), where, label="one")
    )
    assert on_one.seconds == pytest.approx(16 * READS * 64 / 10e9)
    assert (on_one.limit, on_one.limit_kind) == ("memory of node 0", "memory")
    on_both = predict(
        trace,
        idle(machine),
        RunPlacement(interleave(trace, machine), where, label="both"),
        reference=on_one,
    )
    assert on_both.relative == pytest.approx(0.5)


def test_a_narrow_link_is_the_limit() -> None:
    machine = machine_of(2, 8, memory_gb_s=100.0, link_gb_s=2.0, first=4)
    trace = one_page(*range(8))
    placed = first_touch(trace, machine, nodes(*[5] * 8))
    over = predict(trace, idle(machine), RunPlacement(placed, nodes(*[4] * 8), label="over"))
    assert over.seconds == pytest.approx(8 * READS * 64 / 2e9)
    assert (over.limit, over.limit_kind) == ("link 4→5", "link")
    assert over.traffic.tolist() == [[0.0, 8 * READS * 64.0], [0.0, 0.0]]


def test_written_lines_go_both_ways() -> None:
    machine = machine_of(1)
    counted = trace_of([(0, 0, 0, 64)], 1, lines=[64])
    # Without counts, only a part of the lines that are read more often than written goes back.
    updated, mostly_read = trace_of([(0, 0, 64, 64)], 1), trace_of([(0, 0, 100, 25)], 1)
    sent = [
        predict(trace, machine, RunPlacement(interleave(trace, machine), nodes(0))).traffic.sum()
        for trace in (counted, updated, mostly_read)
    ]
    assert sent == pytest.approx([2 * 4096, 2 * 4096, 1.25 * 4096])


def test_latency_grows_with_load_until_time_fits() -> None:
    """The result is a fixed point: at this time, the threads need exactly this time."""
    machine = replace(machine_of(1, 8, memory_gb_s=10.0), loaded_latency=())
    speeds = idle(machine)
    trace = one_page(*range(8), lines=READS)
    found = predict(trace, speeds, RunPlacement(interleave(trace, machine), nodes(*[0] * 8)))
    used = 8 * READS * 64 / 10e9 / found.seconds
    waiting = READS * 100e-9 * float(speeds.slowdown(np.array(used))) / 10
    assert found.seconds == pytest.approx(max(waiting, 8 * READS * 64 / 10e9), rel=1e-6)
    assert "latency under load: as on other machines" in found.assumed


def test_a_run_that_does_nothing_is_local_and_takes_no_time() -> None:
    machine = machine_of(2)
    trace = trace_of([(0, 0, 0, 0)], 1)
    found = predict(trace, speeds_of(machine), RunPlacement(interleave(trace, machine), nodes(0)))
    assert (found.seconds, found.remote_share, found.remote_accesses) == (0.0, 0.0, 0.0)
    assert (found.limit, found.limit_kind) == ("nothing", "nothing")


def test_threads_that_share_a_core_slow_each_other_down() -> None:
    machine = machine_of(1, 2)
    trace = trace_of([(t, t, 1000, 0) for t in range(4)], 4, lines=[0] * 4)
    placed = interleave(trace, machine)
    speeds = speeds_of(machine)
    crowded = predict(trace, speeds, RunPlacement(placed, nodes(*[0] * 4)))
    assert crowded.seconds == pytest.approx(1000 * speeds.core_ns * 1e-9 * 2 / 1.25)
    assert (crowded.limit, crowded.limit_kind) == ("cores of node 0", "cores")


def test_a_longer_thread_uses_what_shorter_ones_leave_of_the_cores() -> None:
    machine = machine_of(1, 2)
    speeds = speeds_of(machine)
    times = []
    for work in ((1000, 1000, 1000, 1000), (1300, 700, 1300, 700), (3000, 0, 500, 500)):
        trace = trace_of([(t, t, n, 0) for t, n in enumerate(work)], 4, lines=[0] * 4)
        found = predict(trace, speeds, RunPlacement(interleave(trace, machine), nodes(*[0] * 4)))
        times.append(found.seconds / (speeds.core_ns * 1e-9))
    # The same time, until one thread alone takes longer.
    assert times == pytest.approx([1600, 1600, 3000])


@FEW
@given(ROWS, WHERE)
def test_traffic_is_conserved_whatever_the_policy(rows: list[Access], where: list[int]) -> None:
    trace, machine = trace_of(rows, 4), machine_of(3)
    speeds = speeds_of(machine)
    demand = demand_of(trace, speeds)
    for placed in (
        first_touch(trace, machine, nodes(*where)),
        interleave(trace, machine),
        weighted_interleave(trace, machine, {1: 1, 2: 5}),
        interleave(trace, machine).clear(),
    ):
        found = predict(demand, speeds, RunPlacement(placed, nodes(*where)))
        assert found.traffic.sum() == pytest.approx(64 * demand.moved.sum())
        assert 0.0 <= found.remote_share <= 1.0
        assert found.seconds >= 0.0


@FEW
@given(ROWS, st.permutations(range(4)), st.randoms(use_true_random=False))
def test_numbers_of_threads_and_order_of_rows_do_not_matter(
    rows: list[Access], renamed: list[int], random: Random
) -> None:
    machine = machine_of(2)
    where = nodes(0, 1, 1, 0)
    other = [(page, renamed[thread], reads, writes) for page, thread, reads, writes in rows]
    touched = dict.fromkeys(row[0] for row in rows)
    firsts = [(page, next(r[1] for r in rows if r[0] == page)) for page in touched]
    shuffled = random.sample(other, len(other))
    elsewhere = nodes(*[int(where[list(renamed).index(t)]) for t in range(4)])
    first = trace_of(rows, 4, first_touch=firsts)
    second = trace_of(shuffled, 4, first_touch=[(page, renamed[t]) for page, t in firsts])
    times = [
        predict(trace, machine, RunPlacement(first_touch(trace, machine, at), at)).seconds
        for trace, at in ((first, where), (second, elsewhere))
    ]
    assert times[0] == pytest.approx(times[1])


@FEW
@given(ROWS)
def test_interleaving_loads_all_memories_alike(rows: list[Access]) -> None:
    trace, machine = trace_of(rows, 4), machine_of(4)
    found = predict(trace, machine, RunPlacement(interleave(trace, machine), nodes(0, 1, 2, 3)))
    loads = found.traffic.sum(axis=0)
    assert loads == pytest.approx(np.full(4, loads.mean()))


@FEW
@given(ROWS)
def test_with_one_node_every_policy_takes_the_same_time(rows: list[Access]) -> None:
    trace, machine = trace_of(rows, 4), machine_of(1, 4)
    where = nodes(0, 0, -1, -1)
    times = [
        predict(trace, machine, RunPlacement(placed, where)).seconds
        for placed in (first_touch(trace, machine, where), interleave(trace, machine))
    ]
    assert times[0] == pytest.approx(times[1])


@FEW
@given(ROWS, st.floats(0, 1), st.floats(0, 1))
def test_more_remote_pages_are_never_faster_where_latency_limits(
    rows: list[Access], one: float, other: float
) -> None:
    machine = machine_of(2, 4, memory_gb_s=1e9, link_gb_s=1e9)
    trace, where = trace_of(rows, 4), nodes(0, 0, 0, 0)
    times = []
    for remote in sorted((one, other)):
        placed = weighted_interleave(trace, machine, {0: 1.0 - remote + 1e-9, 1: remote})
        times.append(predict(trace, machine, RunPlacement(placed, where)).seconds)
    assert times[0] <= times[1] * (1 + 1e-9)


def test_remote_accesses_count_cached_ones_too() -> None:
    machine = machine_of(2)
    # Page 0 is thread 0's; thread 1, on the other node, reads it from memory once.
    trace = trace_of([(0, 0, 900, 0), (0, 1, 100, 0)], 2, lines=[64, 64])
    placed = first_touch(trace, machine, nodes(0, 1))
    found = predict(trace, machine, RunPlacement(placed, nodes(0, 1)))
    assert (found.remote_accesses, found.remote_share) == pytest.approx((0.1, 0.5))
    anywhere = predict(trace, machine, RunPlacement(placed, nodes(0, -1)))
    assert anywhere.remote_accesses == pytest.approx(0.05)


def test_what_was_not_placed_is_everywhere() -> None:
    trace, machine = trace_of([(0, 0, 64, 0)], 1, lines=[64]), machine_of(4)
    nowhere = interleave(trace, machine).clear()
    found = predict(trace, machine, RunPlacement(nowhere, nodes(0)))
    assert found.traffic[0].tolist() == pytest.approx([1024.0] * 4)


def test_a_trace_without_accesses_takes_no_time() -> None:
    trace = trace_of([], 1, first_touch=[(0, 0)])
    machine = machine_of(2)
    found = predict(
        trace, machine, RunPlacement(first_touch(trace, machine, nodes(0)), nodes(0), label="none")
    )
    assert (found.seconds, found.limit_kind, found.remote_share) == (0.0, "nothing", 0.0)
    again = predict(
        trace, machine, RunPlacement(interleave(trace, machine), nodes(0)), reference=found
    )
    assert again.relative == 1.0


def test_nodes_that_the_machine_lacks_are_refused() -> None:
    trace, machine = trace_of([(0, 0, 1, 0)], 1), machine_of(2)
    placed = first_touch(trace, machine, nodes(0))
    with pytest.raises(NumascapeError, match="no node 9; its nodes are 0, 1"):
        predict(trace, machine, RunPlacement(placed, nodes(9)))
    wrong = placed.with_columns(node=pl.lit(5, pl.Int32))
    with pytest.raises(NumascapeError, match="no node 5"):
        predict(trace, machine, RunPlacement(wrong, nodes(0)))


def test_pages_that_stay_in_the_cache_come_from_memory_once() -> None:
    speeds = replace(speeds_of(machine_of(1)), shared_cache=8 * 4096.0, private_cache=0.0)
    small = demand_of(trace_of([(p, 0, 100_000, 0) for p in range(4)], 1), speeds)
    assert small.lines.tolist() == [64.0] * 4
    assert (small.least, small.most, small.counted) == (1.0, 1.0, False)
    # Twice the cache, in ten rounds: at least half of a page's lines are missing each time.
    rows: list[Access] = [(p, 0, 51_200, 0) for p in range(16)]
    large = demand_of(trace_of(rows, 1, repetitions=10), speeds)
    assert large.lines * large.least == pytest.approx([320.0] * 16)
    assert large.lines * large.most == pytest.approx([3200.0] * 16)


def test_counted_lines_are_taken_as_they_are() -> None:
    speeds = speeds_of(machine_of(1))
    demand = demand_of(trace_of([(0, 0, 1000, 0)], 1, lines=[7]), speeds)
    assert demand.lines.tolist() == [7.0]
    assert demand.counted


@pytest.mark.parametrize(("gb_s", "seconds"), [(1e9, 0.5), (1e9, 4.0), (1.0, 2.0)])
def test_a_measured_run_calibrates_threads_time_or_the_lines(gb_s: float, seconds: float) -> None:
    machine = machine_of(1, 1, memory_gb_s=gb_s)
    speeds = speeds_of(machine)
    # One second of waiting, half a second of accesses; 6.4 s of memory at 1 GB/s.
    trace = trace_of([(0, 0, 1_000_000_000, 0)], 1, lines=[100_000_000])
    demand, placed = demand_of(trace, speeds), interleave(trace, machine)
    tuning = calibrated(demand, speeds, RunPlacement(placed, nodes(0)), seconds)
    found = predict(demand, speeds, RunPlacement(placed, nodes(0)), tuning=tuning)
    assert found.seconds == pytest.approx(seconds, rel=1e-6)
    lines, thread_time = (seconds / 6.4, 1.0) if gb_s == 1.0 else (1.0, seconds / 1.5)
    assert (tuning.lines, tuning.thread_time) == pytest.approx((lines, thread_time))


def test_nothing_is_tuned_if_the_measured_time_is_the_predicted_one() -> None:
    machine = machine_of(1, 1)
    speeds = speeds_of(machine)
    trace = one_page(0, lines=1000)
    demand, placed = demand_of(trace, speeds), interleave(trace, machine)
    seconds = predict(demand, speeds, RunPlacement(placed, nodes(0))).seconds
    assert calibrated(demand, speeds, RunPlacement(placed, nodes(0)), seconds) == Tuning()
    # The memory alone needs all of the time, so no line is removed.
    alone = predict(demand, speeds, RunPlacement(placed, nodes(0)), tuning=Tuning(thread_time=0.0))
    tuned = calibrated(demand, speeds, RunPlacement(placed, nodes(0)), alone.seconds)
    assert tuned.lines == 1.0
    assert tuned.thread_time == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", ["xeon-x7550", "numa16", "grace-cpu-superchip", "opteron-6174"])
def test_machines_of_which_little_is_known_say_what_is_assumed(name: str) -> None:
    speeds = speeds_of(open_machine(name))
    assert speeds.assumed
    for figure in (speeds.latency, speeds.controller, speeds.link, speeds.curve):
        assert not np.isnan(figure).any()
        assert (figure >= 0).all()


@pytest.mark.parametrize(("accesses", "flying"), [(64_000, 1.0), (640 * 20, 2.56), (640, 10.0)])
def test_lines_that_come_again_may_be_waited_for_one_by_one(accesses: int, flying: float) -> None:
    """Without prefetching, the lines in 51.2 accesses are in flight."""
    machine = machine_of(1, memory_gb_s=1e6)
    trace = trace_of([(0, 0, accesses, 0)], 1, lines=[640], repetitions=2)
    speeds = idle(machine)
    alone = demand_of(trace, speeds)
    placed, tenth = interleave(trace, machine), 100e-9 / 10
    # In a run without phases, this is not known.
    assert predict(alone, speeds, RunPlacement(placed, nodes(0))).seconds == pytest.approx(
        640 * tenth
    )
    found = predict(replace(alone, phased=True), speeds, RunPlacement(placed, nodes(0)))
    # Each of the two rounds fetches the page's 64 lines once; the other 512 come again.
    longer = 10 / flying
    assert found.seconds == pytest.approx((128 + 512 * longer**0.5) * tenth)
    ends = (128 + 512) * tenth, (128 + 512 * longer) * tenth
    for end in ends:
        assert min(abs(seconds - end) for seconds in found.variants) < 1e-12
    # A thread that takes part in half of the rounds fetches half of the page's lines in order.
    half = replace(alone, phased=True, rounds=np.array([0.5]))
    assert half.again.tolist() == [576.0]
    assert replace(half, counted=False).again.tolist() == [0.0]
