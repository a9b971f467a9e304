# SPDX-License-Identifier: Apache-2.0
"""A program sees the same of itself, and its children inherit the same, as without a recorder.

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

from behaviour.ways import BINARY, COMMAND, COMPILED, FAULTS, NATIVE, PLAN, behave

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


@pytest.mark.parametrize("way", [BINARY, FAULTS, PLAN])
def test_open_descriptors_are_inherited(tmp_path: Path, way: str) -> None:
    """Like bash passes `<(command)`: as a path to a descriptor."""
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
