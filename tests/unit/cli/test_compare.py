# SPDX-License-Identifier: Apache-2.0
"""The verb `compare`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from synthetic.patterns import Pattern, seismic
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
    assert lines["before"][1] == "serial.numascape:"
    row = lines["grid->vx"]
    assert row[1:4] == ["10.2", "%", "="]
    assert row[4:6] == ["97.3", "%"]  # thread 0 touched everything, and uses a part of 64
    assert row[6] == "→"
    assert "0:25 1:25 2:25 3:25" in output
    assert "all on 0" in output


@pytest.fixture(scope="module")
def small_traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """32 threads on two nodes, each with its pages of one array: all on one node, then near."""
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


@pytest.mark.slow  # ten pictures
def test_html_is_written_complete_or_not_at_all(
    numascape: Numascape, traces: tuple[Path, Path], tmp_path: Path
) -> None:
    page = tmp_path / "changes.html"
    status, output, messages = numascape("compare", *traces, "--html", page)
    assert (status, output) == (0, "")
    assert f"wrote {page}" in messages
    assert page.read_text().endswith("</body></html>\n")
    assert len(page.read_bytes()) < 3_000_000
    status, _, errors = numascape("compare", *traces, "--html", tmp_path / "none" / "a.html")
    assert status == 2
    assert len(errors.splitlines()) == 1


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
