# SPDX-License-Identifier: Apache-2.0
"""The process of a command ends immediately, but all registered actions are done before."""

from __future__ import annotations

import subprocess
import sys

import pytest

_AT_EXIT = """
import atexit, sys
from numascape.cli import entry

class Deleted:
    def __del__(self):
        print("deleted", flush=True)

kept = Deleted()
atexit.register(print, "registered")
"""
_RUN = """
entry.run = lambda _: print("output") or 3
entry.main()
"""
_THREAD = """
import threading
begun = threading.Event()
def last():
    begun.wait()
    print("thread")
threading.Thread(target=last).start()
# Python does this before it waits for threads.
threading._register_atexit(begun.set)
"""


def _ended(code: str) -> tuple[int, list[str], str]:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    return result.returncode, result.stdout.split(), result.stderr


@pytest.mark.program
def test_the_process_ends_without_deleting_its_objects() -> None:
    assert _ended(_AT_EXIT + _RUN) == (3, ["output", "registered"], "")


@pytest.mark.program
def test_a_thread_that_is_no_daemon_is_waited_for() -> None:
    status, printed, errors = _ended(_AT_EXIT + _THREAD + _RUN)
    assert (status, errors) == (3, "")
    assert printed == ["output", "thread", "registered", "deleted"]
