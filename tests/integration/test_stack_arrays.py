# SPDX-License-Identifier: Apache-2.0
"""Large arrays on stacks are structures, by variable and function, with exactly their accesses."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

SOURCE = (Path(__file__).parent / "programs" / "stack_arrays.c").read_text().splitlines()
WORDS, PAGES = 512, 8
INSTANCE = ["instance", "address"]
THREADS, TURNS, OFTEN = 3, 100, 10_000
COMPILERS = ["stack_arrays", "stack_arrays_cxx", "stack_arrays_clang", "stack_arrays_probed"]


@pytest.fixture(params=COMPILERS)
def recording(request: pytest.FixtureRequest, record: Any) -> Any:
    return record(request.param)


def whole_pages(
    recording: Any, name: str, process: int = 0, calls: int = 1
) -> list[tuple[float, float]]:
    """Reads and writes of the pages that have only the array, in pages of words.

    The pages at its ends also have other variables, and are not in the list. A function that is
    compiled with -fstack-clash-protection also reads and writes a word of each page in each call.
    """
    is_probed = recording.trace.info.program.endswith("_probed") and process == 0
    probes = calls if is_probed else 0
    row = local(recording, name, process)
    instances = recording.trace.instances.filter(structure=row["structure"])
    # The first page is divided, unless the array begins at its start.
    starts = {i: int(address % 4096 != 0) for i, address in instances.select(INSTANCE).rows()}
    rows = recording.rows(name, process).group_by("instance", "page")
    rows = rows.agg(pl.col("reads", "writes").sum()).sort("instance", "page")
    return [
        ((reads - probes) / WORDS, (writes - probes) / WORDS)
        for instance, page, reads, writes in rows.rows()
        if starts[instance] <= page < starts[instance] + PAGES
    ]


def local(recording: Any, name: str, process: int = 0) -> dict[str, Any]:
    wanted = recording.trace.structures.filter(name=name, kind="local", process=process)
    row: dict[str, Any] = wanted.row(0, named=True)
    return row


def line_of(text: str) -> int:
    return 1 + next(i for i, line in enumerate(SOURCE) if text in line)


def test_arrays_have_their_variable_function_and_line(recording: Any) -> None:
    for name, function in [("once", "call_once"), ("of_main", "main"), ("of_thread", "run_thread")]:
        row = local(recording, name)
        assert (row["function"], row["size"]) == (function, (PAGES + 1) * WORDS * 8)
        assert (Path(row["file"]).name, row["line"]) == (
            "stack_arrays.c",
            line_of(f"double {name}[ROOM]"),
        )


def test_a_frame_that_is_gone_has_no_more_accesses(recording: Any) -> None:
    assert whole_pages(recording, "once") == [(0, 1)] * PAGES
    assert whole_pages(recording, "leaf") == [(0, 1)] * PAGES
    assert whole_pages(recording, "inner") == [(0, 1)] * PAGES
    assert whole_pages(recording, "outer") == [(0, 2)] * PAGES


def test_frames_take_turns_in_the_same_memory(recording: Any) -> None:
    assert whole_pages(recording, "first", calls=TURNS) == [(0, TURNS)] * PAGES
    assert whole_pages(recording, "second", calls=TURNS) == (
        [(TURNS, TURNS)] * (PAGES // 2) + [(TURNS, 0)] * (PAGES // 2)
    )
    assert local(recording, "first")["instances"] == 1


def test_a_function_that_is_called_often_has_all_its_accesses(recording: Any) -> None:
    assert whole_pages(recording, "often", calls=OFTEN) == [(0, OFTEN)] * PAGES


def test_each_call_of_a_recursive_function_has_an_array(recording: Any) -> None:
    counts = whole_pages(recording, "recursive")
    assert counts == ([(0, 2)] + [(0, 1)] * (PAGES - 1)) * 4
    assert local(recording, "recursive")["instances"] == 4


def test_a_frame_that_longjmp_leaves_ends_with_the_next(recording: Any) -> None:
    assert whole_pages(recording, "jumped") == [(0, 1)] * PAGES


def test_threads_have_their_own_arrays(recording: Any) -> None:
    assert whole_pages(recording, "of_thread") == [(0, 1)] * PAGES * THREADS
    assert local(recording, "of_thread")["instances"] == THREADS
    assert whole_pages(recording, "of_main") == [(0, 1 + THREADS)] + [(0, 1)] * (PAGES - 1)


def test_first_touches_are_those_of_the_array(recording: Any) -> None:
    structure = local(recording, "of_main")["structure"]
    touched = recording.trace.first_touch.filter(structure=structure)
    assert set(touched["thread"]) == {0}
    assert touched.select("instance", "page").is_unique().all()
    assert touched.height >= PAGES


def test_a_child_has_the_frames_of_its_parent(recording: Any) -> None:
    assert whole_pages(recording, "of_main", process=1) == [(0, 1)] * PAGES


def test_blocks_that_share_memory_share_a_name(recording: Any) -> None:
    (name,) = recording.trace.structures.filter(function="call_either")["name"]
    # Clang's debug information describes neither of them.
    assert name in {"left or right", "right or left", "frame of call_either()"}
    assert whole_pages(recording, name, calls=2) == [(0, 2)] * PAGES


@pytest.mark.parametrize("program", ["stack_arrays", "stack_arrays_cxx", "stack_arrays_clang"])
def test_arrays_whose_size_is_not_constant(record: Any, program: str) -> None:
    recording = record(program)
    assert whole_pages(recording, "of_data") == [(0, 1)] * PAGES
    assert local(recording, "of_data")["line"] == line_of("double of_data[words]")
    assert whole_pages(recording, "frame of call_alloca()") == [(0, 1)] * PAGES


def test_without_debug_information_frames_have_the_name_of_their_function(record: Any) -> None:
    recording = record("stack_arrays_bare")
    row = local(recording, "frame of call_once()")
    assert not row["named"]
    assert whole_pages(recording, "frame of call_once()") == [(0, 1)] * PAGES


def test_arrays_of_fortran(record: Any) -> None:
    recording = record("stack_arrays_fortran")
    assert whole_pages(recording, "velocity") == [(0, 1)] * PAGES
    assert local(recording, "velocity")["function"].endswith("fixed")
    assert whole_pages(recording, "pressure") == [(0, 1)] * PAGES
