# SPDX-License-Identifier: Apache-2.0
"""Unusual actions of programs work under a recorder as they do alone, with correct counts."""

import os
from typing import Any

import pytest

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
