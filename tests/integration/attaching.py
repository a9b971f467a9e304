# SPDX-License-Identifier: Apache-2.0
"""Runs programs, and attaches to them."""

from __future__ import annotations

import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from integration.loaded_command import loaded, run_loaded
from numascape.recorders.live_status import count_so_far

COMMAND = Path(sysconfig.get_path("scripts")) / "numascape"
NOBODY = 65534
"""A user without privileges."""

Attach = Callable[..., Any]
# After this number of accesses, each thread of the programs has run its loop while recorded.
ENOUGH_ACCESSES = 2_000_000


@contextmanager
def running(
    program: Path, *arguments: str, user: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [program, *arguments],
        user=user,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            if process.poll() is not None:  # shown when the test fails
                print(f"{program.name} ended with {process.returncode}")
            process.kill()


def record(pid: int, trace: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run_loaded(["record", "-o", trace, "--pid", pid, *options])


def record_enough(pid: int, trace: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Ask the recorder to leave when it has counted enough, however busy the machine is."""
    words = ["record", "-o", trace, "--pid", pid, *options]
    with loaded(words) as recorder:
        wait_for(
            lambda: (
                not recorder.process.is_alive() or accesses_so_far(trace.parent) >= ENOUGH_ACCESSES
            )
        )
        recorder.process.terminate()
        status, errors = recorder.wait(300), recorder.errors.read_text()
    return subprocess.CompletedProcess([str(word) for word in words], status, "", errors)


def end(process: subprocess.Popen[str]) -> tuple[str, int]:
    process.send_signal(signal.SIGUSR1)
    output, _ = process.communicate("x", timeout=300)
    return output, process.returncode


def is_free(pid: int) -> bool:
    return "libnumascape_recorder" not in Path(f"/proc/{pid}/maps").read_text()


def accesses_so_far(folder: Path) -> int:
    """Sum the counts of the unfinished recordings in this folder."""
    sessions = folder.glob("*.recording-*")
    return sum(count_so_far(session, 1.0).accesses for session in sessions)


def wait_for_accesses(folder: Path, accesses: int) -> None:
    """Wait until the recording in this folder has counted this number of accesses."""
    wait_for(lambda: accesses_so_far(folder) >= accesses)


def wait_for(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("waited in vain")


def expect_refusal(pid: int, folder: Path, words: str) -> None:
    finished = record(pid, folder / "run.numascape", "--seconds", "1")
    assert finished.returncode == 2, finished.stderr
    lines = [line for line in finished.stderr.splitlines() if "Attaching" not in line]
    assert len(lines) == 1, finished.stderr
    assert words in lines[0]
    assert list(folder.iterdir()) == []
