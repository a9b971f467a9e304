# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numascape.errors import NumascapeError
from numascape.machine import Matrix, open_machine
from numascape.plan import Plan, StructureRule, ThreadRule
from numascape.prediction.balancing import balancing_start
from numascape.prediction.layout import laid_out, nodes_by_plan, read_thread_map
from numascape.prediction.policies import (
    _by_distance,
    first_touch,
    interleave,
    observed,
    placed_by_plan,
    replaced,
    touched_pages,
    weighted_interleave,
)
from numascape.trace.schema import SCHEMAS
from unit.prediction.made_up import ASSUMED, Access, machine_of, nodes, share_of, trace_of

BLOCKS = SCHEMAS["instances"]
FOUR_PAGES: list[Access] = [(page, page // 2, 10, 10) for page in range(4)]


def test_a_page_lies_where_its_first_toucher_runs() -> None:
    trace = trace_of(FOUR_PAGES, 2, first_touch=[(0, 1), (1, 1), (2, 0), (3, 0)])
    placed = first_touch(trace, machine_of(2), nodes(0, 1))
    assert [share_of(placed, page) for page in range(4)] == [{1: 1.0}] * 2 + [{0: 1.0}] * 2


def test_an_unseen_first_touch_is_its_main_users() -> None:
    trace = trace_of([(0, 0, 3, 0), (0, 1, 2, 2)], 2, first_touch=[])
    assert share_of(first_touch(trace, machine_of(2), nodes(0, 1)), 0) == {1: 1.0}


def test_pages_with_an_unseen_first_touch_come_first_in_their_order() -> None:
    accesses: list[Access] = [(page, thread, 5, 0) for page in (2, 1) for thread in (1, 0)]
    trace = trace_of([(0, 1, 1, 0), *accesses], 2, first_touch=[(0, 1)])
    # The first of equal users.
    assert touched_pages(trace).select("page", "thread").rows() == [(1, 0), (2, 0), (0, 1)]


def test_a_full_node_spills_to_the_nearest_with_room_in_the_order_of_touch() -> None:
    trace = trace_of(
        [(p, 0, 1, 0) for p in range(5)], 1, first_touch=[(p, 0) for p in (4, 3, 2, 1, 0)]
    )
    placed = first_touch(trace, machine_of(3), nodes(0), {0: 2 * 4096, 1: 4096 + 4095, 2: 1 << 30})
    assert [share_of(placed, page) for page in (4, 3, 2, 1, 0)] == [
        {0: 1.0}, {0: 1.0}, {1: 1.0}, {2: 1.0}, {2: 1.0},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("memory_bytes", "nodes_of_pages"), [(4096, [0, 1]), (0, [0, 0]), (8192, [0, 0])]
)
def test_a_node_holds_what_its_memory_does_or_all_if_that_is_unknown(
    memory_bytes: int, nodes_of_pages: list[int]
) -> None:
    trace = trace_of([(0, 0, 1, 0), (1, 0, 1, 0)], 1)
    placed = first_touch(trace, machine_of(2, memory_bytes=memory_bytes), nodes(0))
    assert placed.sort("page")["node"].to_list() == nodes_of_pages


def test_a_threads_page_that_runs_anywhere_is_anywhere_with_cpus() -> None:
    trace = trace_of([(0, 0, 1, 0)], 1)
    machine = machine_of(3, without_cpus=(2,))
    assert share_of(first_touch(trace, machine, nodes(-1)), 0) == {0: 0.5, 1: 0.5}


def test_interleaving_uses_nodes_without_cpus_and_weights_their_bandwidth() -> None:
    trace = trace_of([(0, 0, 1, 0)], 1)
    machine = machine_of(2, without_cpus=(1,))
    assert share_of(interleave(trace, machine), 0) == {0: 0.5, 1: 0.5}
    assert share_of(interleave(trace, machine, [1]), 0) == {1: 1.0}
    assert share_of(weighted_interleave(trace, machine, {0: 3, 1: 1}), 0) == {0: 0.75, 1: 0.25}
    with pytest.raises(NumascapeError, match="weight above 0"):
        weighted_interleave(trace, machine, {0: 0})


def test_what_was_observed_counts_and_first_touch_fills_the_rest() -> None:
    machine = machine_of(2)
    trace = trace_of(FOUR_PAGES, 2, placement=[(0, 1), (3, 0), (1, -14)], machine=machine)
    placed = observed(trace, machine, nodes(0, 1))
    assert [share_of(placed, page) for page in range(4)] == [
        {1: 1.0}, {0: 1.0}, {1: 1.0}, {0: 1.0},
    ]  # fmt: skip
    moved = trace_of(FOUR_PAGES, 2, placement=[(2, 1), (2, 0)], machine=machine)
    assert share_of(observed(moved, machine, nodes(0, 1)), 2) == {1: 1.0}  # the first rule counts
    elsewhere = observed(trace, machine_of(3), nodes(0, 2))
    assert share_of(elsewhere, 3) == {2: 1.0}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)),
             max_size=12, unique_by=lambda row: row[:2]),
    st.lists(st.integers(-1, 2), min_size=4, max_size=4),
)  # fmt: skip
def test_the_shares_of_each_touched_page_add_up_to_one(
    accesses: list[Access], where: list[int]
) -> None:
    trace, machine = trace_of(accesses, 4), machine_of(3)
    touched = trace.first_touch.height
    for placed in (
        first_touch(trace, machine, nodes(*where)),
        first_touch(trace, machine, nodes(*where), {0: 4096, 1: 4096, 2: 0}),
        interleave(trace, machine),
        weighted_interleave(trace, machine, {0: 1, 2: 2}),
        observed(trace, machine, nodes(*where)),
        placed_by_plan(trace, Plan(), machine),
        balancing_start(trace, machine, nodes(*where)).after(5.0).pages,
    ):
        sums = placed.group_by("structure", "instance", "page").agg(pl.col("share").sum())
        assert sums.height == touched
        assert sums["share"].to_list() == pytest.approx([1.0] * touched)
        assert placed.filter(pl.col("share") < 0).is_empty()


