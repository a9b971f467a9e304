# SPDX-License-Identifier: Apache-2.0
"""Thread-local variables of the program are structures; each thread has an instance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

SOURCE = (Path(__file__).parent / "programs" / "thread_variables.c").read_text().splitlines()
WORDS, PAGES, FEW, TIMES = 512, 8, 48, 2000
# The main thread, two threads at the same time, and two threads one after the other.
RUNS = 5


@pytest.fixture(params=["thread_variables", "thread_variables_static", "thread_variables_clang"])
def recording(request: pytest.FixtureRequest, record: Any) -> Any:
    return record(request.param)


def local(recording: Any, name: str, process: int = 0) -> dict[str, Any]:
    wanted = recording.trace.structures.filter(name=name, kind="local", process=process)
    row: dict[str, Any] = wanted.row(0, named=True)
    return row


def whole_pages(recording: Any, name: str, process: int = 0) -> dict[int, list[float]]:
    """The writes of each thread to each page that has only the array, in pages of words.

    The creator of a thread clears the memory of its variables, with less than one write for each
    word.
    """
    row = local(recording, name, process)
    instances = recording.trace.instances.filter(structure=row["structure"])
    found: dict[int, list[float]] = {}
    for instance, address in instances.select("instance", "address").sort("instance").rows():
        first = int(address % 4096 != 0)
        inside = (pl.col("page") >= first) & (pl.col("page") < first + PAGES)
        rows = recording.rows(name, process).filter(pl.col("instance") == instance, inside)
        rows = rows.group_by("thread", "page").agg(pl.col("writes").sum()).sort("thread", "page")
        for thread, _, writes in rows.rows():
            found.setdefault(thread, []).append(writes / WORDS)
    return found


def test_each_thread_has_its_own(recording: Any) -> None:
    row = local(recording, "field")
    assert row["size"] == (PAGES + 1) * WORDS * 8
    assert (Path(row["file"]).name, row["line"]) == (
        "thread_variables.c",
        1 + next(i for i, line in enumerate(SOURCE) if "double field[ROOM]" in line),
    )
    # A later thread may have the stack of a thread that has ended.
    assert 3 <= row["instances"] <= RUNS
    counts = whole_pages(recording, "field")
    assert len(counts) == RUNS
    for thread in range(1, RUNS):
        assert counts[thread] == [1] * PAGES
    assert all(1 <= writes <= 2 for writes in counts[0][:PAGES])


def test_small_ones_have_the_accesses_that_samples_saw(recording: Any) -> None:
    # The rest of their page belongs to the C library and to stacks.
    assert sum(recording.total("corner")) == pytest.approx(RUNS * TIMES * FEW, rel=0.15)
    assert sum(recording.total("left")) == pytest.approx(RUNS * TIMES * 16, rel=0.15)
    assert local(recording, "corner")["size"] == FEW * 8
    assert sum(recording.total("one and two")) < TIMES


def test_a_child_has_those_of_its_parent(recording: Any) -> None:
    assert list(whole_pages(recording, "field", process=1).values()) == [[1] * PAGES]


def test_common_blocks_of_threads(record: Any) -> None:
    recording = record("thread_variables_fortran")
    counts = whole_pages(recording, "/work/ large")
    assert counts[1] == [1] * PAGES
    assert all(1 <= writes <= 2 for writes in counts[0][:PAGES])
