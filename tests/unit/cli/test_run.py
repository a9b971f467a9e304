# SPDX-License-Identifier: Apache-2.0
"""The verb `run`: what is wrong is said before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape.cli.entry import run
from numascape.placement import Plan, write_plan


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "run what? name a program after --"),
        (["--verify", "--", "true"], "--threads, --verify and --json go with --plan FILE"),
        (["--threads", "4", "--", "true"], "go with --plan FILE"),
        (["--plan", "none.toml", "--", "true"], "cannot read none.toml: No such file"),
        (["--plan", "plan.toml", "--", "no-such-program"], "there is no such program"),
        (["--plan", "plan.toml"], "run what? name a program after --"),
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
    write_plan(Plan(), tmp_path / "plan.toml")
    assert run(["run", *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
