# SPDX-License-Identifier: Apache-2.0
"""Finds the tests that execute each line of the package, and how long they take.

The tests run once, in a few processes, under coverage.py. Lines that a fixture executes count for
all tests of its file, because fixtures of a module are made in its first test.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

QUICK = "not compiler and not program and not guest and not browser and not runtime"
Line = tuple[str, int]
"""A file, relative to the source, and a line of it."""
NO_LINE: Line = ("", 0)


class TimedTest(NamedTuple):
    """A test and its seconds of CPU time, without those of its fixtures."""

    seconds: float
    name: str


TestLines = tuple[str, float, dict[str, list[int]]]
"""A test, its seconds of CPU time, and the lines of each file that it executes."""


class Reached:
    """A plugin of pytest: for each test, the lines below `source` that it executes."""

    def __init__(self, source: Path, packages: Sequence[str]) -> None:
        from coverage import Coverage

        self._source = source
        places = [f"{source}/{package}/*" for package in packages]
        self._coverage = Coverage(data_file=None, config_file=False, include=places)
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        self._coverage.start()
        result = yield
        self._coverage.stop()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._coverage.switch_context(_file(item.nodeid))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._coverage.switch_context(item.nodeid)
        begin = time.process_time()
        result = yield
        self._seconds[item.nodeid] = time.process_time() - begin
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    def rows(self) -> list[TestLines]:
        """The tests that passed."""
        data = self._coverage.get_data()
        reached: defaultdict[str, defaultdict[str, set[int]]]
        reached = defaultdict(lambda: defaultdict(set))
        for file in data.measured_files():
            name = str(Path(file).relative_to(self._source))
            for line, contexts in data.contexts_by_lineno(file).items():
                for context in contexts:
                    reached[context][name].add(line)
        return [
            (test, seconds, _together(reached[test], reached[_file(test)]))
            for test, seconds in self._seconds.items()
            if test not in self._failed
        ]


def _file(test: str) -> str:
    return test.split("::")[0]


def _together(one: dict[str, set[int]], other: dict[str, set[int]]) -> dict[str, list[int]]:
    empty: set[int] = set()
    return {
        file: sorted(one.get(file, empty) | other.get(file, empty))
        for file in sorted(one.keys() | other.keys())
    }


def tests_by_line(
    source: Path, packages: Sequence[str], places: Sequence[Path], jobs: int, kept: Path | None
) -> dict[Line, list[TimedTest]]:
    """The quick tests in these files and folders that execute each line.

    Tests that fail without any mutant are left out. Tests that execute no line, such as those that
    look at classes, are at NO_LINE. The file `kept`, if it exists, has the result of an earlier
    call.
    """
    if kept is not None and kept.exists():
        rows = json.loads(kept.read_text())
    else:
        rows = _rows(source, packages, places, jobs)
        if kept is not None:
            kept.write_text(json.dumps(rows))
    found: defaultdict[Line, list[TimedTest]] = defaultdict(list)
    for name, seconds, reached in rows:
        for file, lines in (reached or {NO_LINE[0]: [NO_LINE[1]]}).items():
            for line in lines:
                found[file, line].append(TimedTest(seconds, name))
    return dict(found)


def _rows(
    source: Path, packages: Sequence[str], places: Sequence[Path], jobs: int
) -> list[TestLines]:
    files = [
        str(path)
        for place in places
        for path in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])
    ]
    with tempfile.TemporaryDirectory() as written:
        results = [Path(written) / str(job) for job in range(jobs)]
        for job, result in enumerate(results):
            _start(source, packages, files[job::jobs], result)
        for _ in results:
            os.wait()
        missing = [result for result in results if not result.exists()]
        if missing:
            said = missing[0].with_suffix(".output").read_text(errors="replace")
            raise RuntimeError(f"the tests ended early:\n{said[-4000:]}")
        return [row for result in results for row in json.loads(result.read_text())]


def _start(source: Path, packages: Sequence[str], files: Sequence[str], result: Path) -> None:
    if os.fork() == 0:
        try:
            reached = Reached(source, packages)
            run_quietly([*files, "-m", QUICK], [reached], result.with_suffix(".output"))
            result.write_text(json.dumps(reached.rows()))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)


def run_quietly(
    arguments: Sequence[str], plugins: Sequence[object] = (), output: Path = Path(os.devnull)
) -> int:
    """Run pytest in this process, which writes nothing but `output`; the exit status."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    without = ["cacheprovider", "xdist", "hypothesispytest"]
    options = ["-q", *(word for name in without for word in ("-p", f"no:{name}"))]
    return int(pytest.main([*options, *arguments], plugins=list(plugins)))
