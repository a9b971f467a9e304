# SPDX-License-Identifier: Apache-2.0
"""The verb `run`: errors are reported before anything starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from numascape.cli.entry import run
from numascape.plan import Plan
from numascape.plan.document import write_plan


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no program given: use numascape run"),
        (["--verify", "--", "true"], "--threads, --verify and --json need --plan FILE"),
        (["--threads", "4", "--", "true"], "need --plan FILE"),
        (["--plan", "none.toml", "--", "true"], "cannot read none.toml: No such file"),
        (["--plan", "plan.toml", "--", "no-such-program"], "there is no such program"),
        (["--plan", "plan.toml"], "no program given: use numascape run"),
    ],
)
def test_mistakes_are_said_in_one_line(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_plan(Plan(environment={"OMP_PLACES": "cores"}), tmp_path / "plan.toml")
    assert run(["run", *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.program
def test_that_a_plan_is_empty_is_said_in_one_line(tmp_path: Path) -> None:
    write_plan(Plan(), tmp_path / "plan.toml")
    done = subprocess.run(
        [sys.executable, "-m", "numascape", "run", "--plan", "plan.toml", "--", "echo", "ran"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "ran\n"
    assert done.stderr == (
        "numascape: note: plan.toml is an empty plan: the program runs as without a plan\n"
    )


@pytest.mark.program
def test_a_full_standard_error_stops_nothing(tmp_path: Path) -> None:
    write_plan(Plan(), tmp_path / "plan.toml")
    words = ["run", "--plan", "plan.toml", "--verify", "--", "sh", "-c", "echo ran; exit 3"]
    with Path(os.devnull).with_name("full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "numascape", *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            check=False,
        )
    assert (done.stdout, done.returncode) == ("ran\n", 3)