def plan_of(policy: str, **fields: object) -> Plan:
    return Plan(structures=(StructureRule("a", policy, **fields),))  # type: ignore[arg-type]


def test_a_plans_parts_lie_on_their_nodes() -> None:
    trace = trace_of(FOUR_PAGES, 2)
    plan = plan_of("parts", nodes=(1, 0), parts=(0.0, 0.75, 1.0))
    placed = placed_by_plan(trace, plan, machine_of(2))
    assert [share_of(placed, page) for page in range(4)] == [{1: 1.0}] * 3 + [{0: 1.0}]


def test_a_bound_structure_stays_on_its_full_node_and_a_preferred_one_spills() -> None:
    trace, free = trace_of(FOUR_PAGES, 2), {0: 1 << 30, 1: 2 * 4096}
    bound = placed_by_plan(trace, plan_of("bind", nodes=(1,)), machine_of(2), free)
    assert [share_of(bound, page) for page in range(4)] == [{1: 1.0}] * 4
    preferred = placed_by_plan(trace, plan_of("preferred", nodes=(1,)), machine_of(2), free)
    assert [share_of(preferred, page) for page in range(4)] == [{1: 1.0}] * 2 + [{0: 1.0}] * 2


def test_the_first_rule_that_fits_a_structure_counts() -> None:
    other = StructureRule("a", "bind", line=8, nodes=(0,))
    mine = StructureRule("a", "weighted-interleave", kind="heap", nodes=(0, 1), weights=(1, 3))
    late = StructureRule("a", "bind", nodes=(0,))
    placed = placed_by_plan(
        trace_of(FOUR_PAGES, 2), Plan(structures=(other, mine, late)), machine_of(2)
    )
    assert share_of(placed, 2) == {0: 0.25, 1: 0.75}


def test_a_plan_leaves_pages_of_threads_anywhere_to_chance() -> None:
    trace = trace_of(FOUR_PAGES, 2)
    machine = machine_of(3, without_cpus=(2,))
    nothing = placed_by_plan(trace, Plan(), machine, thread_nodes=nodes(-1, 1))
    anywhere = {0: 0.5, 1: 0.5}
    assert [share_of(nothing, page) for page in range(4)] == [anywhere] * 2 + [{1: 1.0}] * 2
    # For a thread without a node, the nearest node of a rule is the first one.
    bound = plan_of("bind", nodes=(1, 0))
    placed = placed_by_plan(trace, bound, machine, thread_nodes=nodes(-1, 0))
    assert [share_of(placed, page) for page in range(4)] == [{1: 1.0}] * 2 + [{0: 1.0}] * 2


