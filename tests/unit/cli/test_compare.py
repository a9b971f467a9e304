# SPDX-License-Identifier: Apache-2.0
"""The verb `compare`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from synthetic.pattern import Pattern
from synthetic.patterns import seismic
from synthetic.write import write_pattern

Numascape = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The stencil with serial and with parallel initialisation, recorded on four nodes."""
    folder = tmp_path_factory.mktemp("traces")
    paths = []
    for parallel in (False, True):
        pattern = seismic(pages=1200, parallel=parallel)
        pattern.placed_by_first_touch = True
        paths.append(folder / f"{'parallel' if parallel else 'serial'}.numascape")
        write_pattern(pattern, paths[-1])
    return paths[0], paths[1]


def test_each_structure_has_a_line(numascape: Numascape, traces: tuple[Path, Path]) -> None:
    status, output, _ = numascape("compare", *traces)
    assert status == 0
    lines = {words[0]: words for words in map(str.split, output.splitlines()) if words}
    assert output.startswith("The remote share of the accesses falls from ")
    assert lines["before"][1] == "serial.numascape:"
    row = lines["grid->vx"]
    assert row[1:3] == ["10.2", "%"]
    assert row[3:5] == ["97.3", "→"]  # thread 0 touched everything, and uses a part of 64
    assert "0:25 1:25 2:25 3:25" in output
    assert "all on 0" in output


def test_numbers_and_places_are_whole_in_80_columns(
    numascape: Numascape, traces: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = numascape("compare", *traces)[1].splitlines()
    headings = [line.split() for line in lines if line.startswith("Structure ")]
    assert headings == [
        ["Structure", "Share", "Foreign", "First", "Where"],
        ["Structure", "Remote", "Pages", "on", "nodes"],
    ]
    used, on_nodes = (line for line in lines if line.startswith("grid->vx "))
    assert max(len(used), len(on_nodes)) <= 80
    assert used.split()[-2:] == ["seismic.c:88", "allocate_grid"]
    assert "→ 0:25 1:25 2:25 3:25" in on_nodes
    assert not any("…" in line for line in lines if line.startswith("grid->"))


@pytest.fixture(scope="module")
def small_traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """32 threads on two nodes share out an array: its pages are on one node, then near."""
    folder = tmp_path_factory.mktemp("small")
    paths = []
    for cured in (False, True):
        pattern = Pattern("solver", 32)
        pattern.placed_by_first_touch = True
        field, page = pattern.structure("field", 320), np.arange(320)
        pattern.access(field, page, page // 10, 3_000_000, 1_000_000)
        pattern.touch(field, page, page // 10 if cured else 0)
        paths.append(folder / f"{'cured' if cured else 'ill'}.numascape")
        write_pattern(pattern, paths[-1])
    return paths[0], paths[1]


@pytest.mark.parametrize(
    ("order", "condition", "status"),
    [
        (1, "remote-share+5", 0),
        (-1, "remote-share+5", 1),
        (-1, "remote-share+90", 0),
        (-1, "foreign-share+0", 1),
        (1, "accesses+0", 0),
        (1, "findings+0", 0),
    ],
)
def test_conditions_decide_the_exit_status(
    numascape: Numascape, small_traces: tuple[Path, Path], order: int, condition: str, status: int
) -> None:
    ended, _, errors = numascape("compare", *small_traces[::order], "--fail-if", condition)
    assert ended == status
    assert (condition in errors) == (status == 1)


def test_json_is_for_programs(numascape: Numascape, traces: tuple[Path, Path]) -> None:
    status, output, _ = numascape("compare", *traces, "--json")
    document = json.loads(output)
    assert status == 0
    assert document["before"]["path"] == str(traces[0])
    assert document["after"]["remote_share"] < 0.1 < document["before"]["remote_share"]
    assert len(document["structures"]) == 10 + 64


def test_the_page_is_that_of_report(
    numascape: Numascape, small_traces: tuple[Path, Path], tmp_path: Path
) -> None:
    pages = tmp_path / "compare.html", tmp_path / "report.html"
    status, output, messages = numascape("compare", *small_traces, "--html", pages[0])
    assert (status, output) == (0, "")
    assert f"wrote {pages[0]}" in messages
    status, output, messages = numascape("report", *small_traces, "-o", pages[1])
    assert (status, output) == (0, "")
    assert f"wrote {pages[1]}" in messages
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert len(pages[0].read_bytes()) < 5_000_000


def test_a_page_that_cannot_be_written_is_one_line(
    numascape: Numascape, small_traces: tuple[Path, Path], tmp_path: Path
) -> None:
    for verb, option in (("compare", "--html"), ("report", "-o")):
        status, _, errors = numascape(verb, *small_traces, option, tmp_path / "none" / "a.html")
        assert status == 2
        assert len(errors.splitlines()) == 1


@pytest.mark.parametrize("verb", ["report", "view"])
def test_engines_are_for_one_job(
    numascape: Numascape, small_traces: tuple[Path, Path], verb: str
) -> None:
    status, _, errors = numascape(verb, *small_traces, "--mpi")
    assert status == 2
    assert len(errors.splitlines()) == 1
    assert "--mpi reads the parts of one job: give one TRACE" in errors


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere", "nowhere"], "nowhere does not exist"),
        (["nowhere"], "Missing argument"),
        (["nowhere", "nowhere", "--fail-if", "speed+5"], "there is no metric 'speed'"),
        (["nowhere", "nowhere", "--fail-if", "remote-share"], "is not a condition"),
    ],
)
def test_mistakes_are_one_line(numascape: Numascape, arguments: list[str], reason: str) -> None:
    status, _, errors = numascape("compare", *arguments)
    assert status == 2
    assert len(errors.splitlines()) == 1
    assert reason in errors
