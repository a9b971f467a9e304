# SPDX-License-Identifier: Apache-2.0
"""Mappings are divided into whole pages, each with one name."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from numascape.live.mapping_names import Name, name_mappings
from numascape.live.mappings import Mapping
from numascape.live.parts import Item, divide_mapping, stack_items
from numascape.live.threads import Thread

PAGE = 4096
START = 100 * PAGE


def mapping(pages: int, page_bytes: int = PAGE) -> Mapping:
    return Mapping(
        START, START + pages * page_bytes, "rw-p", 0, "0:0", 0, "", page_bytes=page_bytes
    )


def named(pages: int, *items: tuple[int, int, str]) -> list[tuple[int, int, str]]:
    made = [Item(START + start, START + end, name, "tensor") for start, end, name in items]
    parts = divide_mapping(0, mapping(pages), Name("rest", "file"), made)
    return [((one.start - START) // PAGE, (one.end - START) // PAGE, one.name) for one in parts]


def test_the_rest_has_the_name_of_the_mapping() -> None:
    assert named(8, (2 * PAGE, 4 * PAGE, "a")) == [(0, 2, "rest"), (2, 4, "a"), (4, 8, "rest")]
    assert named(8) == [(0, 8, "rest")]


def test_a_shared_page_belongs_to_whom_most_of_it_is() -> None:
    little = 4 * PAGE + 100
    most = 4 * PAGE + 4000
    assert named(8, (0, little, "a"), (little, 8 * PAGE, "b")) == [(0, 4, "a"), (4, 8, "b")]
    assert named(8, (0, most, "a"), (most, 8 * PAGE, "b")) == [(0, 5, "a"), (5, 8, "b")]


def test_items_may_begin_before_and_end_behind_the_mapping() -> None:
    assert named(4, (-5 * PAGE, PAGE, "a"), (3 * PAGE, 99 * PAGE, "b")) == [
        (0, 1, "a"), (1, 3, "rest"), (3, 4, "b"),
    ]  # fmt: skip


def test_huge_pages_are_not_divided() -> None:
    huge = mapping(3, 2 << 20)
    item = Item(START + PAGE, START + (2 << 20) + PAGE, "a", "tensor")
    parts = divide_mapping(0, huge, Name("rest", "file"), [item])
    assert [(part.end - part.start) >> 21 for part in parts] == [1, 2]
    assert [part.name for part in parts] == ["a", "rest"]


@settings(deadline=None)
@given(st.lists(st.integers(-5 * PAGE, 20 * PAGE), max_size=12), st.integers(1, 16))
def test_parts_are_the_whole_mapping_once(bounds: list[int], pages: int) -> None:
    ordered = sorted(bounds)
    pairs = zip(ordered[::2], ordered[1::2], strict=False)
    items = [Item(START + a, START + b, str(n), "tensor") for n, (a, b) in enumerate(pairs)]
    parts = divide_mapping(0, mapping(pages), Name("rest", "file"), items)
    at = START
    for part in parts:
        assert part.start == at < part.end
        assert part.start % PAGE == 0
        at = part.end
    assert at == START + pages * PAGE


def test_a_stack_is_only_the_beginning_of_a_mapping_that_it_was_joined_with() -> None:
    """The kernel joins a stack with the mapping above it; below it is a guard page."""
    stack = 16 * PAGE
    joined = mapping(1024)
    thread = Thread(7, "worker", 1, 0, 0, (0,), START + 12 * PAGE)
    (name,) = name_mappings([joined], [thread], stack)
    assert name.kind == "mapping"
    items = stack_items(joined, [thread], stack)
    parts = [((one.start - START) // PAGE, (one.end - START) // PAGE, one.kind)
             for one in divide_mapping(0, joined, name, items)]  # fmt: skip
    assert parts == [(0, 16, "stack"), (16, 1024, "mapping")]
    assert name_mappings([mapping(16)], [thread], stack)[0].kind == "stack"
