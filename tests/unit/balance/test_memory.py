# SPDX-License-Identifier: Apache-2.0
"""The memory of tasks: in files of vt and LBAF, and as a hard cap."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import brotli
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numascape.balance import Options, Problem, Target, TaskGraph, flat_target, task_graph
from numascape.balance.formats import read_graph, write_lbaf_mapping
from numascape.balance.generators import mesh
from numascape.balance.graph import NO_BLOCK
from numascape.errors import NumascapeError
from numascape.machine import open_machine

Numascape = Callable[..., tuple[int, str, str]]
MIB = 1 << 20


def task(number: int, rank: int, load: float = 1.0, **user_defined: Any) -> dict[str, Any]:
    return {
        "entity": {"id": number, "type": "object", "migratable": True},
        "node": rank, "resource": "cpu", "time": load, "user_defined": user_defined,
    }  # fmt: skip


def vt_files(folder: Path, ranks: list[list[dict[str, Any]]]) -> Path:
    for rank, tasks in enumerate(ranks):
        document = {"type": "LBDatafile", "phases": [{"id": 0, "tasks": tasks}]}
        (folder / f"data.{rank}.json").write_text(json.dumps(document))
    return folder / "data.0.json"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Two blocks of 40 MiB on rank 0, each used by three tasks, and two other tasks there."""
    first = [
        task(n, 0, task_footprint_bytes=float(MIB), task_working_bytes=2.0 * MIB * (1 + n % 2),
             task_serialized_bytes=1024.0, shared_id=float(10 + n // 3), shared_bytes=40.0 * MIB,
             rank_working_bytes=5.0 * MIB, colour="blue")
        for n in range(6)
    ]  # fmt: skip
    alone = [task(n, 0, shared_id=-1.0, rank_working_bytes=5.0 * MIB) for n in (6, 7)]
    return vt_files(tmp_path, [first + alone, [task(9, 1, rank_working_bytes=7.0 * MIB)]])


def plain_target(cores: int, limit: float) -> Target:
    return Target(
        "two", np.zeros(cores, np.uint32), np.ones((1, 1)), core_memory=np.full(cores, limit)
    )


def test_memory_is_read_from_vts_files(shared: Path) -> None:
    graph = read_graph(shared, 2)
    assert graph.memory.tolist() == [MIB] * 6 + [0] * 3
    assert graph.working.tolist() == [2 * MIB, 4 * MIB] * 3 + [0] * 3
    assert graph.migrated_bytes.tolist() == [1024] * 6 + [0] * 3
    assert graph.block.tolist() == [0, 0, 0, 1, 1, 1] + [NO_BLOCK] * 3
    assert graph.block_bytes.tolist() == [40 * MIB] * 2
    assert graph.core_memory_taken.tolist() == [5 * MIB, 7 * MIB]


def test_a_shared_block_counts_once_on_each_core(shared: Path) -> None:
    problem = Problem(read_graph(shared, 2), plain_target(2, 60.0 * MIB))
    now = problem.measure(problem.graph.core)
    # Two blocks, six footprints, the largest working size, and the process itself.
    assert now.core_memory == (2 * 40 + 6 + 4 + 5) * MIB
    assert (now.core_memory_overflow, now.cores_over) == (35 * MIB, 1)
    split = problem.measure(np.array([0, 0, 1, 0, 0, 0, 0, 0, 1], np.uint32))
    assert split.core_memory == (2 * 40 + 5 + 4 + 5) * MIB
    apart = problem.measure(np.array([0, 0, 0, 1, 1, 1, 0, 0, 1], np.uint32))
    assert (apart.core_memory, apart.cores_over) == ((40 + 3 + 4 + 7) * MIB, 0)


def test_incumbent_keeps_the_cap_and_blocks_together(shared: Path) -> None:
    problem = Problem(read_graph(shared, 2), plain_target(2, 60.0 * MIB))
    balanced = problem.run()
    assert balanced.metrics.cores_over == 0
    assert balanced.metrics.migrations == 3
    assert len(set(balanced.mapping[:3])) == 1
    assert balanced.metrics.imbalance <= 1.12


def memory_problem(random: np.random.Generator, tasks: int, cores: int) -> tuple[TaskGraph, float]:
    """Tasks with blocks, and the memory of the core that needs most now."""
    blocks = random.integers(1, 6)
    block = random.integers(0, blocks, tasks).astype(np.uint32)
    block[random.random(tasks) < 0.3] = NO_BLOCK
    messages = 2 * tasks
    graph = task_graph(
        random.lognormal(0.0, 1.0, tasks), random.integers(0, cores, tasks),
        random.integers(0, tasks, messages), random.integers(0, tasks, messages),
        memory=random.integers(0, 5, tasks),
    )  # fmt: skip
    fields = {
        **graph.__dict__,
        "working": random.integers(0, 5, tasks).astype(np.float64),
        "block": block,
        "block_bytes": random.integers(0, 30, blocks).astype(np.float64),
        "core_memory_taken": random.integers(0, 3, cores).astype(np.float64),
    }
    graph = TaskGraph(**fields)
    used = Problem(graph, plain_target(cores, 1e9)).measure(graph.core).core_memory
    return graph, used


@given(st.integers(0, 1 << 20), st.integers(1, 40), st.integers(2, 6))
@settings(max_examples=50, deadline=None)
def test_what_is_within_the_cap_stays_so(seed: int, tasks: int, cores: int) -> None:
    graph, used = memory_problem(np.random.default_rng(seed), tasks, cores)
    problem = Problem(graph, plain_target(cores, used))
    options = Options(effort=0.05, iterations=10.0, starts=("now", "twolevel", "numalb"))
    balanced = problem.run("incumbent", options)
    assert balanced.metrics.cores_over == 0
    # The metric agrees with its definition.
    largest = 0.0
    for core in range(cores):
        here = balanced.mapping == core
        mine = set(graph.block[here]) - {NO_BLOCK}
        largest = max(
            largest,
            graph.core_memory_taken[core] + graph.memory[here].sum()
            + graph.working[here].max(initial=0) + sum(graph.block_bytes[b] for b in mine),
        )  # fmt: skip
    assert balanced.metrics.core_memory == pytest.approx(largest)


def test_no_node_gets_more_than_its_memory() -> None:
    """The mapping that METIS finds for the nodes does not fit into them."""
    graph = mesh(20, 8)
    graph = replace(graph, memory=np.full(400, 10.0))
    for sizes in ([1000.0] * 4, [2000.0, 2000.0, 300.0, 300.0]):
        target = replace(flat_target(4, 2, 2.0), node_memory=np.array(sizes))
        problem = Problem(graph, target)
        balanced = problem.run(options=Options(iterations=1000.0))
        needed = np.bincount(target.core_node[balanced.mapping], graph.memory, 4)
        now = np.bincount(target.core_node[graph.core], graph.memory, 4)
        assert (needed <= np.maximum(sizes, now)).all()
        assert balanced.metrics.migrations > 0


def test_many_tasks_are_moved_into_their_memory() -> None:
    """There are too many tasks for annealing, and one core has far too much memory."""
    tasks, cores = 9000, 16
    core = np.arange(tasks) % cores
    core[:3000] = 0
    graph = task_graph(np.full(tasks, 1.0), core, memory=np.full(tasks, 10.0))
    problem = Problem(graph, plain_target(cores, 6000.0))
    balanced = problem.run()
    assert problem.measure(graph.core).cores_over == 1
    assert balanced.metrics.cores_over == 0
    assert balanced.metrics.imbalance <= 1.06


def test_a_cap_that_nothing_can_keep_is_one_line(shared: Path) -> None:
    graph = read_graph(shared, 2)
    with pytest.raises(NumascapeError, match="task 0 needs 43 MiB, but no core has more than 25"):
        Problem(graph, plain_target(2, 30.0 * MIB)).run()
    together = Problem(
        task_graph([1] * 4, [0] * 4, memory=[10 * MIB] * 4), plain_target(2, 15.0 * MIB)
    )
    with pytest.raises(NumascapeError, match="need 40 MiB together, but all cores have 30 MiB"):
        together.run()


def test_the_table_names_who_exceeds_the_cap(numascape: Numascape, shared: Path) -> None:
    status, output, _ = numascape(
        "balance", shared, "-m", "numa:1 core:2 pu:1", "--compare", "--memory-limit", "60M"
    )
    assert status == 0
    lines = {line.split()[0]: line for line in output.splitlines()[1:]}
    assert lines["now"].split()[-4:] == ["95", "MiB", "1", "core"]
    assert lines["incumbent"].split()[-1] == "MiB"
    assert lines["greedy"].split()[-2:] == ["2", "cores"]
    status, _, errors = numascape(
        "balance", shared, "-m", "numa:1 core:2 pu:1", "--memory-limit", "30M"
    )
    assert (status, errors.count("\n")) == (2, 1)
    assert "no core has more than 25 MiB" in errors


def test_what_programs_define_is_kept(shared: Path) -> None:
    written = write_lbaf_mapping(
        shared.with_name("to.0.json.gz"), shared, np.array([1] * 8 + [0], np.uint32)
    )
    phases = json.loads(gzip.decompress(written[1].read_bytes()))["phases"]
    before = json.loads(shared.read_text())["phases"][0]["tasks"]
    assert [t["user_defined"] for t in phases[1]["tasks"]] == [t["user_defined"] for t in before]
    assert read_graph(written[0], 2).block.tolist() == read_graph(written[1], 2).block.tolist()


@pytest.mark.parametrize("compress", [brotli.compress, gzip.compress])
def test_compressed_files_may_have_any_name(
    shared: Path, compress: Callable[[bytes], bytes]
) -> None:
    plain = read_graph(shared, 2)
    for rank in range(2):
        file = shared.with_name(f"data.{rank}.json")
        file.write_bytes(compress(file.read_bytes()))
    graph = read_graph(shared, 2)
    assert graph.load.tolist() == plain.load.tolist()
    assert graph.block.tolist() == plain.block.tolist()
    other = shared.with_name("anything")
    other.write_bytes(shared.read_bytes())
    assert read_graph(other, 2, "lbaf").tasks == 8
    for rank in range(2):
        shared.with_name(f"data.{rank}.json").rename(shared.with_name(f"old.{rank}.dat"))
    both = read_graph(shared.with_name("old.0.dat"), 2, "lbaf")
    assert both.load.tolist() == plain.load.tolist()


def test_nodes_without_room_for_their_tasks_are_named(numascape: Numascape, shared: Path) -> None:
    small = "package:2 [numa(memory=5242880)] core:1 pu:1"
    status, _, errors = numascape("balance", shared, "-m", small)
    assert status == 0
    assert "note: the tasks on node 0 need 6 MiB, but it has 5 MiB" in errors
    # hwloc invents 1 GiB for nodes without a size.
    assert not any(node.memory_bytes for node in open_machine("package:2 node:1 core:2 pu:1").nodes)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"task_footprint_bytes": -1.0}, "task_footprint_bytes is -1"),
        ({"task_working_bytes": "much"}, "task_working_bytes is not a number"),
        ({"shared_id": 1.0, "shared_bytes": 1e30}, "shared_bytes is 1e"),
    ],
)
def test_wrong_memory_is_refused(tmp_path: Path, values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(NumascapeError, match=complaint):
        read_graph(vt_files(tmp_path, [[task(1, 0, **values)]]), 1)


def test_broken_compressed_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "data.0.json"
    for content, complaint in (
        (gzip.compress(b"{}" * 500)[:-9], "not a complete gzip file"),
        (b"\x1f\x8b\x08" + bytes(40), "not a valid gzip file"),
        (b"\x28\xb5\x2f\xfd" + bytes(9), "compressed by zstd"),
    ):
        file.write_bytes(content)
        with pytest.raises(NumascapeError, match=complaint):
            read_graph(file, 1, "lbaf")
    file.write_bytes(gzip.compress(bytes(64 << 20)))
    with pytest.raises(NumascapeError, match="not a file of vt or LBAF"):
        read_graph(file, 1, "lbaf")
