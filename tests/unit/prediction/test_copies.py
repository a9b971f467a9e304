# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from numascape.prediction import demand_of, first_touch, predict, speeds_of
from numascape.prediction.copies import worth_copying
from numascape.prediction.load import RunPlacement
from numascape.prediction.scenarios import Scenarios
from unit.prediction.made_up import Access, machine_of, nodes, trace_of

READ_BY_BOTH: list[Access] = [(0, 0, 640_000, 512), (0, 1, 640_000, 0)]
LINES = [640_000, 640_000]


@pytest.mark.parametrize(
    ("accesses", "repetitions", "worth"),
    [
        (READ_BY_BOTH, 1, True),
        # Written by another thread than the one that filled it; again in each round; more often
        # than once; and read by one thread alone.
        ([(0, 0, 9, 512), (0, 1, 9, 1)], 1, False),
        (READ_BY_BOTH, 2, False),
        ([(0, 0, 9, 4097), (0, 1, 9, 0)], 1, False),
        ([(0, 0, 9, 512), (1, 1, 9, 512)], 1, False),
    ],
)
def test_what_is_read_by_several_and_only_filled_is_worth_copying(
    accesses: list[Access], repetitions: int, worth: bool
) -> None:
    assert worth_copying(trace_of(accesses, 2, repetitions=repetitions)) == [0] * worth


def test_a_copy_on_each_node_is_read_there_and_costs_its_memory() -> None:
    machine = machine_of(2, memory_gb_s=1e6, link_gb_s=1e6)
    rows: list[Access] = [(0, 0, 640_000, 0), (0, 1, 640_000, 0)]
    trace = trace_of(rows, 2, lines=LINES)
    where = nodes(0, 1)
    speeds = replace(speeds_of(machine), core_ns=0.0)
    placed = first_touch(trace, machine, where)
    far = predict(trace, speeds, RunPlacement(placed, where))
    near = predict(trace, speeds, RunPlacement(placed, where, copied=[0]), reference=far)
    # Thread 1 waits 100 ns for 10 lines instead of 200 ns; a page is read and written at 4 GB/s.
    assert far.seconds == pytest.approx(640_000 * 200e-9 / 10)
    assert near.seconds == pytest.approx(640_000 * 100e-9 / 10 + 2 * 4096 / 4e9)
    assert (near.remote_share, near.remote_accesses, near.extra_bytes) == (0.0, 0.0, 4096)
    assert near.traffic.tolist() == [[640_000 * 64.0, 0.0], [0.0, 640_000 * 64.0]]
    assert far.extra_bytes == 0


def test_what_is_written_goes_to_every_copy() -> None:
    machine = machine_of(4, without_cpus=(3,))  # it has no copy
    trace = trace_of([(0, 0, 0, 64)], 1, lines=[64])
    demand = demand_of(trace, speeds_of(machine))
    placed = first_touch(trace, machine, nodes(1))
    found = predict(demand, machine, RunPlacement(placed, nodes(1), copied=[0]))
    # It is read here, and written back here and on both other nodes.
    assert found.traffic.tolist() == [
        *([0.0] * 4, [4096.0, 8192.0, 4096.0, 0.0], [0.0] * 4, [0.0] * 4)
    ]


def test_replication_is_a_policy_where_there_is_something_to_copy() -> None:
    machine = machine_of(2)
    trace = trace_of(READ_BY_BOTH, 2, lines=LINES, machine=machine)
    scenarios = Scenarios(trace, machine, nodes(0, 1))
    (found,) = scenarios.predict(["replicate"])
    assert (found.label, found.extra_bytes, found.remote_accesses) == ("replicate", 4096, 0.0)
    written = trace_of([(0, 0, 1, 512), (0, 1, 1, 1)], 2, machine=machine)
    assert Scenarios(written, machine, nodes(0, 1)).predict(["replicate"]) == []


def test_a_run_without_accesses_has_nothing_to_copy() -> None:
    assert worth_copying(trace_of([], 2, first_touch=[(0, 0)])) == []


@pytest.mark.parametrize(("others", "worth"), [(99 * 1000, [0]), (99 * 1000 + 1, [])])
def test_a_hundredth_of_the_accesses_is_worth_copying(others: int, worth: list[int]) -> None:
    """One thread makes the other accesses, to structure 1."""
    trace: Any = trace_of([(0, 0, 500, 0), (0, 1, 500, 0), (0, 0, others, 0)], 2)
    owner = pl.Series("structure", [0, 0, 1], pl.UInt32)
    trace.accesses = trace.accesses.with_columns(owner)
    trace.structures = pl.concat(
        [trace.structures, trace.structures.with_columns(structure=pl.lit(1, pl.UInt32))]
    )
    assert worth_copying(trace) == worth
