# SPDX-License-Identifier: Apache-2.0
"""Processes may end in any way while they are recorded; some are refused beforehand."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.attaching import COMMAND, NOBODY, end, expect_refusal, is_free, running, wait_for


@contextlib.contextmanager
def recorder_of(pid: int, trace: Path) -> Iterator[subprocess.Popen[str]]:
    """Start `record --pid` until the process ends; return when the shard has been written to."""
    with subprocess.Popen(
        [COMMAND, "record", "-q", "-o", trace, "--pid", str(pid)],
        stderr=subprocess.PIPE,
        text=True,
    ) as recorder:
        wait_for(lambda: not is_free(pid))
        wait_for(lambda: "numascape" in thread_names(pid))
        yield recorder


def thread_names(pid: int) -> set[str]:
    names = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            names.add((task / "comm").read_text().strip())
    return names


def test_the_death_of_the_process_is_a_failure(programs: Path, tmp_path: Path, opened: Any) -> None:
    trace = tmp_path / "run.numascape"
    with (
        running(programs / "attached", "1") as process,
        recorder_of(process.pid, trace) as recorder,
    ):
        process.send_signal(signal.SIGKILL)
        _, errors = recorder.communicate(timeout=300)
    assert recorder.returncode == 2
    lines = errors.splitlines()
    assert len(lines) == 1, errors
    assert f"process {process.pid} was killed by signal 9" in lines[0] or (
        f"process {process.pid} died" in lines[0]  # a kernel that does not report how it ended
    )
    assert opened(trace).trace.info.exit_status is None


def holds_or_has_held_threads(pid: int) -> bool:
    """Whether a held thread has received SIGILL, which takes it over, or holding is over."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if "SigPnd:\t0000000000000008" in (task / "status").read_text():
                return True
    return "numascape" in thread_names(pid)


# The kernel reports the end of a process only after the end of its held threads was collected.
@pytest.mark.parametrize("attempt", range(3))
def test_a_process_may_die_while_it_is_entered(
    programs: Path, tmp_path: Path, attempt: int
) -> None:
    with (
        running(programs / "attached", "3") as process,
        subprocess.Popen(
            [COMMAND, "record", "-q", "-o", tmp_path / "t", "--pid", str(process.pid)],
            stderr=subprocess.PIPE,
            text=True,
        ) as recorder,
    ):
        while not holds_or_has_held_threads(process.pid):
            assert recorder.poll() is None
        process.kill()
        # It waits for living threads for up to two minutes.
        _, errors = recorder.communicate(timeout=100)
    assert recorder.returncode == 2
    assert len(errors.splitlines()) == 1, errors


def test_the_end_of_the_process_is_not(programs: Path, tmp_path: Path, opened: Any) -> None:
    trace = tmp_path / "run.numascape"
    with (
        running(programs / "attached", "1") as process,
        recorder_of(process.pid, trace) as recorder,
    ):
        assert end(process) == ("right\n", 42)
        _, errors = recorder.communicate(timeout=300)
    assert (recorder.returncode, errors) == (0, "")
    assert opened(trace).trace.info.exit_status is None


def test_a_child_may_outlive_the_recording(programs: Path, tmp_path: Path) -> None:
    with running(programs / "outliving") as process:
        with recorder_of(process.pid, tmp_path / "run.numascape") as recorder:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("f")
            process.stdin.flush()
            assert process.stdout.readline() == "forked\n"
            recorder.send_signal(signal.SIGTERM)
            _, errors = recorder.communicate(timeout=300)
            assert recorder.returncode == 0, errors
        assert end(process) == ("right\n", 42)


@contextlib.contextmanager
def sleeping(before: Any) -> Iterator[int]:
    child = os.fork()
    if child == 0:
        before()
        while True:
            signal.pause()
    try:
        yield child
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_process_that_gave_up_privileges_is_refused(tmp_path: Path) -> None:
    def give_up() -> None:
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    with sleeping(give_up) as pid:
        wait_for(lambda: f"Uid:\t{NOBODY}" in Path(f"/proc/{pid}/status").read_text())
        expect_refusal(pid, tmp_path, "has given up privileges")


LOCKING = "import ctypes; print(ctypes.CDLL(None).mlockall(1), flush=True); input()"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lock as much memory as it wants")
def test_a_process_that_locks_its_memory_is_refused(tmp_path: Path) -> None:
    words = [sys.executable, "-I", "-c", LOCKING]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"0\n"
        expect_refusal(process.pid, tmp_path, "locks all its memory (mlockall)")
        process.kill()
