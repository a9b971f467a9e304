# SPDX-License-Identifier: Apache-2.0
"""Every form of access counts on the pages that it touches, and on no other."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

HEADER = Path(__file__).parent / "programs" / "instruction_cases.h"
CASES = re.findall(r"^CASE\((\w+),", HEADER.read_text(), re.MULTILINE)
LEAVE = "enter_and_leave"  # enter pushes, but leave reads relative to rbp
ON_THE_STACK = {
    "push_and_pop",
    "push_and_pop_memory",
    "push_and_pop_flags",
    "call_and_return",
    "call_through_memory",
    "red_zone_survives",
    "stack_pointer_operands",
}


@pytest.fixture(scope="module")
def recording(record: Any) -> Any:
    return record("instructions")


@pytest.fixture(scope="module")
def recording_without_stack(record: Any) -> Any:
    return record("instructions", no_stack=True)


def counted(recording: Any, array: str, case: dict[str, Any]) -> list[list[int]]:
    pages = recording.pages(array)
    first = case["first_page"]
    return [list(pages.get(first + i, (0, 0))) for i in range(len(case[array]))]


def expected_of(recording: Any, name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(recording.output)[name]
    if not case["supported"]:
        pytest.skip("this CPU has no such instruction")
    return case


@pytest.mark.parametrize("name", CASES)
def test_case_counts_exactly(recording: Any, name: str) -> None:
    case = expected_of(recording, name)
    for array in ("source", "target"):
        assert counted(recording, array, case) == case[array], array


@pytest.mark.parametrize("name", sorted(set(CASES) - ON_THE_STACK - {LEAVE}))
def test_no_stack_keeps_everything_else(recording_without_stack: Any, name: str) -> None:
    case = expected_of(recording_without_stack, name)
    for array in ("source", "target"):
        assert counted(recording_without_stack, array, case) == case[array], array


@pytest.mark.parametrize("name", sorted(ON_THE_STACK))
def test_no_stack_leaves_out_the_stack(recording_without_stack: Any, name: str) -> None:
    case = expected_of(recording_without_stack, name)
    assert counted(recording_without_stack, "source", case) == case["source"]
    without_first_page = [[0, 0], *case["target"][1:]]
    assert counted(recording_without_stack, "target", case) == without_first_page
