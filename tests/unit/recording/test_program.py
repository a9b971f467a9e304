# SPDX-License-Identifier: Apache-2.0
"""A program is called by the name with which it was started."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape.recording.program import started_as, without_title


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An executable with a link `server` to it, in a folder of PATH."""
    executable = tmp_path / "check"
    executable.touch(0o755)
    (tmp_path / "server").symlink_to("check")
    (tmp_path / "other").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return str(executable)


def test_a_link_is_named_and_not_its_executable(server: str) -> None:
    link = str(Path(server).with_name("server"))
    assert started_as(server, "server") == link
    assert started_as(server, link) == link


@pytest.mark.parametrize("word", ["check", "other", "missing", ""])
def test_another_word_names_the_executable(server: str, word: str) -> None:
    assert started_as(server, word) == server


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["redis-server *:6379"], ["redis-server", "*:6379"]),
        (["nginx: worker process"], ["nginx", "worker", "process"]),
        (["postgres: checkpointer "], ["postgres", "checkpointer"]),
        (["./program", "a b"], ["./program", "a b"]),
        ([" "], [" "]),
    ],
)
def test_a_title_is_a_command(command: list[str], said: list[str]) -> None:
    assert without_title(command) == said


def test_a_path_with_a_space_is_no_title(tmp_path: Path) -> None:
    program = tmp_path / "a program"
    program.touch()
    assert without_title([str(program)]) == [str(program)]
