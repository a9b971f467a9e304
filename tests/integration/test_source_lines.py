# SPDX-License-Identifier: Apache-2.0
"""The source lines that read and write each structure agree with closed forms."""

from typing import Any

import polars as pl
import pytest

from integration.conftest import PROGRAMS, Recording

N = 64
WORDS = 8192
ROUNDS = 4000


def marked(source: str) -> dict[str, int]:
    """Line numbers by the names that `line: NAME` gives them."""
    text = (PROGRAMS / source).read_text().splitlines()
    marks = ((line.partition("// line: ")[2], number) for number, line in enumerate(text, 1))
    return {name: number for name, number in marks if name}


def by_line(recording: Recording, source: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Reads and writes by structure and marked line, over all phases."""
    names = {number: name for name, number in marked(source).items()}
    lines = recording.trace.source_lines.filter(pl.col("file").str.ends_with(f"/{source}"))
    structures = recording.trace.structures.select("structure", "name")
    rows = lines.join(structures, on="structure").group_by("name", "line")
    counts = rows.agg(pl.col("reads", "writes").sum()).iter_rows()
    return {(structure, names[n]): (r, w) for structure, n, r, w in counts if n in names}


def assert_sums_are_those_of_accesses(recording: Recording) -> None:
    key = ["structure", "phase"]
    sums = [
        frame.group_by(key).agg(pl.col("reads", "writes").sum()).sort(key)
        for frame in (recording.trace.source_lines, recording.trace.accesses)
    ]
    assert sums[0].equals(sums[1])


@pytest.fixture(scope="module")
def counted(record: Any) -> Any:
    return record("source_lines")


@pytest.mark.parametrize(
    ("structure", "line", "reads", "writes"),
    [
        ("a", "left", N**3, 0),
        ("b", "right", N**3, 0),
        ("c", "product", N**3, N**3),
        ("a", "start", 0, N**2),
        ("b", "start", 0, N**2),
        ("c", "start", 0, N**2),
        ("often", "gather", WORDS, 0),
        ("seldom", "keep", 0, WORDS // 4),
        ("original", "copy", 3 * (WORDS - 1), 0),
        ("duplicate", "copy", 0, 3 * (WORDS - 1)),
        ("vectors", "scale", WORDS // 2, WORDS // 2),
    ],
)
def test_a_line_of_one_structure_counts_exactly(
    counted: Any, structure: str, line: str, reads: int, writes: int
) -> None:
    found = by_line(counted, "source_lines.c")
    assert found[structure, line] == (reads, writes)
    others = {name for name, at in found if at == line and not name.startswith("variables")}
    expected = {"copy": {"original", "duplicate"}, "start": {"a", "b", "c"}}.get(line, {structure})
    assert others == expected


@pytest.mark.parametrize(("structure", "share"), [("often", 3), ("seldom", 1)])
def test_a_line_of_two_structures_in_turn(counted: Any, structure: str, share: int) -> None:
    found = by_line(counted, "source_lines.c")
    expected = ROUNDS // 4 * share * 64
    reads, writes = found[structure, "bump"]
    assert reads == pytest.approx(expected, rel=0.01)
    assert writes == pytest.approx(expected, rel=0.01)
    total = [sum(found[name, "bump"][kind] for name in ("often", "seldom")) for kind in (0, 1)]
    assert total == [ROUNDS * 64] * 2


def test_a_line_of_three_structures_one_after_the_other(counted: Any) -> None:
    found = by_line(counted, "source_lines.c")
    for structure in ("often", "seldom", "original"):
        assert found[structure, "fill"][1] == pytest.approx(WORDS, rel=0.1)
    assert sum(writes for (_, line), (_, writes) in found.items() if line == "fill") == 3 * WORDS


def test_lines_of_parallel_regions_count_all_threads_and_in_their_phase(record: Any) -> None:
    recording = record("source_lines_openmp")
    words, rounds = 65536, 20
    found = by_line(recording, "source_lines_openmp.c")
    assert found["shared", "first"] == (0, words)
    assert found["shared", "again"] == (words * rounds, words * rounds)
    numbers = marked("source_lines_openmp.c")
    phases = {
        name: set(recording.trace.source_lines.filter(pl.col("line") == numbers[name])["phase"])
        for name in ("first", "again")
    }
    assert len(phases["first"]) == len(phases["again"]) == 1
    assert phases["first"] != phases["again"]


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("source_lines", []),
        ("source_lines_openmp", []),
        ("threads_pthread", []),
        ("memory_functions", []),
        ("globals_pie", []),
        ("heap", []),
        ("small_reuse", []),
        ("fields", []),
        ("new", []),
        ("processes", ["fork"]),
        ("processes", ["forks"]),
        ("endings", ["kill"]),
        ("many_threads", [200]),
    ],
)
def test_lines_add_up_to_the_accesses(
    record: Any, program: str, arguments: list[str | int]
) -> None:
    recording = record(program, *arguments)
    assert_sums_are_those_of_accesses(recording)
    unknown = recording.trace.source_lines.filter(pl.col("function") == "")["reads"].sum()
    assert unknown <= 0.05 * recording.trace.source_lines["reads"].sum() + 20000


def test_fortran_lines(record: Any) -> None:
    lines = record("fields").trace.source_lines.filter(pl.col("file").str.ends_with(".f90"))
    assert lines.height > 0
    assert (lines["line"] > 0).all()


def test_without_lines_the_table_is_empty_and_counts_are_the_same(
    record: Any, counted: Any
) -> None:
    without = record("source_lines", no_source_lines=True)
    assert without.trace.source_lines.is_empty()
    assert without.trace.info.recorder.options["source_lines"] is False
    for structure in ("a", "b", "c", "often", "seldom", "original", "duplicate", "vectors"):
        assert without.pages(structure) == counted.pages(structure)
