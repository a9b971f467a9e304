# SPDX-License-Identifier: Apache-2.0
"""A plugin: tests that need only Python start no program, so that `make check` is quick.

The library itself reads machines with hwloc in a process of its own, which is allowed.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator
from typing import Any, Final

import pytest

from numascape.installation import installed_file

NEEDS: Final = {"compiler", "program", "guest", "browser", "runtime"}
_STARTS: Final = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"}


class QuickTests:
    """Lets a test fail if it has none of these markers and starts a program."""

    def __init__(self) -> None:
        self._runs_quick_test = False
        self._reader = str(installed_file("_machine/topology-reader"))
        sys.addaudithook(self._look)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._runs_quick_test = not NEEDS & {marker.name for marker in item.iter_markers()}
        try:
            return (yield)
        finally:
            self._runs_quick_test = False

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._runs_quick_test and event in _STARTS:
            program = os.fsdecode(arguments[0] or arguments[1][0])
            # A program that does not exist is not started.
            if program != self._reader and (event == "os.system" or shutil.which(program)):
                pytest.fail(f"starts {program}, but is not marked: @pytest.mark.program")
