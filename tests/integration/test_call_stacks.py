# SPDX-License-Identifier: Apache-2.0
"""Call stacks of allocations are distinguished, with any number of them at one place."""

from typing import Any

import polars as pl
import pytest

WORDS = 16 * 4096 // 8
SHARED_WORDS = 512  # on pages that a block shares with others
VECTORS = 300
COMBINED = "more call stacks than the recorder distinguishes"


@pytest.fixture(params=["binary", "compiled"])
def recorded(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("record" if request.param == "binary" else "compiled")


def test_each_of_300_functions_has_its_vector(recorded: Any) -> None:
    trace = recorded("call_stacks", "vectors").trace
    vectors = trace.structures.filter(pl.col("name") == "keep")
    assert vectors["function"].n_unique() == len(vectors) == VECTORS
    counted = trace.accesses.join(vectors, on="structure").group_by("structure")
    sums = counted.agg(pl.col("reads", "writes").sum())
    assert sums["writes"].min() >= WORDS - SHARED_WORDS
    assert len(sums) == VECTORS


@pytest.mark.parametrize(("depth", "is_combined"), [(10, False), (13, True)])
def test_names_of_many_call_stacks(recorded: Any, depth: int, is_combined: bool) -> None:
    recording = recorded("call_stacks", "ways", depth)
    unseen = [words for words in recording.trace.info.unseen if COMBINED in words]
    assert bool(unseen) == is_combined
    if not is_combined:
        # Each block is a page; one word of it is written, in `right` twice.
        names = ["left", "right"]
        found = recording.trace.structures.filter(pl.col("name").is_in(names))
        assert sorted(found["name"]) == names
        assert [recording.total(name)[1] for name in names] == [2**depth, 2 * 2**depth]


def test_memory_that_is_mapped_without_any_caller_has_no_name(record: Any) -> None:
    recording = record("without_callers")
    assert recording.status == 7
    assert recording.total("unknown")[1] == 1 << 17


def test_a_function_without_frame_information_is_passed(record: Any) -> None:
    recording = record("call_stacks", "assembly")
    for name in ("first", "second"):
        assert recording.total(name)[1] >= WORDS - SHARED_WORDS
