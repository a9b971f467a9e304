# SPDX-License-Identifier: Apache-2.0
"""Finds the tests that call each function of the package, and how long they take.

The tests run once, in a few processes, with a profiling hook. What a fixture calls counts for all
tests of its file, because fixtures of a module are made in its first test.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

QUICK = "not compiler and not program and not guest and not browser and not runtime"
Function = tuple[str, int]
"""The file of a function, relative to `src`, and its first line; 0: the module itself."""


class Calls:
    """A plugin of pytest: for each test, the functions below `source` that it calls."""

    def __init__(self, source: Path) -> None:
        self._prefix = f"{source}/"
        self._codes: set[CodeType] = set()
        self.of_tests: dict[str, set[Function]] = {}
        self.of_fixtures: defaultdict[str, set[Function]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._codes.add(frame.f_code)

    def _taken(self) -> set[Function]:
        found = {
            (code.co_filename.removeprefix(self._prefix), code.co_firstlineno)
            for code in self._codes
            if code.co_filename.startswith(self._prefix)
        }
        self._codes.clear()
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        sys.setprofile(self._profile)
        result = yield
        sys.setprofile(None)
        self.of_fixtures[item.nodeid.split("::")[0]] |= self._taken()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        begin = time.process_time()
        sys.setprofile(self._profile)
        result = yield
        sys.setprofile(None)
        self.seconds[item.nodeid] = time.process_time() - begin
        self.of_tests[item.nodeid] = self._taken()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


def tests_by_function(
    source: Path, places: Sequence[Path], jobs: int, kept: Path | None
) -> dict[Function, list[str]]:
    """The quick tests in these files and folders that call each function, the quickest first.

    Tests that fail without any mutant are left out. The file `kept`, if it exists, has what an
    earlier call found.
    """
    if kept is not None and kept.exists():
        rows = json.loads(kept.read_text())
    else:
        rows = _calls(source, places, jobs)
        if kept is not None:
            kept.write_text(json.dumps(rows))
    found: defaultdict[Function, list[str]] = defaultdict(list)
    for test, _, called in sorted(rows, key=lambda row: float(row[1])):
        for file, line in called:
            found[file, line].append(test)
    return dict(found)


def _calls(source: Path, places: Sequence[Path], jobs: int) -> list[tuple[str, float, Any]]:
    """Each test that passes, its seconds, and the functions that it calls."""
    files = [
        str(path)
        for place in places
        for path in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])
    ]
    with tempfile.TemporaryDirectory() as written:
        results = [Path(written) / str(job) for job in range(jobs)]
        children = [_start(source, files[job::jobs], result) for job, result in enumerate(results)]
        for child in children:
            os.waitpid(child, 0)
        return [row for result in results for row in json.loads(result.read_text())]


def _start(source: Path, files: Sequence[str], result: Path) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            calls = Calls(source)
            status = run_quietly([*files, "-m", QUICK], [calls])
            rows = [
                (test, calls.seconds[test], sorted(called | calls.of_fixtures[test.split("::")[0]]))
                for test, called in calls.of_tests.items()
                if test not in calls.failed
            ]
            result.write_text(json.dumps(rows))
        finally:
            os._exit(status)
    return child


def run_quietly(arguments: Sequence[str], plugins: Sequence[object] = ()) -> int:
    """Run pytest in this process without a word; the exit status."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    without = ["cacheprovider", "xdist", "hypothesispytest"]
    options = ["-q", *(word for name in without for word in ("-p", f"no:{name}"))]
    return int(pytest.main([*options, *arguments], plugins=list(plugins)))
