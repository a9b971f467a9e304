# SPDX-License-Identifier: Apache-2.0
"""The state that a program sees under the compiled and the fault recorder, and under a plan."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

RECORDERS = ["compiled", "faults"]


def ignored_of_libc(errors: str) -> int:
    """The bits of the C library's two signals, if the process ignores them."""
    return int(re.findall(r"^of the C library (\w+)$", errors, re.MULTILINE)[0], 16)


def plan_of_nothing(folder: Path) -> Path:
    """A plan for a structure that the program does not have."""
    plan = folder / "plan.toml"
    plan.write_text(
        'format = "numascape-plan"\nversion = 1\n\n'
        '[[structures]]\nname = "nothing"\npolicy = "bind"\nnodes = [0]\n'
    )
    return plan


@pytest.fixture(scope="module", params=RECORDERS)
def program(request: pytest.FixtureRequest, built: Path, programs: Path) -> tuple[str, Path]:
    """The recorder and the program that it records."""
    return request.param, (built if request.param == "compiled" else programs) / "surroundings"


def test_a_process_and_its_child_see_what_they_see_alone(
    record: Any, program: tuple[str, Path]
) -> None:
    recorder, path = program
    alone = subprocess.run([path, "look"], capture_output=True, text=True, check=False)
    recording = record(path, "look", recorder=recorder)
    assert recording.output == alone.stdout
    assert recording.status == alone.returncode == 7
    assert not ignored_of_libc(recording.errors) & ~ignored_of_libc(alone.stderr)


def test_a_preload_of_the_users_is_what_the_program_sees(
    record: Any, program: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, path = program
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    alone = subprocess.run([path, "child"], capture_output=True, text=True, check=False)
    recording = record(path, "child", recorder=recorder)
    assert recording.output == alone.stdout
    assert "LD_PRELOAD=libm.so.6" in alone.stdout


def test_files_that_get_a_recorders_descriptors_are_the_programs(
    record: Any, program: tuple[str, Path], tmp_path: Path
) -> None:
    recorder, path = program
    recording = record(path, "close", tmp_path / "own", recorder=recorder)
    assert (recording.output, recording.status) == ("right\n", 7)
    if recorder == "compiled":
        assert recording.total("pages") == (0, 20000)


@pytest.mark.parametrize("mode", ["strict", "filter"])
def test_a_process_that_gives_system_calls_up_lives_on(
    record: Any, program: tuple[str, Path], mode: str
) -> None:
    recorder, path = program
    recording = record(path, mode, recorder=recorder)
    assert (recording.output, recording.status) == ("right\n", 7)
    assert any(
        "restricted its system calls" in sentence for sentence in recording.trace.info.unseen
    )
    if recorder == "compiled":
        assert recording.total("given", process=1) == (16 * 4096, 16 * 4096)


@pytest.mark.parametrize("mode", ["strict", "filter"])
def test_so_does_one_under_a_plan(programs: Path, command: Path, tmp_path: Path, mode: str) -> None:
    path = programs / "surroundings"
    planned = subprocess.run(
        [command, "run", "--plan", plan_of_nothing(tmp_path), "--verify", "--", path, mode],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (planned.stdout, planned.returncode) == ("right\n", 7)


def test_a_process_under_a_plan_sees_what_it_sees_alone(
    programs: Path, command: Path, tmp_path: Path
) -> None:
    path = programs / "surroundings"
    alone = subprocess.run([path, "look"], capture_output=True, text=True, check=False)
    planned = subprocess.run(
        [command, "run", "--plan", plan_of_nothing(tmp_path), "--", path, "look"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert (planned.stdout, planned.returncode) == (alone.stdout, alone.returncode)
