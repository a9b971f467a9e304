# SPDX-License-Identifier: Apache-2.0
"""The memory traffic of a trace, compared with results by hand: lines from and to memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from numascape.prediction import demand_of, interleave, predict, speeds_of
from numascape.prediction.copies import bytes_of_copy, seconds_to_copy
from numascape.prediction.demand import Demand, Placed, cache_share
from numascape.prediction.load import RunPlacement
from numascape.prediction.speeds import Speeds
from numascape.trace.schema import SCHEMAS
from unit.prediction.made_up import machine_of, nodes, trace_of

EMPTY = speeds_of(machine_of(1))


def speeds(shared: float = 0.0, private: float = 0.0, sharers: int = 1, cpus: int = 2) -> Speeds:
    known = speeds_of(machine_of(1, cpus))
    return replace(known, shared_cache=shared, private_cache=private, sharers=sharers)


def test_threads_share_a_cache_as_its_cpus_do() -> None:
    # Each cache has eight CPUs. There are half as many threads as CPUs: four for each cache.
    assert cache_share(speeds(1000.0, 10.0, sharers=8, cpus=16), 8) == 1000 / 4 + 10
    assert cache_share(speeds(1000.0, 10.0, sharers=8, cpus=16), 16) == 1000 / 8 + 10
    assert cache_share(speeds(1000.0, 10.0, sharers=8, cpus=16), 1) == 1000 + 10


def test_a_page_of_few_accesses_has_few_lines() -> None:
    demand = demand_of(trace_of([(0, 0, 3, 0), (1, 0, 60, 4), (2, 0, 40, 60)], 1), speeds(1e9))
    assert demand.lines.tolist() == [3.0, 64.0, 64.0]
    # Written lines go back: a part of them if there are more reads than writes, otherwise all.
    assert (demand.moved - demand.lines).tolist() == pytest.approx([0.0, 64 * 4 / 60, 64.0])
    assert demand.accesses.tolist() == [[167.0]]
    assert demand.counts.tolist() == [3.0, 64.0, 100.0]


def test_what_exceeds_the_cache_comes_in_each_repetition() -> None:
    # Four pages, and a cache for one page: three quarters are fetched in each of two repetitions.
    rows = [(page, 0, 160, 0) for page in range(4)]
    demand = demand_of(trace_of(rows, 1, repetitions=2), speeds(4096.0))
    # At least 2 * 64 * 3/4 lines; a line for eight of 160 accesses would be less.
    assert demand.lines.tolist() == [96.0] * 4
    assert (demand.least, demand.most) == (1.0, 1.0)
    more = [(page, 0, 4096, 0) for page in range(4)]
    demand = demand_of(trace_of(more, 1, repetitions=2), speeds(4096.0))
    # At most a line for eight of 4096 accesses, of three quarters.
    assert demand.lines.tolist() == pytest.approx([(96 * 384) ** 0.5] * 4)
    assert (demand.least, demand.most) == pytest.approx((0.5, 2.0))


def test_blocks_that_get_the_same_memory_are_one_block_for_the_cache() -> None:
    # A block of two pages is freed and allocated again in each of four repetitions.
    trace = trace_of([(page, 0, 64, 0) for page in range(8)], 1, repetitions=4)
    in_blocks = trace.accesses.with_columns(
        instance=pl.col("page") // 2, page=pl.col("page") % 2
    ).cast({"instance": pl.UInt32, "page": pl.UInt32})
    trace.__dict__["accesses"] = in_blocks
    trace.__dict__["first_touch"] = trace.first_touch.clear()
    same = [(0, instance, 0x7000_0000, 8192) for instance in range(4)]
    trace.__dict__["instances"] = pl.DataFrame(same, SCHEMAS["instances"], orient="row")
    # A cache of two pages fetches each line of the two pages once.
    assert demand_of(trace, speeds(2 * 4096.0)).lines.tolist() == [64 / 4] * 8
    # A cache of one page fetches half of the lines again in each repetition.
    assert demand_of(trace, speeds(4096.0)).lines.tolist() == [64 / 2] * 8


def two_phases() -> Demand:
    """Thread 0 in phase 0, which ran once; threads 0 and 1 in phase 1, which ran twice."""
    trace = trace_of([(0, 0, 640, 0), (1, 0, 64, 64), (1, 1, 32, 0)], 2, lines=[640, 64, 32])
    trace.__dict__["phases"] = pl.DataFrame(
        {"phase": [0, 1], "name": ["a", "b"], "repetitions": [1, 2]}
    )
    rows = trace.accesses.with_columns(phase=pl.Series([0, 1, 1], dtype=pl.UInt32))
    trace.__dict__["accesses"] = rows
    return demand_of(trace, EMPTY)


def test_lines_beyond_once_per_repetition_come_again() -> None:
    demand = two_phases()
    assert demand.phased
    assert demand.once.tolist() == [64.0, 128.0]
    assert demand.again.tolist() == [640.0 - 64.0, 0.0, 0.0]
    assert replace(demand, phased=False).again.tolist() == [0.0] * 3
    assert replace(demand, counted=False).again.tolist() == [0.0] * 3


def test_a_phase_ran_once_at_least() -> None:
    trace = trace_of([(0, 0, 640, 0)], 1, lines=[640], repetitions=0)
    assert demand_of(trace, EMPTY).once.tolist() == [64.0]


def test_a_phase_is_taken_alone() -> None:
    demand = two_phases()
    second = demand.of_phases([1])
    assert second.phase_names == ("b",)
    assert (second.phase.tolist(), second.thread.tolist()) == ([0, 0], [0, 1])
    assert (second.lines.tolist(), second.moved.tolist()) == ([64.0, 32.0], [128.0, 32.0])
    assert second.accesses.tolist() == [[128.0, 32.0]]
    assert (second.once.tolist(), second.counts.tolist()) == ([128.0], [128.0, 32.0])
    assert second.pages.equals(demand.pages)


def placed(demand: Demand, *, copied: bool = False) -> Placed:
    """Page 0 on node 0, page 1 in halves; thread 0 on node 0, thread 1 anywhere."""
    return Placed(
        np.array([[1.0, 0.0], [0.5, 0.5]]),
        np.array([[1.0, 0.0], [0.5, 0.5]]),
        np.array([False, copied]),
    )


def test_lines_are_divided_among_the_nodes_of_their_pages() -> None:
    demand = two_phases()
    (found,) = demand.by_node(placed(demand), demand.lines)
    assert found.tolist() == [[[640.0, 0.0], [0.0, 0.0]], [[32.0, 32.0], [16.0, 16.0]]]
    (copied,) = demand.by_node(placed(demand, copied=True), demand.lines)
    assert copied[1].tolist() == [[64.0, 0.0], [16.0, 16.0]]


def test_local_accesses_are_to_pages_on_the_threads_node() -> None:
    demand = two_phases()
    # Thread 0: all of page 0, half of page 1; thread 1 meets page 1 in half of all cases.
    assert demand.local_accesses(placed(demand)) == 640 + 128 / 2 + 32 / 2
    assert demand.local_accesses(placed(demand, copied=True)) == 640 + 128 + 32


def test_what_is_not_placed_is_everywhere() -> None:
    demand = two_phases()
    two = speeds_of(machine_of(2))
    frame = pl.DataFrame(
        {
            "structure": [0, 0],
            "instance": [0, 0],
            "page": [0, 1],
            "node": [1, 0],
            "share": [1.0, 0.5],
        }
    ).cast(dict.fromkeys(("structure", "instance", "page"), pl.UInt32))
    assert demand.shares(frame, two).tolist() == [[0.0, 1.0], [0.75, 0.25]]
    unknown = frame.with_columns(node=pl.lit(-1))
    assert demand.shares(unknown, two).tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_a_copy_is_read_and_written_once_on_each_other_node() -> None:
    demand = two_phases()
    assert bytes_of_copy(demand, [0]) == 2 * 4096
    assert bytes_of_copy(demand, [1]) == 0
    assert seconds_to_copy(4_000_000, speeds_of(machine_of(2))) == pytest.approx(2e-3)
    assert seconds_to_copy(4_000_000, speeds_of(machine_of(1))) == 0.0
    machine = machine_of(3)
    trace = trace_of([(0, 0, 640, 0), (1, 0, 64, 0)], 1, lines=[640, 64])
    found = predict(trace, machine, RunPlacement(interleave(trace, machine), nodes(0), copied=[0]))
    assert found.extra_bytes == 2 * (2 * 4096)
    assert (found.remote_share, found.remote_accesses) == (0.0, 0.0)
