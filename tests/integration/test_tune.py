# SPDX-License-Identifier: Apache-2.0
"""`numascape tune` on this machine, which may have one node: what it refuses before it observes.

tests/vm/test_live.py tunes a program on two nodes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from numascape.live.room import usable_nodes
from numascape.live.targets import target_of

Numascape = Callable[..., tuple[int, str, str]]
# The process waits, and is no thread of the test.
SLEEPS = "import time; print('ready', flush=True); time.sleep(1000)"


@pytest.fixture
def sleeping() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SLEEPS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no process given: use numascape tune --pid PROCESS"),
        (("--pid", "4194305"), "there is no process 4194305"),
        (("--pid", "1", "--metric", "true"), "use it with --apply"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    numascape: Numascape, words: tuple[str, ...], message: str
) -> None:
    status, output, errors = numascape("tune", *words)
    assert (status, output) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


def test_a_process_with_one_node_is_not_observed(
    numascape: Numascape, sleeping: subprocess.Popen[str]
) -> None:
    target = target_of(sleeping.pid)
    assert target is not None
    if len(usable_nodes(target)) > 1:
        pytest.skip("this machine has several nodes")
    status, output, errors = numascape("tune", "--pid", sleeping.pid)
    assert (status, output) == (2, "")
    assert "may use the memory of one node only" in errors
    assert errors.count("\n") == 1


def test_signals_are_noted_while_the_recorder_passes_them_on(tmp_path: Path) -> None:
    """A signal ends the recording, and the loop learns that it came."""
    script = """
import subprocess
from numascape.signals import signals_noted, signals_passed_on
with signals_noted() as noted:
    with signals_passed_on() as receiver:
        child = subprocess.Popen(["sleep", "1000"])
        receiver.becomes(child.pid)
        print("ready", flush=True)
        print(child.wait(), noted.came, flush=True)
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGTERM)
        assert process.communicate(timeout=60)[0] == f"{-signal.SIGTERM} True\n"
