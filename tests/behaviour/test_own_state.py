# SPDX-License-Identifier: Apache-2.0
"""A program sees the same state as without a recorder, and its children inherit the same.

Unavoidable differences are listed here, and in docs/behaviour.md.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from behaviour.repeating import repeating
from behaviour.ways import (
    ATTACH,
    ATTACHES,
    BINARY,
    COMMAND,
    COMPILED,
    FAULTS,
    NATIVE,
    PLAN,
    attached,
    behave,
)

TOPICS = ("descriptor", "signal", "limit", "variable", "child", "identity", "thread")
# The environment of all runs, so that nothing but the recorder is different.
GIVEN = ("PATH", "HOME", "LANG", "TMPDIR")
RECORDERS_FILES = r"\.recording-"
FIXED_ADDRESSES = "identity personality"
NOTHING = "(?!)"
BY_NATURE = {
    # DynamoRIO keeps 96 descriptors for itself, at the upper end.
    BINARY: rf"{RECORDERS_FILES}|{FIXED_ADDRESSES}|"
    r"limit 7:|limit of the C library|child limits: nofiles",
    FAULTS: rf"{RECORDERS_FILES}|{FIXED_ADDRESSES}",
    COMPILED: rf"{RECORDERS_FILES}|{FIXED_ADDRESSES}",
    PLAN: NOTHING,
    # The recorder has a thread in the process.
    ATTACH: rf"{RECORDERS_FILES}|thread count:",
}
CELLS = [(way, topic) for way in (BINARY, FAULTS, PLAN, COMPILED) for topic in TOPICS]
Seen = Callable[[str, Path], list[str]]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Return seen(way, program): the lines that it printed; the same call runs once."""

    @cache
    def run(way: str, program: Path) -> list[str]:
        folder = tmp_path_factory.mktemp(way)
        given = {name: os.environ[name] for name in GIVEN if name in os.environ}
        found = behave(way, folder, [program], {**given, "GIVEN": "kept"})
        assert (found.errors, found.status) == ("", 7)
        text = re.sub(r"pipe:\[\d+\]|/proc/\d+/fd", "...", found.output)
        return text.replace(str(folder), "FOLDER").splitlines()

    return run


@pytest.mark.parametrize(("way", "topic"), CELLS)
def test_state_is_as_by_itself(
    programs: Path, compiled_programs: Path, seen: Seen, way: str, topic: str
) -> None:
    program = (compiled_programs if way == COMPILED else programs) / "own_state"
    expected, found = (
        [
            line
            for line in seen(run, program)
            if line.startswith(topic) and not re.search(BY_NATURE[way], line)
        ]
        for run in (NATIVE, way)
    )
    assert found == expected


def _lines_of_rounds(output: str) -> list[list[str]]:
    text = re.sub(r"pipe:\[\d+\]|/proc/\d+/fd", "...", output)
    return [part.splitlines() for part in text.split("round\n")]


def test_state_is_the_same_before_while_and_after_a_recorder_is_attached(
    programs: Path, tmp_path: Path
) -> None:
    with repeating(tmp_path, [programs / "own_state"]) as process:
        process.begin_rounds(1)
        for _ in range(ATTACHES):
            with attached(process.pid, tmp_path, process.lives, process.waiting):
                process.begin_rounds(2)
            process.begin_rounds(1)
        first, *others = _lines_of_rounds(process.end())
    assert process.status == 7
    assert len(others) > 3 * ATTACHES
    different = {
        line
        for lines in others
        for line in set(lines) ^ set(first)
        if not re.search(BY_NATURE[ATTACH], line)
    }
    assert not different


@pytest.mark.parametrize("way", [BINARY, FAULTS, PLAN])
def test_open_descriptors_are_inherited(tmp_path: Path, way: str) -> None:
    """The program gets a path to a descriptor, as bash passes `<(command)`."""
    content, write_end = os.pipe()
    os.write(write_end, b"through a pipe\n")
    os.close(write_end)
    command = [COMMAND, "record", "-q", "--recorder", way, "-o", tmp_path / "t.numascape", "--"]
    if way == PLAN:
        command = [COMMAND, "run", "--"]
    finished = subprocess.run(
        [*map(str, command), "cat", f"/dev/fd/{content}"],
        capture_output=True,
        pass_fds=(content,),
        check=False,
    )
    os.close(content)
    assert (finished.stdout, finished.stderr) == (b"through a pipe\n", b"")
