# SPDX-License-Identifier: Apache-2.0
"""Plans computed from traces whose tables follow from closed forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numascape.machine import Machine, MachineNode, Matrix, Provenance
from numascape.placement.node_model import node_model
from numascape.placement.planning import make_plan
from numascape.plan import Plan, StructureRule
from numascape.plan.document import decode_plan, encode_plan
from numascape.plan.number_lists import parse_numbers
from numascape.prediction.layout import nodes_by_plan, observed_nodes
from numascape.prediction.load import RunPlacement
from numascape.prediction.model import predict
from numascape.prediction.policies import observed, placed_by_plan
from numascape.prediction.speeds import speeds_of
from numascape.trace import Trace, write_trace
from synthetic.in_memory import trace_of
from synthetic.pattern import PAGE, Pattern
from synthetic.write import info_of

PAGES = 960


def machine(nodes: int = 4, cores: int = 2, without_cpus: int = 0, gigabytes: int = 8) -> Machine:
    """Nodes of one size, all as far from each other; then some of memory only, twice as far."""
    every = nodes + without_cpus
    rows = tuple(
        tuple(1.0 if i == j else 1.5 if j < nodes else 3.0 for j in range(every))
        for i in range(every)
    )
    return Machine(
        f"{nodes} x {cores}",
        tuple(
            MachineNode(
                node,
                tuple(range(node * cores, (node + 1) * cores)) if node < nodes else (),
                gigabytes << 30,
            )
            for node in range(every)
        ),
        factors=(Matrix(rows, Provenance("given")),),
    )


class Program(Pattern):
    """Arrays of `PAGES` pages, each used in one of a few ways by all threads."""

    def __init__(self, threads: int = 8) -> None:
        super().__init__("program", threads)

    @property
    def owner(self) -> Any:
        return np.arange(PAGES) * self.threads // PAGES

    def array(self, name: str, thread: Any, toucher: Any, times: int = 50, **columns: Any) -> None:
        """Each page is used by its `thread` (rows: by several), and first touched by `toucher`."""
        number = self.structure(name, PAGES, **columns)
        for instance in range(columns.get("instances", 1)):
            page = np.arange(PAGES)
            self.access(number, page, thread, 400 * times, 100 * times, instance=instance)
            self.touch(number, page, toucher, instance=instance)

    def info(self) -> dict[str, Any]:
        """As recorded on a machine with one node."""
        one = {"node": 0, "cpus": [0, 1], "memory_bytes": 1 << 35}
        return super().info() | {"machine": {"name": "1 x 2 CPUs", "nodes": [one]}}

    def trace(self) -> Trace:
        return trace_of(self)


def everyone(threads: int = 8) -> Any:
    return np.arange(threads)[:, None]


def rule(plan: Plan, name: str) -> StructureRule:
    return next(rule for rule in plan.structures if rule.name == name)


def node_of_threads(plan: Plan, there: Machine) -> dict[int, int]:
    """The node of each thread that a rule names; each is named once, with all of a node's CPUs."""
    found: dict[int, int] = {}
    for threads in plan.threads:
        on = next(node for node in there.nodes if threads.cpus[0] in node.cpus)
        assert threads.cpus == on.cpus
        assert threads.together
        numbers = parse_numbers(threads.order)
        assert not set(numbers) & set(found)
        found |= dict.fromkeys(numbers, on.node)
    return found


def bytes_by_node(trace: Trace, plan: Plan, there: Machine) -> dict[int, float]:
    """The pages that the plan puts on each node, as predictions place them."""
    placed = placed_by_plan(trace, plan, there)
    return {
        int(node): float(share) * PAGE
        for node, share in placed.select("node", "share").group_by("node").sum().iter_rows()
    }


