# SPDX-License-Identifier: Apache-2.0
"""A recording of a running process is planned by addresses, also for memory without a name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from numascape.live.mappings import Mapping
from numascape.live.parts import Part
from numascape.live.policies import STAYS
from numascape.machine import Machine, open_machine
from numascape.placement.planning import make_plan
from numascape.prediction.layout import nodes_by_plan
from numascape.prediction.policies import placed_by_plan
from numascape.trace import Trace
from numascape.tuning.addresses import LivingTrace, living_trace
from numascape.tuning.placements import known_rules, placements
from synthetic.in_memory import trace_of
from synthetic.pattern import DOUBLES, Pattern

PAGE = 4096
PAGES = 4096
HEAP, TENSORS, STACK = 1 << 40, 1 << 41, 1 << 42
PARTS = (
    Part(0, HEAP, HEAP + PAGES * PAGE, PAGE, "heap", "heap"),
    Part(1, TENSORS, TENSORS + PAGES * PAGE, PAGE, "blk.0.weight", "tensor", "/m.gguf", 0),
    Part(1, TENSORS + PAGES * PAGE, TENSORS + 2 * PAGES * PAGE, PAGE, "blk.1.weight", "tensor",
         "/m.gguf", 1),
    Part(2, STACK, STACK + 16 * PAGE, PAGE, "stack of thread 4001 (worker)", "stack"),
)  # fmt: skip
MAPPINGS = (
    Mapping(HEAP, HEAP + PAGES * PAGE, "rw-p", 0, "0:0", 0, "[heap]"),
    Mapping(TENSORS, TENSORS + 2 * PAGES * PAGE, "r--s", 0, "8:1", 7, "/m.gguf"),
    Mapping(STACK, STACK + 16 * PAGE, "rw-p", 0, "0:0", 0, ""),
)


@pytest.fixture
def trace() -> Trace:
    """Two threads use halves of the heap, and of each tensor; one has a stack. All is on node 0."""
    pattern = Pattern("server", 2)
    half = np.arange(PAGES // 2)
    heap = pattern.structure("heap", PAGES, named=False, function="", file="", line=0)
    model = pattern.structure("m.gguf", 2 * PAGES, kind="mapping", function="", file="", line=0)
    rest = pattern.structure("anonymous mapping", 16, kind="mapping", named=False, function="",
                             file="", line=0)  # fmt: skip
    for number, address in ((heap, HEAP), (model, TENSORS), (rest, STACK)):
        size = pattern.structures[number]["size"]
        pattern.instances.append((number, 0, address, size))
    for thread in range(2):
        own = half + thread * (PAGES // 2)
        pattern.access(heap, own, thread, 400 * DOUBLES, 400 * DOUBLES)
        pattern.access(model, own, thread, 400 * DOUBLES, 0)
        pattern.access(model, own + PAGES, thread, 400 * DOUBLES, 0)
    pattern.access(rest, np.arange(16), 1, DOUBLES, DOUBLES)
    for number, pages in ((heap, PAGES), (model, 2 * PAGES), (rest, 16)):
        pattern.touch(number, np.arange(pages), 0)
    return trace_of(pattern)


@pytest.fixture
def living(trace: Trace) -> LivingTrace:
    return living_trace(trace, trace.info.processes[0].pid, MAPPINGS, PARTS)


@pytest.fixture
def machine() -> Machine:
    made = open_machine("node:2 core:1 pu:1")
    return replace(made, nodes=tuple(replace(node, memory_bytes=1 << 33) for node in made.nodes))


def test_no_access_is_lost(trace: Trace, living: LivingTrace) -> None:
    count = pl.col("reads").sum(), pl.col("writes").sum()
    assert living.accesses.select(count).row(0) == trace.accesses.select(count).row(0)
    assert living.placement.height == trace.placement.height


def test_pages_belong_to_the_parts_in_which_they_lie(living: LivingTrace) -> None:
    names = living.structures["name"].to_list()
    used = {
        names[number]: sorted(rows["page"].to_list())
        for (number,), rows in living.accesses.group_by("structure")
    }
    assert used == {
        "heap": list(range(PAGES)),
        "blk.0.weight": list(range(PAGES)),
        "blk.1.weight": list(range(PAGES)),
        "anonymous mapping": list(range(16)),  # a stack, which is not placed
    }


def test_memory_without_a_name_is_placed_where_its_threads_are(
    living: LivingTrace, machine: Machine
) -> None:
    plan = make_plan(living, machine)
    nodes = nodes_by_plan(living, plan, machine)
    assert sorted(nodes.tolist()) == [0, 1]
    rules = known_rules(living, plan)
    planned = placed_by_plan(living, plan, machine, None, nodes)
    found = list(placements(living, MAPPINGS, rules, planned))
    assert sorted((part.start, part.end) for part, _ in found) == [
        (part.start, part.end) for part in PARTS[:3]
    ]
    for part, placement in found:
        addresses = np.arange(part.start, part.end, PAGE, dtype=np.uint64)
        wanted = placement.wanted(part, addresses, np.zeros(PAGES, np.int32))
        assert wanted[: PAGES // 2].tolist() == [nodes[0]] * (PAGES // 2)
        assert wanted[PAGES // 2 :].tolist() == [nodes[1]] * (PAGES // 2)


def test_a_range_in_several_mappings_is_divided_as_a_whole(
    living: LivingTrace, machine: Machine
) -> None:
    middle = HEAP + PAGES // 4 * PAGE
    split = (replace(MAPPINGS[0], end=middle), replace(MAPPINGS[0], start=middle), *MAPPINGS[1:])
    plan = make_plan(living, machine)
    nodes = nodes_by_plan(living, plan, machine)
    rules = known_rules(living, plan)
    planned = placed_by_plan(living, plan, machine, None, nodes)
    wanted = [
        placement.wanted(part, np.arange(part.start, part.end, PAGE, dtype=np.uint64),
                         np.zeros((part.end - part.start) // PAGE, np.int32))
        for part, placement in placements(living, split, rules, planned)
        if part.start < TENSORS
    ]  # fmt: skip
    assert [len(one) for one in wanted] == [PAGES // 4, 3 * PAGES // 4]
    assert np.concatenate(wanted).tolist() == [nodes[0]] * (PAGES // 2) + [nodes[1]] * (PAGES // 2)


def test_pages_without_accesses_stay_under_first_touch() -> None:
    from numascape.live.policies import PageByPage

    part = PARTS[0]
    used = HEAP + np.arange(4, 8, dtype=np.uint64) * np.uint64(PAGE)
    placement = PageByPage(used, np.array([1, 1, 0, 1], np.int32))
    addresses = HEAP + np.arange(10, dtype=np.uint64) * np.uint64(PAGE)
    wanted = placement.wanted(part, addresses, np.zeros(10, np.int32))
    assert wanted.tolist() == [STAYS] * 4 + [1, 1, 0, 1] + [STAYS] * 2
    # The majority of its pages decides the node of a huge page; the next huge page has no votes.
    huge = np.array([HEAP, HEAP + (2 << 20)], np.uint64)
    assert placement.wanted(part, huge, np.zeros(2, np.int32)).tolist() == [1, STAYS]
