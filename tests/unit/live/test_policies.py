# SPDX-License-Identifier: Apache-2.0
"""Policies say where pages should be, and refuse nodes that the process may not use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numascape import NumascapeError
from numascape.live.parts import Part
from numascape.live.policies import LARGE_BLOCK, STAYS, MovePolicy, check_nodes, parse_policy

PAGE = 4096
START = 1 << 30


def part(pages: int, kind: str = "mapping", page_bytes: int = PAGE) -> Part:
    return Part(0, START, START + pages * page_bytes, page_bytes, "a", kind)


def wanted(policy: MovePolicy, pages: int, now: int = 0, **about: object) -> list[int]:
    whole = part(pages, **about)  # type: ignore[arg-type]
    addresses = np.arange(whole.start, whole.end, whole.page_bytes, dtype=np.uint64)
    found = policy.wanted(whole, addresses, np.full(len(addresses), now, np.int32))
    return [int(node) for node in found]


def test_small_parts_are_interleaved_page_by_page() -> None:
    assert wanted(MovePolicy("interleave", (0, 2)), 6) == [0, 2, 0, 2, 0, 2]


def test_large_parts_are_interleaved_in_blocks_of_a_huge_page() -> None:
    pages = LARGE_BLOCK // PAGE
    nodes = wanted(MovePolicy("interleave", (0, 1)), 4 * pages)
    assert nodes == [node for block in (0, 1, 0, 1) for node in [block] * pages]
    tensor = wanted(MovePolicy("interleave", tuple(range(8))), 2 * pages, kind="tensor")
    assert len(set(tensor)) == 2


def test_explicit_huge_pages_are_interleaved_whole() -> None:
    assert wanted(MovePolicy("interleave", (0, 1)), 4, page_bytes=LARGE_BLOCK) == [0, 1, 0, 1]


def test_spread_makes_equal_parts_in_order() -> None:
    assert wanted(MovePolicy("spread", (0, 1, 3)), 9) == [0, 0, 0, 1, 1, 1, 3, 3, 3]


def test_parts_are_those_of_a_plan() -> None:
    policy = MovePolicy("parts", (1, 0), parts=(0.0, 0.25, 1.0))
    assert wanted(policy, 8) == [1, 1, 0, 0, 0, 0, 0, 0]


def test_weights_count_pages() -> None:
    assert wanted(MovePolicy("weighted-interleave", (0, 1), weights=(3, 1)), 8) == [0, 0, 0, 1] * 2


@pytest.mark.parametrize("name", ["bind", "local"])
def test_pages_on_one_of_the_nodes_stay(name: str) -> None:
    policy = MovePolicy(name, (1, 2))  # type: ignore[arg-type]
    assert wanted(policy, 4, now=2) == [STAYS] * 4
    assert set(wanted(policy, 4, now=0)) == {1, 2}


def test_policies_are_written_as_words() -> None:
    assert parse_policy("interleave", [0, 1], [1]) == MovePolicy("interleave", (0, 1))
    assert parse_policy("spread:1", [0, 1], [1]) == MovePolicy("spread", (1,))
    assert parse_policy("bind:0-1", [0, 1], []) == MovePolicy("bind", (0, 1))
    assert parse_policy("local", [0, 1], [1]) == MovePolicy("local", (1,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no policy"),
        ("interleaved", "there is no policy"),
        ("bind", "bind:0"),
        ("bind:", "not a list of nodes"),
        ("bind:x", "not a list of nodes"),
        ("bind:0-99999", "not a list of nodes"),
        ("bind:1-0", "names no node"),
        ("local:1", "takes no nodes"),
        ("x" * 1000, "there is no policy"),
    ],
)
def test_what_is_no_policy_is_one_line(text: str, message: str) -> None:
    with pytest.raises(NumascapeError, match=message) as error:
        parse_policy(text, [0, 1], [0])
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


def test_local_needs_threads() -> None:
    with pytest.raises(NumascapeError, match="bind:N"):
        parse_policy("local", [0], [])


def test_nodes_outside_the_cpuset_are_refused() -> None:
    with pytest.raises(NumascapeError, match="it may use 0, 2"):
        check_nodes([0, 1], [0, 2])


@settings(deadline=None)
@given(st.integers(1, 300), st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True))
def test_each_page_gets_one_of_the_nodes(pages: int, nodes: list[int]) -> None:
    for name in ("interleave", "spread"):
        found = wanted(MovePolicy(name, tuple(nodes)), pages)
        assert set(found) <= set(nodes)
        counts = [found.count(node) for node in nodes]
        assert max(counts) - min(counts) <= 1