def test_what_threads_use_in_parts_is_divided_among_their_nodes() -> None:
    program = Program()
    program.array("field", program.owner, 0)
    plan = make_plan(program.trace(), machine())
    assert node_of_threads(plan, machine()) == {t: t // 2 for t in range(8)}
    field = rule(plan, "field")
    assert (field.policy, field.nodes, field.kind) == ("parts", (0, 1, 2, 3), "heap")
    assert field.parts == pytest.approx((0, 0.25, 0.5, 0.75, 1), abs=1 / PAGES)
    assert (field.function, field.file, field.line) == ("main", "program.c", 40)


def test_what_all_threads_use_is_interleaved() -> None:
    program = Program()
    program.array("shared", everyone(), 0)
    assert rule(make_plan(program.trace(), machine()), "shared") == StructureRule(
        *("shared", "interleave", "heap", "main", "program.c", 40),
        nodes=(0, 1, 2, 3),
        bytes=PAGES * PAGE,
    )


def test_what_one_node_uses_lies_there() -> None:
    program = Program()
    program.array("mine", 5, 0)
    for i in range(4):
        program.array(f"field {i}", program.owner, 0)
    plan = make_plan(program.trace(), machine())
    assert (rule(plan, "mine").policy, rule(plan, "mine").nodes) == ("preferred", (2,))


def test_what_its_users_touch_first_is_left_to_first_touch() -> None:
    program = Program()
    program.array("field", program.owner, program.owner)
    plan = make_plan(program.trace(), machine())
    assert rule(plan, "field").policy == "first-touch"
    assert node_of_threads(plan, machine()) == {t: t // 2 for t in range(8)}


def test_several_chunks_of_a_thread_are_several_parts() -> None:
    program = Program()
    program.array("buckets", np.concatenate([program.owner[::2], program.owner[::2]]), 0)
    buckets = rule(make_plan(program.trace(), machine()), "buckets")
    assert buckets.nodes == (0, 1, 2, 3, 0, 1, 2, 3)
    assert buckets.parts == pytest.approx(np.linspace(0, 1, 9), abs=1 / PAGES)


def test_threads_that_share_run_on_one_node() -> None:
    program = Program()
    partner = (program.owner + 4) % 8
    program.array("halves", np.stack([program.owner, partner]), 0)
    nodes = node_of_threads(make_plan(program.trace(), machine()), machine())
    assert all(nodes[t] == nodes[t + 4] for t in range(4))
    assert sorted(nodes.values()) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_no_core_gets_more_threads_than_it_must() -> None:
    program = Program(threads=13)
    program.array("field", program.owner, 0)
    there = machine(nodes=2, cores=3)
    nodes = node_of_threads(make_plan(program.trace(), there), there)
    assert set(nodes) == set(range(13))
    assert max(np.bincount(list(nodes.values()))) <= 3 * 3


def test_a_thread_that_waits_needs_no_core() -> None:
    program = Program(threads=9)  # main and eight workers
    program.array("field", 1 + np.arange(PAGES) * 8 // PAGES, 0)
    nodes = node_of_threads(make_plan(program.trace(), machine()), machine())
    assert {t: nodes[t] for t in range(1, 9)} == {t: (t - 1) // 2 for t in range(1, 9)}


def test_nodes_are_not_filled_beyond_their_free_memory() -> None:
    program = Program()
    program.array("field", program.owner, 0)
    program.array("shared", everyone(), 0)
    trace = program.trace()
    for small in (0, 100, 300):
        free = {0: small * PAGE, 1: PAGES * PAGE, 2: PAGES * PAGE, 3: PAGES * PAGE}
        plan = make_plan(trace, machine(), free)
        for node, taken in bytes_by_node(trace, plan, machine()).items():
            assert taken <= free[node] * 1.03, (small, plan.structures)  # parts of 1 / PAGES


def test_memory_without_cpus_is_used_when_the_rest_is_full() -> None:
    program = Program()
    program.array("field", program.owner, 0)
    program.array("shared", everyone(), 0)
    there = machine(nodes=2, cores=4, without_cpus=1)
    plan = make_plan(program.trace(), there)
    assert {node for structure in plan.structures for node in structure.nodes} == {0, 1}
    model = node_model(there, speeds_of(there), {0: 100, 1: 200, 2: 900})
    assert model.nodes_for(150).tolist() == [0, 1]
    assert model.nodes_for(210).tolist() == [0, 1, 2]
    assert model.nodes_for(390).tolist() == [1, 2]
    shares = model.spilled(np.array([150.0, 200.0, 0.0]), model.room)
    assert shares[0] == pytest.approx([100 / 150, 0, 50 / 150])
    assert shares[1].tolist() == [0, 1, 0]


def test_one_node_needs_no_plan() -> None:
    program = Program()
    program.array("field", program.owner, 0)
    plan = make_plan(program.trace(), machine(nodes=1, cores=8))
    assert (plan.threads, plan.structures, plan.environment) == ((), (), {})
    assert (plan.program, plan.recorded_threads) == ("program", 8)


def test_stacks_small_blocks_runtimes_and_constants_are_not_placed() -> None:
    program = Program()
    program.array("field", program.owner, 0)
    program.array("Stack#0", everyone(), 0, kind="stack")
    program.array("nodes", everyone(), 0, kind="small")
    program.array("OpenMP runtime", everyone(), 0, function="", file="", line=0)
    program.array("libm.so.6 (code)", everyone(), 0, kind="mapping", function="")
    program.array("anonymous mapping", everyone(), 0, kind="mapping", function="", named=False)
    program.array("_IO_lock", everyone(), 0, kind="global", module="/lib/libc.so.6")
    program.array("bad\nname", everyone(), 0)
    constant = program.structure("table", PAGES, kind="global")
    program.access(constant, np.arange(PAGES), everyone(), 20_000, 0)
    plan = make_plan(program.trace(), machine())
    assert [structure.name for structure in plan.structures] == ["field"]
    assert plan.environment == {"OMP_PROC_BIND": "false"}


def test_instances_are_folded_onto_the_same_fractions() -> None:
    program = Program()
    program.array("blocks", program.owner, 0, instances=3)
    quarter = program.structure("small ones", PAGES, instances=2)
    for instance, pages in enumerate((PAGES, PAGES // 4)):
        page = np.arange(pages)
        program.access(quarter, page, page * 8 // pages, 20_000, 0, instance=instance)
        program.touch(quarter, page, 0, instance=instance)
        program.instances.append((quarter, instance, (instance + 1) << 30, pages * PAGE))
    plan = make_plan(program.trace(), machine())
    for name in ("blocks", "small ones"):
        assert rule(plan, name).nodes == (0, 1, 2, 3)
        assert rule(plan, name).parts == pytest.approx((0, 0.25, 0.5, 0.75, 1), abs=0.01)


def test_fractions_are_of_the_block_and_not_of_its_pages() -> None:
    program = Program()
    program.array("block", program.owner, 0)
    program.structures[0]["size"] = size = (PAGES - 1) * PAGE
    program.instances.append((0, 0, (1 << 30) + 16, size))  # as malloc gives it
    posts = rule(make_plan(program.trace(), machine()), "block").parts
    first_pages = [(post * size + 16) / PAGE for post in posts[1:-1]]
    assert first_pages == pytest.approx([PAGES / 4, PAGES / 2, 3 * PAGES / 4], abs=0.01)


def test_the_process_with_most_accesses_is_planned(tmp_path: Path) -> None:
    program = Program()
    program.array("field", 4 + np.arange(PAGES) * 4 // PAGES, 4, process=1)
    program.array("script", 0, 0, times=1)
    tables = program.tables()
    process = (tables["threads"]["thread"] >= 4).cast(int)
    tables["threads"] = tables["threads"].with_columns(process=process.cast(pl.UInt32))
    info = info_of(program.info())
    child = replace(info.processes[0], process=1, pid=4001)
    write_trace(tmp_path / "two", tables, replace(info, processes=(*info.processes, child)))
    plan = make_plan(Trace.read(tmp_path / "two"), machine())
    assert plan.recorded_threads == 4
    assert node_of_threads(plan, machine()) == {0: 0, 1: 1, 2: 2, 3: 3}
    assert [structure.name for structure in plan.structures] == ["field"]


def test_a_larger_run_with_more_threads_has_the_same_plan() -> None:
    small, large = Program(threads=16), Program(threads=64)
    for program in (small, large):
        program.array("field", program.owner, 0)
        program.array("shared", everyone(program.threads), 0)
    there = machine(cores=4)
    plans = [
        make_plan(small.trace(), there),
        make_plan(large.trace(), there),
    ]
    assert plans[0].structures == plans[1].structures
    trace = large.trace()
    assert np.array_equal(
        nodes_by_plan(trace, plans[0], there), nodes_by_plan(trace, plans[1], there)
    )


def seconds(trace: Trace, plan: Plan, there: Machine) -> float:
    nodes = nodes_by_plan(trace, plan, there)
    return predict(
        trace, there, RunPlacement(placed_by_plan(trace, plan, there), nodes, label="plan")
    ).seconds


@pytest.mark.slow  # plans for a dozen random runs
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    threads=st.integers(1, 12),
    nodes=st.integers(2, 4),
    cores=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
def test_plans_are_valid_and_never_predicted_worse(
    threads: int, nodes: int, cores: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    program = Program(threads=threads)
    ways = [program.owner, everyone(threads), 0, random.integers(0, threads, PAGES)]
    for i in range(4):
        user = ways[int(random.integers(len(ways)))]
        toucher = 0 if random.random() < 0.6 else program.owner
        program.array(f"array {i}", user, toucher, int(random.integers(1, 100)))
    trace = program.trace()
    there = machine(nodes, cores)
    plan = make_plan(trace, there)
    assert decode_plan(encode_plan(plan), "it") == plan
    named = node_of_threads(plan, there)
    assert set(named) == (set(range(threads)) if plan.threads else set())
    on = observed_nodes(trace, there)
    before = predict(
        trace, there, RunPlacement(observed(trace, there, on), on, label="observed")
    ).seconds
    interleaved = [
        replace(structure, policy="interleave", nodes=tuple(range(nodes)), parts=())
        for structure in plan.structures
    ]
    planned = seconds(trace, plan, there)
    assert planned <= before * (1 + 1e-9)
    assert planned <= seconds(trace, Plan(structures=tuple(interleaved)), there) * (1 + 1e-9)
