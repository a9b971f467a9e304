# SPDX-License-Identifier: Apache-2.0
"""How much memory a plan needs on each node, from its rules alone and for a recorded run."""

from __future__ import annotations

from typing import Any

import pytest

from numascape.errors import NumascapeError
from numascape.placement.planned_bytes import planned_bytes, planned_bytes_of_run
from numascape.plan import Plan, StructureRule, ThreadRule
from unit.prediction.made_up import machine_of, trace_of

MACHINE = machine_of(3, without_cpus=(2,))


def bytes_of(policy: str, *threads: ThreadRule, **fields: Any) -> dict[int, int]:
    rule = StructureRule("a", policy, **{"bytes": 1200, **fields})  # type: ignore[arg-type]
    return planned_bytes(Plan(structures=(rule,), threads=threads), MACHINE)


def test_first_touch_spreads_over_the_nodes_of_the_threads() -> None:
    # CPUs 0 and 1 are node 0's, 2 and 3 node 1's.
    assert bytes_of("first-touch", ThreadRule((3,)), ThreadRule((2,))) == {1: 1200}
    assert bytes_of("first-touch", ThreadRule((0, 1, 2))) == {0: 600, 1: 600}
    assert bytes_of("first-touch") == {0: 600, 1: 600}
    assert bytes_of("interleave") == {0: 600, 1: 600}


def test_rules_divide_their_structure() -> None:
    assert bytes_of("interleave", nodes=(0, 1, 2)) == {0: 400, 1: 400, 2: 400}
    assert bytes_of("weighted-interleave", nodes=(0, 2), weights=(3, 1)) == {0: 900, 2: 300}
    assert bytes_of("bind", nodes=(2, 0)) == {2: 1200}
    assert bytes_of("preferred", nodes=(1, 0)) == {1: 1200}
    parts = bytes_of("parts", nodes=(0, 1, 0), parts=(0.0, 0.25, 0.75, 1.0))
    assert parts == {0: 600, 1: 600}


def test_structures_add_up_and_less_than_a_byte_is_nothing() -> None:
    one = StructureRule("a", "bind", nodes=(0,), bytes=100)
    other = StructureRule("b", "interleave", nodes=(0, 1), bytes=1)
    assert planned_bytes(Plan(structures=(one, other, one)), MACHINE) == {0: 200}


def test_a_plan_that_cannot_be_added_up_is_refused() -> None:
    for plan, wrong in (
        (Plan(structures=(StructureRule("a", "bind", nodes=(0,)),)), "how large its structures"),
        (
            Plan((ThreadRule((9,)),), (StructureRule("a", "bind", nodes=(0,), bytes=1),)),
            "the plan names CPU 9",
        ),
        (
            Plan(structures=(StructureRule("a", "bind", nodes=(7,), bytes=1),)),
            "the plan puts memory on node 7",
        ),
    ):
        with pytest.raises(NumascapeError, match=wrong):
            planned_bytes(plan, MACHINE)


def test_all_pages_of_a_run_count() -> None:
    trace = trace_of([(page, 0, 1, 0) for page in range(3)], 1)
    plan = Plan(structures=(StructureRule("a", "interleave", nodes=(1, 2)),))
    assert planned_bytes_of_run(plan, trace, MACHINE) == {1: 6144, 2: 6144}
    assert planned_bytes_of_run(Plan(), trace, MACHINE) == {0: 3 * 4096}
