# SPDX-License-Identifier: Apache-2.0
"""Unusual actions of programs work as without a recorder, and the counts are right."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import COMMAND

MODES = ["resume", "altstack", "longjmp", "coroutines", "storm", "fork_threads", "closefrom"]
MODES += ["chdir", "few_descriptors", "setsid", "exceptions"]


@pytest.mark.parametrize("mode", MODES)
def test_programs_survive_and_count(record: Any, mode: str) -> None:
    recording = record("survival", mode)
    assert (recording.output, recording.status) == ("right\n", 7)
    assert recording.total("data", process=0)[1] >= 1024


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")
@pytest.mark.parametrize("mode", ["chroot", "setuid"])
def test_children_that_cannot_write_are_given_files(
    record: Any, mode: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    recording = record("survival", mode)
    assert (recording.output, recording.status) == ("right\n", 7)
    assert len(recording.trace.info.processes) == 2
    assert not any("Forked processes" in sentence for sentence in recording.trace.info.unseen)


@pytest.mark.parametrize("recorder", ["binary", "faults"])
def test_an_interrupt_of_the_command_alone_reaches_the_program(
    programs: Path, recorder: str, tmp_path: Path
) -> None:
    options = ["-q", "--recorder", recorder, "-o", str(tmp_path / "t"), "--"]
    with subprocess.Popen(
        [COMMAND, "record", *options, programs / "attached", "0", "asleep"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            process.wait(timeout=300)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        assert process.stdout.read() == ""  # its end, after the read, was not reached
    assert process.returncode == 128 + signal.SIGINT
    assert (tmp_path / "t").is_dir()
