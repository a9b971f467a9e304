# SPDX-License-Identifier: Apache-2.0
"""The recorders agree on programs that each of them can record."""

import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration.conftest import PROGRAMS, Recording, make
from numascape.analysis.run_description import describe_run
from numascape.findings.examination import examine
from numascape.findings.reading import reading_of
from numascape.report import from_trace

# The program's own structures; all others belong to libraries. memset fills `sums` first. One
# recorder does not count stores of the C library; the other counts one store for each word.
NAMED = {
    "parity_c": ["values", "order", "table"],
    "parity_cxx": ["grid.cells"],
    "parity_fortran": ["field", "parity_data::weights"],
}
SAME_SIZE = {**NAMED, "parity_cxx": ["grid.cells", "sums"]}
RUNS = [("parity_c", ()), ("parity_c", ("parallel",)), ("parity_cxx", ()), ("parity_fortran", ())]


@pytest.fixture(scope="session")
def plain(request: pytest.FixtureRequest) -> Path:
    """The programs, compiled at -O1 by the compilers that the wrappers call."""
    build = request.config.cache.mkdir("parity-programs")
    compilers = ["CC=clang-19", "CXX=clang++-19", "FC=flang-new-19", "FFLAGS=-O1 -g"]
    make(PROGRAMS, f"BUILD={build}", "KERNELS=", *compilers, "parity")
    return build


@pytest.fixture(scope="session")
def both(plain: Path, record: Any, compiled: Any) -> Any:
    """Return both(program, *arguments) -> the binary recording and the compiled one."""

    def run(program: str, *arguments: str) -> tuple[Recording, Recording]:
        return record(plain / program, *arguments, recorder="binary"), compiled(program, *arguments)

    return run


def sizes(recording: Recording, names: list[str]) -> dict[str, tuple[str, int, int]]:
    wanted = recording.trace.structures.filter(pl.col("name").is_in(names))
    rows = wanted.select("name", "kind", "size", "instances").iter_rows()
    return {name: (kind, size, instances) for name, kind, size, instances in rows}


def touchers(recording: Recording, structure: str) -> dict[int, int]:
    wanted = recording.trace.structures.filter(pl.col("name") == structure)
    touched = recording.trace.first_touch.join(wanted.select("structure"), on="structure")
    return dict(touched.select("page", "thread").iter_rows())


def inner_total(recording: Recording, structure: str) -> tuple[int, int]:
    """Reads and writes, without the first and the last page, which others may share."""
    counts = [recording.pages(structure)[page] for page in sorted(recording.pages(structure))[1:-1]]
    return sum(reads for reads, _ in counts), sum(writes for _, writes in counts)


@pytest.mark.parametrize(("program", "arguments"), RUNS)
def test_structures_are_the_same(both: Any, program: str, arguments: tuple[str, ...]) -> None:
    binary, compiled = both(program, *arguments)
    names = SAME_SIZE[program]
    assert sizes(binary, names) == sizes(compiled, names)
    assert set(sizes(binary, names)) == set(names)
    for name in names:
        assert set(binary.pages(name)) == set(compiled.pages(name)), name


@pytest.mark.parametrize(("program", "arguments"), RUNS)
def test_first_touchers_are_the_same(both: Any, program: str, arguments: tuple[str, ...]) -> None:
    binary, compiled = both(program, *arguments)
    for name in NAMED[program]:
        assert touchers(binary, name) == touchers(compiled, name), name


@pytest.mark.parametrize(("program", "arguments"), RUNS)
def test_counts_agree(both: Any, program: str, arguments: tuple[str, ...]) -> None:
    for name in NAMED[program]:
        one, other = (inner_total(recording, name) for recording in both(program, *arguments))
        assert one == pytest.approx(other, rel=0.01), name


@pytest.mark.parametrize(("program", "arguments"), RUNS)
def test_faults_tell_the_same_first_touchers(
    plain: Path, record: Any, program: str, arguments: tuple[str, ...]
) -> None:
    binary = record(plain / program, *arguments, recorder="binary")
    faults = record(plain / program, *arguments, recorder="faults")
    assert faults.trace.info.recorder.name == "faults"
    names = SAME_SIZE[program]
    assert sizes(binary, names) == sizes(faults, names)
    for name in NAMED[program]:
        assert touchers(binary, name) == touchers(faults, name), name


def test_a_page_fault_is_at_the_line_that_touched(plain: Path, record: Any) -> None:
    recording = record(plain / "parity_c", "parallel", recorder="faults")
    values = recording.trace.structures.filter(pl.col("name") == "values").select("structure")
    touched = recording.trace.first_touch.join(values, on="structure")
    text = (PROGRAMS / "parity_c.c").read_text().splitlines()
    line = next(n for n, code in enumerate(text, 1) if "to[i] = (double)i" in code)
    assert set(touched.select("function", "line").iter_rows()) == {("fill", line)}
    placed = recording.trace.placement.join(values, on="structure")
    assert set(placed["page"]) == set(touched["page"])


def test_samples_have_the_names_of_variables_and_of_the_heap(plain: Path, record: Any) -> None:
    """Page faults as samples: each page has one, of the thread that touched it first."""
    recording = record(plain / "parity_c", "parallel", recorder="samples", event="page-faults")
    trace = recording.trace
    assert (trace.info.recorder.name, trace.info.recorder.counts) == ("samples", "samples")
    binary = record(plain / "parity_c", "parallel", recorder="binary")
    description = " ".join(describe_run(trace))
    assert "page faults by " in description
    assert "not shares of the accesses" in description
    assert "within" not in description
    (table,) = trace.structures.filter(pl.col("name") == "table")["structure"]
    reading = reading_of(examine(trace), table, [])
    assert "32 page faults, which do not show how much it is used" in reading.see[0]
    assert sizes(recording, NAMED["parity_c"]) == sizes(binary, NAMED["parity_c"])
    for name in NAMED["parity_c"]:
        own = trace.structures.filter(pl.col("name") == name).select("structure")
        sampled = trace.accesses.join(own, on="structure")
        assert set(sampled["reads"]) == {1}
        assert dict(sampled.select("page", "thread").iter_rows()) == touchers(binary, name)
        assert touchers(recording, name) == touchers(binary, name)


def test_first_touches_alone_are_shown_as_what_they_are(
    plain: Path, record: Any, command: Path, tmp_path: Path
) -> None:
    recording = record(plain / "parity_c", "parallel", recorder="faults")
    trace = recording.trace
    assert trace.info.recorder.counts == "first touches"
    assert trace.accesses.is_empty()
    assert trace.info.totals.pages > 0
    shown = subprocess.run(
        [command, "show", trace.path], capture_output=True, text=True, check=True
    ).stdout
    table = shown[shown.index("Structure ") :].split()
    assert "Touched" in table
    assert not {"Reads", "Writes", "reads", "Accesses"} & set(table)
    drawn: Any = subprocess.run(
        [command, "plot", trace.path, "--figure", "strip", "-o", tmp_path / "x.png"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert drawn.returncode == 2
    assert "has first touches only" in drawn.stderr
    page = from_trace(trace)
    readings = {entry.name: entry.reading for entry in page.structures}
    assert readings["values"].verdict == "touched by several"
    assert readings["order"].verdict == "first touch by one thread"
    assert "in fill, parity_c.c:" in readings["values"].see[0]
    assert page.run["recorder"]["counts"] == "first touches"
