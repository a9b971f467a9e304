# SPDX-License-Identifier: Apache-2.0
"""Parts of memory that a program names are structures, with exactly their accesses."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration.attaching import Attach, running

SOURCE = (Path(__file__).parent / "programs" / "memory_regions.c").read_text().splitlines()
WORDS = 512
POOL = "pool"


@pytest.fixture(params=["record", "compiled"])
def recorded(request: pytest.FixtureRequest) -> Any:
    """Return recorded(mode) -> Recording, by each recorder."""
    recorder = request.getfixturevalue(request.param)
    return lambda mode: recorder("memory_regions", mode)


def in_pages(recording: Any, name: str) -> tuple[float, float]:
    """Reads and writes of the structure, in pages of words."""
    counts = recording.total(name)
    return (counts[0] / WORDS, counts[1] / WORDS)


def instances(recording: Any, name: str) -> list[tuple[int, int]]:
    """The instances of the region: their number, and how many pages each has."""
    structures = recording.trace.structures.filter(name=name, kind="region")
    rows = recording.trace.instances.join(structures, on="structure", how="semi")
    return sorted(rows.select("instance", pl.col("size") // 4096).rows())


def names_of_regions(recording: Any) -> set[str]:
    return set(recording.trace.structures.filter(kind="region")["name"])


def test_pages_of_a_region_have_its_name_until_it_ends(recorded: Any) -> None:
    recording = recorded("mapped")
    assert names_of_regions(recording) == {"cells", "faces"}
    assert in_pages(recording, "cells") == (8, 2)
    assert in_pages(recording, "faces") == (4, 0)
    assert in_pages(recording, POOL) == (64 - 12 + 1, 64 + 8)
    assert instances(recording, "cells") == [(0, 8), (1, 2)]
    assert set(recording.pages("cells")) == set(range(8))


def test_the_place_of_a_region_is_its_first_mark(recorded: Any) -> None:
    recording = recorded("mapped")
    row = recording.trace.structures.filter(name="cells").row(0, named=True)
    line = 1 + next(i for i, text in enumerate(SOURCE) if '"cells", pool + 8' in text)
    assert (Path(row["file"]).name, row["line"]) == ("memory_regions.c", line)
    assert row["function"] == "mapped"


def test_first_touches_before_its_name_belong_to_the_region(recorded: Any) -> None:
    recording = recorded("mapped")
    structures = recording.trace.structures
    touched = recording.trace.first_touch.join(structures, on="structure")
    touched = touched.filter(pl.col("name").is_in(["cells", "faces", POOL]))
    assert dict(touched.group_by("name").len().iter_rows()) == {
        "cells": 8 + 2,
        "faces": 4,
        POOL: 64 - 8 - 4 - 2,
    }


def test_page_faults_before_its_name_belong_to_the_region(record: Any, built: Path) -> None:
    trace = record(built / "memory_regions", "mapped", recorder="faults").trace
    touched = trace.first_touch.join(trace.structures, on="structure").filter(kind="region")
    assert dict(touched.group_by("name").len().iter_rows()) == {"cells": 8 + 2, "faces": 4}


def test_a_region_ends_with_the_block_that_it_is_in(recorded: Any) -> None:
    recording = recorded("freed")
    assert in_pages(recording, "part") == (0, 3 * 8)
    assert instances(recording, "part") == [(0, 8), (1, 8), (2, 8)]
    # The block begins in the page before, where the allocator has accesses of its own.
    pages = {page: reads for page, (reads, _) in recording.pages("block").items()}
    assert {page: reads for page, reads in pages.items() if 1 <= page <= 16} == dict.fromkeys(
        range(9, 17), 3 * WORDS
    )


def test_the_last_region_of_a_page_counts(recorded: Any) -> None:
    recording = recorded("nested")
    assert in_pages(recording, "innermost") == (0, 2)
    assert in_pages(recording, "inner") == (2, 6)
    assert in_pages(recording, "over all") == (0, 0)
    assert in_pages(recording, "overlapping") == (4, 0)
    # At first pages 8 to 31; 0 to 7 after the end of "inner" and "over all"; 28, 29, and 30, 31.
    assert in_pages(recording, "outer") == (8 + 8 + 2 + 2, 24 + 8)
    assert in_pages(recording, POOL) == (2, 0)


def test_pages_that_regions_share_are_divided_by_bytes(recorded: Any) -> None:
    recording = recorded("small")
    kinds = dict(recording.trace.structures.select("name", "kind").iter_rows())
    assert kinds["first halves"] == "small"
    assert recording.pages("first halves") == dict.fromkeys(range(4), (0, WORDS // 2))
    reads, writes = recording.total("uneven")
    assert reads == 0
    # The time before the region begins counts, too.
    assert 2 * WORDS <= writes <= 2.5 * WORDS
    assert in_pages(recording, "whole")[1] + in_pages(recording, "half")[1] == 1
    every = sum(recording.total(name)[1] for name in ("first halves", "uneven", POOL))
    assert every == 8 * WORDS


def test_each_thread_names_its_part(recorded: Any) -> None:
    recording = recorded("threads")
    assert in_pages(recording, "of a thread") == (0, 16)
    by_thread = recording.pages_by_thread("of a thread")
    assert [len(pages) for pages in by_thread.values()] == [4] * 4
    assert len(instances(recording, "of a thread")) == 4


def test_a_child_has_the_regions_of_its_parent(recorded: Any) -> None:
    recording = recorded("forking")
    kept = {process: recording.total("kept", process) for process in (0, 1)}
    assert kept == {0: (0, 4 * WORDS), 1: (4 * WORDS, 4 * WORDS)}
    assert recording.total("outer", 1) == (4 * WORDS, 0)
    processes = recording.trace.structures.filter(name="gone")["process"].to_list()
    assert 1 not in processes


def test_names_are_bounded_and_only_text(recorded: Any) -> None:
    recording = recorded("names")
    assert names_of_regions(recording) == {"x" * 255, "<b>\x1b[31m�"}
    assert in_pages(recording, POOL) == (0, 2)


def test_a_region_ends_what_it_covers(recorded: Any) -> None:
    recording = recorded("reused")
    assert recording.total("turn") == (0, 5000)
    assert len(instances(recording, "turn")) == 5000


def test_names_are_escaped_in_the_terminal(record: Any, command: Path, tmp_path: Path) -> None:
    recording = record("memory_regions", "names")
    shown = subprocess.run(
        [command, "show", recording.trace.path], capture_output=True, text=True, check=True
    )
    assert "<b>" in shown.stdout
    assert "\x1b[31m" not in shown.stdout


def test_the_program_runs_without_a_recorder(programs: Path, built: Path) -> None:
    for program in (programs / "memory_regions", built / "memory_regions"):
        for mode in ("mapped", "nested", "names", "forking"):
            assert subprocess.run([program, mode], timeout=300, check=False).returncode == 0


def test_regions_of_cxx_without_optimisation(record: Any) -> None:
    test_pages_of_a_region_have_its_name_until_it_ends(
        lambda mode: record("memory_regions_cxx", mode)
    )


def test_regions_of_fortran(record: Any) -> None:
    recording = record("memory_regions_fortran")
    assert in_pages(recording, "density") == (0, 8)
    assert in_pages(recording, "energy") == (0, 4)


def test_regions_that_are_told_while_attached(programs: Path, attach: Attach) -> None:
    with running(programs / "memory_regions", "endless") as process:
        recording = attach(process.pid)
    assert names_of_regions(recording) == {"told"}
    reads, writes = recording.total("told")
    assert reads == 0
    assert writes >= 4 * WORDS
    for pages in recording.pages_by_thread("told").values():
        assert set(pages) == set(range(4))


def test_phases_do_not_turn_regions_off(record: Any) -> None:
    recording = record("memory_regions", "mapped", phases="none")
    assert in_pages(recording, "cells") == (8, 2)
    assert re.fullmatch(r"\w+", recording.trace.structures.filter(kind="region")["name"][0])


PYTHON = """
import array, sys
import numascape

pool = array.array("d", bytes(64 * 4096))
view = memoryview(pool)
numascape.region("halves", view[: 32 * 512])
for i in range(0, 16 * 512, 512):
    pool[i + 256] = 1.0
numascape.region_end(view[: 32 * 512])
try:
    numascape.region("none", {})
except numascape.NumascapeError as error:
    print(error)
try:
    numascape.region("strided", view[::2])
except numascape.NumascapeError as error:
    print(error)
"""


def test_regions_of_python(record: Any, tmp_path: Path) -> None:
    program = tmp_path / "pool.py"
    program.write_text(PYTHON)
    recording = record(sys.executable, program)
    lines = recording.output.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        f"a region must be an object with contiguous memory on this machine, not {kind}"
        for kind in ("dict", "memoryview")
    ]
    (row,) = recording.trace.structures.filter(kind="region").iter_rows(named=True)
    assert (row["name"], row["file"], row["size"]) == ("halves", "", 32 * 4096)
    # The interpreter writes one word of each of these pages; the pages at the ends are shared.
    writes = {page: writes for page, (_, writes) in recording.pages("halves").items() if writes}
    assert [writes[page] for page in range(1, 16)] == [1] * 15
