# SPDX-License-Identifier: Apache-2.0
"""What went wrong with an attached process is told, whatever its launcher could still do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.recorders import attach as attaching
from numascape.recording.options import RecordOptions
from numascape.recording.session import Session, begin_session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return begin_session(tmp_path / "run.numascape", ["./program"], RecordOptions("binary"))


def attach_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, session: Session, script: str
) -> str:
    """What `attach` says if its launcher is this script; $2 is the session's folder."""
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
