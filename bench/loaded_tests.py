# SPDX-License-Identifier: Apache-2.0
"""Runs tests with one function changed, in copies of a process that has collected all tests.

A copy needs no time to start Python, to load modules and to collect tests. It replaces the code of
the function in place, so it cannot change code that runs while a module is loaded.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from bench.reached import QUICK, run_quietly


@dataclass(frozen=True)
class Trial:
    """The code of a changed file, the function to replace, and the tests to run."""

    module: str
    file: str
    first_line: int
    code: CodeType
    tests: Sequence[str]


_NOTICED, _BROKEN = 1, 2


class _Trials:
    """A plugin of pytest that, instead of running each test once, makes all trials."""

    def __init__(
        self, trials: Sequence[Trial], jobs: int, limit_s: int, results: int, temporary: Path
    ) -> None:
        self._trials, self._jobs, self._limit_s = trials, jobs, limit_s
        self._results, self._temporary = results, temporary
        self._is_copy = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Make the trials, a few at a time; write the number and the outcome of each."""
        # Threads that compute frames do not exist in a copy: it would wait for them forever.
        names = {path.read_text() for path in Path("/proc/self/task").glob("*/comm")}
        assert "polars-0\n" not in names, "a test file computes frames when it is collected"
        items = {item.nodeid: item for item in session.items}
        for trial in self._trials:
            import_module(trial.module)
        waiting = list(reversed(list(enumerate(self._trials))))
        running: dict[int, int] = {}
        while waiting or running:
            while waiting and len(running) < self._jobs:
                number, trial = waiting.pop()
                folder = self._temporary / str(number)
                folder.mkdir()
                running[self._begin(trial, items, folder)] = number
            copy, status = os.wait()
            number = running.pop(copy)
            shutil.rmtree(self._temporary / str(number))
            # A signal is a crash, or the end after limit_s.
            outcome = os.WEXITSTATUS(status) if os.WIFEXITED(status) else _NOTICED
            os.write(self._results, f"{number} {outcome}\n".encode())
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._is_copy and report.failed:
            os._exit(_NOTICED)

    def _begin(self, trial: Trial, items: dict[str, pytest.Item], folder: Path) -> int:
        copy = os.fork()
        if copy:
            return copy
        status = _BROKEN
        try:
            self._is_copy = True
            limit_cpu_time(self._limit_s)
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
            _replace(trial)
            status = _NOTICED
            tests = [items[test] for test in trial.tests if test in items]
            for test, following in zip(tests, [*tests[1:], None], strict=True):
                test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            status = 0
        finally:
            os._exit(status)


def limit_cpu_time(limit_s: int) -> None:
    """End this process with a signal after `limit_s` more seconds of CPU time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + limit_s
    resource.setrlimit(resource.RLIMIT_CPU, (until, until))


def _replace(trial: Trial) -> None:
    changed = next(_codes(trial.code, trial.first_line))
    gc.unfreeze()  # tests/conftest.py hides the loaded objects from the collector
    functions = [
        one
        for one in gc.get_objects()
        if isinstance(one, FunctionType)
        and one.__code__.co_filename == trial.file
        and one.__code__.co_firstlineno == trial.first_line
        and one.__code__.co_name == changed.co_name
    ]
    assert functions, trial.file
    for function in functions:
        function.__code__ = changed


def _codes(code: CodeType, first_line: int) -> Iterator[CodeType]:
    """The outermost code objects in `code` that begin at this line, except the whole module."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            is_function = part.co_flags & 0x1  # CO_OPTIMIZED: not set for a class
            if is_function and part.co_firstlineno == first_line:
                yield part
            else:
                yield from _codes(part, first_line)


def make_trials(
    trials: Sequence[Trial], places: Sequence[str], jobs: int, limit_s: int
) -> Iterator[tuple[int, bool]]:
    """For each trial, in the order of their ends: its number, and whether a test failed.

    `places` are the files and folders of the tests.
    """
    with tempfile.TemporaryDirectory() as temporary:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                trying = _Trials(trials, jobs, limit_s, writing, Path(temporary))
                run_quietly([*places, "-m", QUICK], [trying])
            finally:
                os._exit(0)
        os.close(writing)
        missing = set(range(len(trials)))
        with os.fdopen(reading) as results:
            for line in results:
                number, outcome = map(int, line.split())
                if outcome == _BROKEN:
                    raise RuntimeError(f"{trials[number].file}: its function was not replaced")
                missing.remove(number)
                yield number, outcome == _NOTICED
        os.waitpid(child, 0)
        if missing:
            raise RuntimeError("pytest ended before all trials: try to collect these tests")
