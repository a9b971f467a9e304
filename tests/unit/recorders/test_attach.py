# SPDX-License-Identifier: Apache-2.0
"""The error of a failed attach says the reason, also if its launcher has failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.recorders import attach as attaching
from numascape.recording.options import RecordOptions
from numascape.recording.session import Session, begin_session

pytestmark = pytest.mark.program


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return begin_session(tmp_path / "run.numascape", ["./program"], RecordOptions("binary"))


def attach_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, session: Session, script: str
) -> str:
    """The message of `attach` if its launcher is this script; $2 is the session's folder."""
    launcher = tmp_path / "numascape-attach"
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    monkeypatch.setattr(attaching, "installed_file", lambda _: tmp_path)
    return attaching.attach(session, os.getpid(), None)[1]


SHARD = 'printf NUMASHRD > "$2/1-0.shard"'


def test_a_process_that_was_released_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, session: Session
) -> None:
    assert attach_with(monkeypatch, tmp_path, session, SHARD) == ""


def test_a_recorder_that_is_still_there_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, session: Session
) -> None:
    said = attach_with(monkeypatch, tmp_path, session, f"{SHARD}; exit 1")
    assert said.startswith(f"the recorder could not leave process {os.getpid()} within a minute")


def test_a_recorder_that_leaves_late_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, session: Session
) -> None:
    said = attach_with(monkeypatch, tmp_path, session, f"{SHARD}; exit 3")
    assert said.startswith(f"the recorder has not left process {os.getpid()} yet")


def test_a_death_is_said_as_the_launcher_says_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, session: Session
) -> None:
    died = f'{SHARD}; echo "process 7 was killed by SIGSEGV" > "$2/launch-error"; exit 2'
    assert "killed by SIGSEGV" in attach_with(monkeypatch, tmp_path, session, died)


def test_a_process_that_was_not_recorded_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, session: Session
) -> None:
    with pytest.raises(NumascapeError, match="ended with status 1 before it could be recorded"):
        attach_with(monkeypatch, tmp_path, session, "exit 1")


EMPTIES_ITS_COMMAND_LINE = """
stat = open("/proc/self/stat").read().rpartition(")")[2].split()
start, end = int(stat[45]), int(stat[46])
with open("/proc/self/mem", "r+b", buffering=0) as memory:
    memory.seek(start)
    memory.write(bytes(end - start))
print("ready", flush=True)
input()
"""


def test_a_process_without_a_command_line_has_its_executable() -> None:
    """The kernel also reports no command line while it starts a program (execve)."""
    words = [sys.executable, "-c", EMPTIES_ITS_COMMAND_LINE]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        command = attaching.command_of_process(process.pid)
        process.communicate(b"\n")
    assert command == [os.path.realpath(sys.executable)]


def test_a_thread_of_the_kernel_is_no_program() -> None:
    kernel = Path("/proc/2/comm")
    if not kernel.exists() or kernel.read_text() != "kthreadd\n":
        pytest.skip("a container does not show the kernel's threads")
    with pytest.raises(NumascapeError, match="is part of the kernel"):
        attaching.command_of_process(2)
