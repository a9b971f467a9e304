# SPDX-License-Identifier: Apache-2.0
"""Recorders that cannot enter a process leave it as it was."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from integration.attaching import end, expect_refusal, running, wait_for


def state(pid: int) -> tuple[list[str], list[str], set[str]]:
    """Return the state of a process: its signals, its mappings except the heap, its files."""
    folder = Path(f"/proc/{pid}")
    signals = [
        line
        for line in (folder / "status").read_text().splitlines()
        # SigQ counts the signals that wait in all processes of the user.
        if line.startswith("Sig") and not line.startswith("SigQ")
    ]
    maps = [line for line in (folder / "maps").read_text().splitlines() if "[heap]" not in line]
    return signals, maps, {entry.name for entry in (folder / "fd").iterdir()}


@pytest.mark.parametrize(
    ("limit", "refused"),
    [
        ("RLIMIT_NOFILE", "the recorder cannot be put into process"),
        ("RLIMIT_AS", "may have only 1048576 bytes of address space (ulimit -v)"),
    ],
)
def test_a_process_at_its_limits_goes_on(
    programs: Path, tmp_path: Path, limit: str, refused: str
) -> None:
    with running(programs / "attached", "2") as process:
        before = state(process.pid)
        kind = getattr(resource, limit)
        least = {resource.RLIMIT_NOFILE: len(before[2]), resource.RLIMIT_AS: 1 << 20}[kind]
        limits = resource.prlimit(process.pid, kind)
        resource.prlimit(process.pid, kind, (least, limits[1]))
        expect_refusal(process.pid, tmp_path, refused)
        resource.prlimit(process.pid, kind, limits)
        assert state(process.pid) == before
        assert end(process) == ("right\n", 42)


# Traces one thread, until there is input.
TRACER = """
import ctypes, sys
assert ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None) == 0  # PTRACE_SEIZE
print("traced", flush=True)
sys.stdin.read(1)
"""


def test_a_process_with_a_traced_thread_is_refused(programs: Path, tmp_path: Path) -> None:
    with running(programs / "attached", "1") as process:
        threads = {int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir()}
        [thread] = threads - {process.pid}
        command = [sys.executable, "-c", TRACER, str(thread)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tracer:
            assert tracer.stdout is not None
            assert tracer.stdout.readline() == b"traced\n"
            expect_refusal(process.pid, tmp_path, f"is traced by process {tracer.pid}")
            tracer.communicate(b"x")
        assert end(process) == ("right\n", 42)


@pytest.mark.parametrize("thread", ["main", "other"])
@pytest.mark.parametrize(
    ("mode", "refused"),
    [
        ("filter", "filters its system calls (seccomp)"),
        ("strict", "has a thread that may only read, write and end (seccomp)"),
    ],
)
def test_a_process_that_may_not_make_all_calls_is_refused(
    programs: Path, tmp_path: Path, mode: str, refused: str, thread: str
) -> None:
    with running(programs / "confined", mode, thread) as process:
        wait_for(lambda: _confined_threads(process.pid) == 1)
        before = state(process.pid)
        expect_refusal(process.pid, tmp_path, refused)
        assert state(process.pid) == before
        assert end(process) == ("right\n", 42)


def _confined_threads(pid: int) -> int:
    statuses = [task / "status" for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum("Seccomp:\t0" not in status.read_text() for status in statuses)
