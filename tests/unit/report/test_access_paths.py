# SPDX-License-Identifier: Apache-2.0
"""The call paths of samples and first touches in a report: sums, remote part, what is left out."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from numascape.machine import open_machine
from numascape.report import access_paths, from_trace
from numascape.report.data import AccessPaths, Report
from numascape.report.laid_out import lay_out_trace
from numascape.trace import Trace
from synthetic.pattern import Pattern
from synthetic.patterns import seismic
from synthetic.write import write_pattern

THREADS = 32


@pytest.fixture
def pattern() -> Pattern:
    """Samples of two structures on two call paths, in two phases; one path has no accesses."""
    pattern = seismic(600, THREADS)
    pattern.phase("outside")
    later = pattern.phase("later", 9)
    main = pattern.call("main", 300)
    pattern.call("unused", 1, main)
    left, right = (pattern.call(name, 40, main) for name in ("left", "right"))
    pattern.sample(0, 0, 0, left, 90)
    pattern.sample(0, 1, THREADS - 1, left, 10)
    pattern.sample(1, 0, THREADS - 1, right, 7, phase=later)
    return pattern


def opened(pattern: Pattern, folder: Path) -> Trace:
    return write_pattern(pattern, folder / "paths.numascape")


def shown(report: Report) -> dict[tuple[str, str, int], int]:
    """Samples by structure, innermost function and phase."""
    paths = report.access_paths
    assert isinstance(paths, AccessPaths)
    rows = zip(paths.position, paths.phase, paths.path, paths.accesses, strict=True)
    return {
        (report.structures[position].name, paths.function[path], int(phase)): int(accesses)
        for position, phase, path, accesses in rows
    }


def test_each_path_has_its_samples_by_structure_and_phase(pattern: Pattern, tmp_path: Path) -> None:
    report = from_trace(opened(pattern, tmp_path))
    first, second = (pattern.structures[i]["name"] for i in (0, 1))
    assert shown(report) == {(first, "left", 0): 100, (second, "right", 1): 7}
    paths = report.access_paths
    assert paths is not None
    assert paths.function == ("main", "left", "right")  # the unused call is left out
    assert paths.caller == (-1, 0, 0)


def test_remote_samples_follow_the_machine(pattern: Pattern, tmp_path: Path) -> None:
    """All pages are on node 0; the last thread ran on node 1, and runs on the last node there."""
    trace = opened(pattern, tmp_path)
    assert from_trace(trace).traffic.path_remote.tolist() == [10, 7]
    numa32 = open_machine("numa32")
    there = from_trace(lay_out_trace(trace, numa32)).traffic.path_remote
    assert there.tolist() == [10, 7]


@pytest.mark.parametrize(("limit", "most"), [("ROWS", 1), ("CALLS", 2)])
def test_beyond_the_limit_paths_are_added_up(
    pattern: Pattern, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(access_paths, limit, most)
    report = from_trace(opened(pattern, tmp_path))
    second = pattern.structures[1]["name"]
    assert shown(report)[second, access_paths.REST, 1] == 7
    assert sum(shown(report).values()) == 107
    assert report.traffic.path_remote.tolist() == [10, 7]


def test_a_trace_without_paths_has_none(tmp_path: Path) -> None:
    report = from_trace(write_pattern(seismic(600, 8), tmp_path / "none.numascape"))
    assert report.access_paths is None
    assert report.traffic.path_remote.tolist() == []
    assert report.touch_paths is None


def test_first_touches_have_paths_of_their_own(pattern: Pattern, tmp_path: Path) -> None:
    """Those of one structure are in `fill`, all others in `main`."""
    main = pattern.call("main", 20)
    fill = pattern.call("fill", 21, main)
    pattern.touched_in(main)
    pattern.touched_in(fill, 1)
    report = from_trace(opened(pattern, tmp_path))
    paths = report.touch_paths
    assert paths is not None
    assert set(paths.function) == {"main", "fill"}
    names = [structure["name"] for structure in pattern.structures]
    touched = pl.concat(pattern.first_touch).group_by("structure").len()
    found = {
        (report.structures[position].name, paths.function[path]): int(count)
        for position, path, count in zip(paths.position, paths.path, paths.accesses, strict=True)
    }
    assert found == {
        (names[structure], "fill" if structure == 1 else "main"): count
        for structure, count in touched.iter_rows()
    }
    assert shown(report) != {}
