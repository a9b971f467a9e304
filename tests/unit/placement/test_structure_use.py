# SPDX-License-Identifier: Apache-2.0
"""The threads that use each part of a structure, in tables that are written by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from numascape.balance.target import Target
from numascape.placement import structure_use
from numascape.placement.thread_groups import _core_choices, _sharing, as_seen, possible_groups
from numascape.prediction import demand_of, speeds_of
from unit.placement.test_structure_choices import groups
from unit.prediction.made_up import machine_of, trace_of


def demand(*accesses: list[float]) -> Any:
    return SimpleNamespace(accesses=np.array(accesses))


def test_a_thread_works_from_a_twentieth_of_the_busiest() -> None:
    together, nearly = [100.0, 6.0], [100.0, 5.0]
    assert structure_use.working_accesses(demand(together, nearly)).tolist() == together
    # If one thread works alone in all phases, all phases count.
    assert structure_use.working_accesses(demand(nearly, nearly)).tolist() == [200.0, 10.0]


def test_the_process_with_most_accesses_is_the_program() -> None:
    trace = trace_of([(0, 0, 5, 0), (0, 1, 3, 1), (0, 2, 2, 0)], 4)
    process = pl.Series([0, 1, 1, 0], dtype=pl.UInt32)
    trace.__dict__["threads"] = trace.threads.with_columns(process=process)
    assert structure_use.program_threads(trace).tolist() == [1, 2]


def test_pages_have_their_lines_and_first_toucher() -> None:
    trace = trace_of([(0, 0, 64, 0), (0, 1, 32, 0), (1, 1, 9, 0)], 2, first_touch=[(0, 1)])
    rows = structure_use.page_uses(trace, demand_of(trace, speeds_of(machine_of(1))))
    found = rows.sort("page", "thread").select("page", "thread", "serial", "lines", "toucher")
    # The first toucher of page 1 is not known: its user counts instead.
    assert found.rows() == [(0, 0, 0, 64, 1), (0, 1, 0, 32, 1), (1, 1, 0, 9, 1)]
    assert structure_use.evenly_working(rows) == pytest.approx((64 + 41) / 64)
    assert structure_use.evenly_working(rows.clear()) == 1.0
    assert structure_use.evenly_working(rows.with_columns(serial=1)) == 1.0
    # All accesses were to lines in the cache.
    assert structure_use.evenly_working(rows.with_columns(lines=0)) == 1.0


def test_blocks_at_the_same_addresses_are_the_same_memory() -> None:
    blocks = [
        (0, 0, 1000, 100),
        (0, 1, 1050, 100),
        (0, 2, 1300, 50),
        (0, 3, 1310, 10),
        (0, 4, 9, 0),
    ]
    columns = ["structure", "instance", "address", "size"]
    table = pl.DataFrame(blocks, schema=columns, orient="row")
    trace: Any = SimpleNamespace(instances=table)
    shares = structure_use._live_shares(trace, pl.DataFrame({"structure": [0]}))
    assert shares == {0: pytest.approx((150 + 50) / (100 + 100 + 50 + 10))}
    # Nothing is known about blocks without a size.
    trace.instances = table.filter(pl.col("size") == 0)
    assert structure_use._live_shares(trace, pl.DataFrame({"structure": [0]})) == {}


def test_what_a_plan_cannot_name_and_libraries_are_not_placed() -> None:
    row = {"name": "x" * 4096, "function": "main", "file": "a.c", "module": "/opt/program"}
    assert structure_use._can_be_named(row)
    assert not structure_use._can_be_named({**row, "name": "x" * 4097})
    assert not structure_use._can_be_named({**row, "function": "x" * 4097})
    assert not structure_use._can_be_named({**row, "file": "a\n.c"})
    assert not structure_use._can_be_named({**row, "module": "/lib/libc.so.6"})


def test_parts_begin_at_fractions_of_the_block() -> None:
    assert structure_use._posts(4, 400, None, 100).tolist() == [0, 0.25, 0.5, 0.75]
    # The block begins ten bytes after its first page does.
    block = {"address": 110, "size": 300}
    assert structure_use._posts(4, 400, block, 100).tolist() == [0, 90 / 300, 190 / 300, 290 / 300]
    assert structure_use._posts(2, 200, {"address": 100, "size": 0}, 100).tolist() == [0, 100]


def test_pages_count_from_the_one_with_the_first_byte() -> None:
    table = pl.DataFrame(
        {"structure": [0] * 4, "instance": [0, 1, 2, 3]}
        | {"address": [200, 299, 299, 200], "size": [100, 1, 2, 101]}
    )
    trace: Any = SimpleNamespace(instances=table, info=SimpleNamespace(page_size=100))
    assert structure_use._instance_pages(trace)["extent"].to_list() == [1, 1, 2, 2]


def uses(*rows: tuple[int, int, int, float]) -> Any:
    """Part, thread, serial and lines, sorted by part."""
    part, thread, serial, lines = (np.array(column) for column in zip(*rows, strict=True))
    return SimpleNamespace(part=part, thread=thread, serial=serial, lines=lines)


def test_threads_share_the_smaller_of_their_lines_on_a_part() -> None:
    use = uses((0, 0, 0, 5.0), (0, 1, 0, 3.0), (0, 2, 0, 4.0), (1, 0, 0, 9.0), (1, 2, 0, 1.0),
               (2, 0, 1, 8.0), (2, 1, 1, 8.0), (3, 3, 0, 7.0), (3, 0, 0, 7.0))  # fmt: skip
    # Thread 3 is of another process; one thread worked alone on part 2.
    shared = _sharing([use, use], np.array([0, 1, 2]), 4)
    assert shared.tolist() == [[0, 6, 10], [6, 0, 6], [10, 6, 0]]


def test_few_threads_take_as_many_cores_of_each_node() -> None:
    def choices(cores: list[int], workers: int) -> list[list[int]]:
        return [chosen.tolist() for chosen in _core_choices(np.array(cores), workers)]

    assert choices([0, 0, 0, 1, 1, 1], 2) == [[0, 3], [0, 1, 2, 3, 4, 5]]
    assert choices([0, 0, 0, 1, 1, 1], 3) == [[0, 1, 3, 4], [0, 1, 2, 3, 4, 5]]
    assert choices([0, 0, 1, 1], 9) == [[0, 1, 2, 3]]


def test_threads_that_moved_have_no_groups() -> None:
    made = groups(0, -1, 1)
    found = as_seen(made, np.array([1, -1, 0]))
    assert found is not None
    assert found.nodes.tolist() == [1, -1, 0]
    assert as_seen(made, np.array([1, 0, -1])) is None


def test_a_node_s_threads_may_use_its_usable_cpus() -> None:
    machine = machine_of(2, 2)
    rules = groups(1, -1, 0, 1).rules(machine)
    # Threads count within the program: the second of the trace is of another process.
    assert [(rule.cpus, rule.order, rule.together) for rule in rules] == [
        ((0, 1), "1", True),
        ((2, 3), "0,2", True),
    ]
    limited = type(machine)(**{**vars(machine), "allowed_cpus": (0, 3)})
    assert [rule.cpus for rule in groups(1, 0).rules(limited)] == [(0,), (3,)]


def test_a_thread_that_waits_is_near_those_with_whom_it_shares() -> None:
    target = Target("two", np.array([0, 0, 1, 1], np.uint32), np.array([[1.0, 2.0], [2.0, 1.0]]))
    # Threads 1 to 4 work; 1 and 2 share, and so do 3 and 4; 0 waits and reads what 3 does.
    use = uses((0, 1, 0, 9.0), (0, 2, 0, 9.0), (1, 3, 0, 9.0), (1, 4, 0, 9.0), (2, 0, 0, 5.0),
               (2, 3, 0, 5.0))  # fmt: skip
    work = np.array([79.0, 500.0, 500.0, 500.0, 500.0])
    found = possible_groups([use], np.arange(5), work, 5, target, np.array([4, 6]))
    for made in found:
        assert made.busy.tolist() == [False, True, True, True, True]
        assert made.nodes[1] == made.nodes[2] != made.nodes[3] == made.nodes[4] == made.nodes[0]
        assert set(made.nodes.tolist()) == {4, 6}
    # A thread with a fifth of the mean works.
    use = uses((0, 0, 0, 1.0), (0, 1, 0, 1.0))
    busy = possible_groups([use], np.arange(2), np.array([2.0, 18.0]), 2, target, np.array([4, 6]))
    assert busy[0].busy.tolist() == [True, True]
    idle = possible_groups([use], np.arange(2), np.array([1.9, 18.0]), 2, target, np.array([4, 6]))
    assert idle[0].busy.tolist() == [False, True]