def test_a_page_that_nobody_accessed_or_touched_is_not_placed() -> None:
    trace = trace_of([(0, 0, 1, 0), (1, 0, 0, 0)], 1, first_touch=[])
    assert touched_pages(trace)["page"].to_list() == [0]


def test_a_node_whose_distance_is_not_known_is_the_farthest() -> None:
    known = ((1.0, None, 3.0), (None, 1.0, None), (2.0, 1.5, 1.0))
    factors = Matrix(known, ASSUMED)
    machine = replace(machine_of(3), latencies=(), factors=(factors,))
    assert _by_distance(machine, 0) == [0, 2, 1]
    assert _by_distance(machine, 1) == [1, 2, 0]
    assert _by_distance(machine, 2) == [2, 1, 0]


def test_a_part_of_a_plan_is_of_the_bytes_of_the_pages_own_block() -> None:
    trace = trace_of(FOUR_PAGES, 2)
    plan = plan_of("parts", nodes=(1, 0), parts=(0.0, 0.5, 1.0))

    def placed(size: int) -> list[int]:
        blocks = [(0, 0, 0, size)]
        trace.__dict__["instances"] = pl.DataFrame(blocks, schema=BLOCKS, orient="row")
        found = placed_by_plan(trace, plan, machine_of(2)).sort("page")
        return [int(node) for node in found["node"]]

    assert placed(0) == placed(4 * 4096) == [1, 1, 0, 0]  # 0: not known
    assert placed(8 * 4096) == [1, 1, 1, 1]
    assert placed(4096) == [0, 0, 0, 0]  # the middle of page 0 is at one half
    assert placed(4097) == [1, 0, 0, 0]


def test_a_plan_for_another_machine_is_refused() -> None:
    trace = trace_of(FOUR_PAGES, 2)
    with pytest.raises(NumascapeError, match="node 7"):
        placed_by_plan(trace, plan_of("bind", nodes=(7,)), machine_of(2))
    with pytest.raises(NumascapeError, match="CPU 99"):
        nodes_by_plan(trace, Plan(threads=(ThreadRule((99,), order="0"),)), machine_of(2))


def test_a_plans_threads_run_where_it_says() -> None:
    trace = trace_of(FOUR_PAGES, 4)
    rules = (
        ThreadRule((3,), order="0"),
        ThreadRule((0, 2), order="0-2"),
        ThreadRule((1, 3), name="t3", together=True),
    )
    # The second rule also names thread 0, but the first one applies.
    assert nodes_by_plan(trace, Plan(threads=rules), machine_of(2)).tolist() == [1, 1, 0, -1]
    # With twice the number of threads, two threads take the place of one.
    plan = Plan(threads=(ThreadRule((2, 0), order="0-1"),), recorded_threads=2)
    assert nodes_by_plan(trace, plan, machine_of(2)).tolist() == [1, 1, 0, 0]


def test_threads_are_laid_out_in_blocks_or_in_turn() -> None:
    machine = machine_of(2, 4, first=3)
    assert laid_out(4, machine).tolist() == [3, 3, 4, 4]
    assert laid_out(16, machine).tolist() == [3] * 8 + [4] * 8
    assert laid_out(4, machine, "scatter").tolist() == [3, 4, 3, 4]
    assert laid_out(10, open_machine("xeon-x7550"), "numbered").tolist() == [0, 1, 2, 3] * 2 + [
        0,
        1,
    ]
    assert laid_out(2, machine, "anywhere").tolist() == [-1, -1]
    assert laid_out(0, machine).tolist() == []


def test_replacing_structures_leaves_the_others() -> None:
    trace = trace_of(FOUR_PAGES, 2)
    base = first_touch(trace, machine_of(2), nodes(0, 1))
    other = interleave(trace, machine_of(2))
    assert replaced(base, other, []).equals(base)
    assert replaced(base, other, [0]).equals(other)


def test_a_thread_map_names_nodes_by_line_or_by_thread(tmp_path: Path) -> None:
    file = tmp_path / "map"
    file.write_text("1 # main\n\n0\n-1\n")
    assert read_thread_map(file, 4).tolist() == [1, 0, -1, -1]
    file.write_text("2 1\n0 0\n")
    assert read_thread_map(file, 3).tolist() == [0, -1, 1]
    for text, wrong in (("x\n", "expected"), ("9 0\n", "no thread 9"), ("1 2 3\n", "expected")):
        file.write_text(text)
        with pytest.raises(NumascapeError, match=wrong):
            read_thread_map(file, 3)
