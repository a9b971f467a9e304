# SPDX-License-Identifier: Apache-2.0
"""The CPUs of threads in a run, and the data for the placer."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from numascape.errors import NumascapeError
from numascape.placement.compiling import (
    ThreadCpus,
    UsableResources,
    check_host,
    compile_plan,
    places,
    thread_count,
)
from numascape.plan import Plan, StructureRule, ThreadRule

HOST = UsableResources(tuple(range(8)), {0: (0, 1, 2, 3), 1: (4, 5, 6, 7), 2: ()}, (0, 1, 2))


def cpus(plan: Plan, threads: int = 0, field: str = "order") -> list[tuple[int, ...] | None]:
    found = places(plan, field, threads, HOST)
    return [None if place is None else place.cpus for place in found]


def test_the_kth_thread_of_a_rule_runs_on_its_kth_cpu_and_round_again() -> None:
    plan = Plan(threads=(ThreadRule((4, 0), order="0-2,5"),))
    assert cpus(plan) == [(4,), (0,), (4,), None, None, (0,)]


def test_of_several_rules_the_first_counts() -> None:
    plan = Plan(
        threads=(
            ThreadRule((3,), order="1"),
            ThreadRule((5, 6), order="0-2", together=True),
        )
    )
    assert places(plan, "order", 0, HOST) == [
        ThreadCpus(1, (5, 6)),
        ThreadCpus(0, (3,)),
        ThreadCpus(1, (5, 6)),
    ]


def test_fewer_threads_take_some_of_the_places() -> None:
    plan = Plan(threads=(ThreadRule((0, 2, 4, 6), order="0-3"),), recorded_threads=4)
    assert cpus(plan, 2) == [(0,), (4,)]
    assert cpus(plan, 4) == [(0,), (2,), (4,), (6,)]
    assert cpus(plan, 3) == [(0,), (2,), (4,)]


def test_more_threads_share_places_and_have_their_nodes_cpus() -> None:
    plan = Plan(threads=(ThreadRule((0, 6), order="0-1"),), recorded_threads=2)
    assert cpus(plan, 6) == [(0, 1, 2, 3)] * 3 + [(4, 5, 6, 7)] * 3


def test_openmp_numbers_are_apart_from_orders() -> None:
    plan = Plan(threads=(ThreadRule((7, 6), openmp="0-1"),))
    assert cpus(plan, field="openmp") == [(7,), (6,)]
    assert cpus(plan) == []


@pytest.mark.parametrize(
    ("given", "variable", "rule", "count"),
    [
        (3, "5", "openmp", 3),
        (None, "5", "order", 5),
        (None, "5,2", "order", 5),
        (None, "", "openmp", 8),
        (None, "", "order", 0),
        (None, "many", "order", 0),
    ],
)
def test_the_number_of_threads(given: int | None, variable: str, rule: str, count: int) -> None:
    thread = ThreadRule((0,), openmp="0") if rule == "openmp" else ThreadRule((0,), order="0")
    plan = Plan(threads=(thread,))
    assert thread_count(plan, given, {"OMP_NUM_THREADS": variable}, HOST) == count


def test_cpus_and_nodes_that_are_not_there_are_named() -> None:
    check_host(Plan(structures=(StructureRule("a", "bind", nodes=(2,)),)), HOST, "p")
    with pytest.raises(NumascapeError, match=r"p: threads rule 1 needs CPU 8-9; .* use 0-7$"):
        check_host(Plan(threads=(ThreadRule((8, 9, 1), order="0"),)), HOST, "p")
    with pytest.raises(NumascapeError, match=r"rule 1 \(a\) needs memory of node 3; .* 0-2$"):
        check_host(Plan(structures=(StructureRule("a", "bind", nodes=(0, 3)),)), HOST, "p")


def test_a_long_name_is_cut_where_it_is_named() -> None:
    rule = StructureRule("a" * 61, "bind", nodes=(3,))
    with pytest.raises(NumascapeError, match=rf"rule 1 \({'a' * 60}\) needs memory of node 3;"):
        check_host(Plan(structures=(rule,)), HOST, "p")


def test_the_compiled_plan_is_as_long_as_it_says() -> None:
    plan = Plan(
        threads=(ThreadRule((1, 2), name="w*"), ThreadRule((0,), order="0")),
        structures=(
            StructureRule("a", "parts", nodes=(0, 1), parts=(0, 0.5, 1)),
            StructureRule("Stack#2", "bind", kind="stack", nodes=(1,)),
        ),
        program="/some/where/program",
    )
    compiled = compile_plan(plan, HOST, 0, Path("/s"), Path("/f"), True)
    magic, version, size = struct.unpack_from("<8s2I", compiled.content)
    assert (magic, version, size) == (b"NUMAPLAN", 1, len(compiled.content))
    assert b"program\0" in compiled.content
    assert b"/some" not in compiled.content
    assert compiled.masks[0] == HOST.cpus
    assert set(compiled.masks[1:]) == {(0,), (1,), (2,)}


def test_a_mask_of_cpus_has_words_of_64() -> None:
    def length(cpu: int) -> int:
        host = UsableResources((0, cpu), {0: (0, cpu)}, (0,))
        plan = Plan(threads=(ThreadRule((cpu,), order="0"),))
        return len(compile_plan(plan, host, 0, Path("/s"), Path("/f"), False).content)

    assert length(62) == length(63)
    assert length(64) == length(127) == length(63) + 2 * 8  # nodes of the host and of the rule
