# SPDX-License-Identifier: Apache-2.0
"""The preparations for a program under a plan, and the end of the run."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from numascape.errors import NumascapeError
from numascape.placement import planned_run
from numascape.plan import Plan


def test_the_user_s_variables_override_the_option_and_this_the_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planned_run, "users_environment", lambda: {"HOME": "/home/a"})
    plan = Plan(environment={"OMP_NUM_THREADS": "4", "HOME": "/plan", "OMP_PROC_BIND": "false"})
    assert planned_run._environment(plan, None) == {
        "OMP_NUM_THREADS": "4",
        "HOME": "/home/a",
        "OMP_PROC_BIND": "false",
    }
    assert planned_run._environment(plan, 9)["OMP_NUM_THREADS"] == "9"


def test_the_folder_is_private_and_its_socket_s_path_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outside = tempfile.TemporaryDirectory(dir="/tmp")
    # With "/numascape-" and eight characters of tempfile, the first path has 89 characters.
    for length, used in ((70, True), (71, False)):
        outer = Path(outside.name) / ("d" * (length - len(outside.name) - 1))
        outer.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(outer))
        with planned_run._private_folder() as folder:
            assert (folder.parent == outer) == used
            assert len(str(folder)) < 90
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert not folder.exists()
    outside.cleanup()


def test_the_library_comes_before_others_by_a_path_without_separators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, strange = tmp_path / "placer.so", tmp_path / "a b:c.so"
    monkeypatch.setattr(planned_run, "installed_file", lambda _: plain)
    assert planned_run._preloaded(tmp_path, "") == str(plain)
    assert planned_run._preloaded(tmp_path, "other.so") == f"{plain}:other.so"
    monkeypatch.setattr(planned_run, "installed_file", lambda _: strange)
    folder = tmp_path / "private"
    folder.mkdir()
    assert planned_run._preloaded(folder, "") == str(folder / "placer.so")
    assert (folder / "placer.so").readlink() == strange


class Prepared:
    """The preparations of a run under the plan; no program is started."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
        self.command: list[str] = []
        self.environment: dict[str, str] = {}
        self.plan = b""
        self.compiled: tuple[Any, ...] = ()
        replaced = {
            "check_program": lambda _: None,
            "usable_resources": lambda: "host",
            "check_host": lambda *_: None,
            "thread_count": lambda *_: 4,
            "compile_plan": self._compile,
            "users_environment": lambda: {"LD_PRELOAD": "other.so"},
            "installed_file": lambda _: folder / "placer.so",
            "read_reports": lambda _folder, _plan, masks: f"verified {masks}",
            "_run": self._run,
        }
        for name, value in replaced.items():
            monkeypatch.setattr(planned_run, name, value)
        self._status = status

    def _compile(self, *arguments: Any) -> Any:
        self.compiled = arguments
        return SimpleNamespace(content=b"compiled", masks=3)

    def _run(self, command: list[str], environment: dict[str, str]) -> int:
        self.command, self.environment = command, environment
        self.plan = Path(environment["NUMASCAPE_PLAN"]).read_bytes()
        questions = socket.socket(socket.AF_UNIX)
        questions.connect(str(self.compiled[3]))  # the placer can ask while the program runs
        questions.close()
        return self._status


def test_a_program_runs_with_the_compiled_plan_and_the_placer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = Prepared(tmp_path, monkeypatch, 5)
    plan = Plan(environment={"OMP_PROC_BIND": "false"})
    run = planned_run.run_with_plan(plan, "p", ["a", "-b"], launcher=["nice"], verifies=True)
    verified: object = run.verification
    assert (run.status, verified) == (5, "verified 3")
    assert prepared.command == ["nice", "a", "-b"]
    assert prepared.plan == b"compiled"
    assert prepared.compiled[:3] == (plan, "host", 4)
    assert prepared.compiled[5] is True
    assert prepared.environment["OMP_PROC_BIND"] == "false"
    assert prepared.environment["LD_PRELOAD"] == f"{tmp_path / 'placer.so'}:other.so"
    assert not Path(prepared.environment["NUMASCAPE_PLAN"]).parent.exists()
    assert planned_run.run_with_plan(plan, "p", ["a"]).verification is None
    assert prepared.command == ["a"]


def test_a_program_that_cannot_be_started_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(planned_run, "start_child", refuse)
    with pytest.raises(NumascapeError, match="a cannot be run: Permission denied"):
        planned_run._run(["a"], {})


def test_signals_go_to_the_program_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    receiver = SimpleNamespace(becomes=seen.append)
    monkeypatch.setattr(planned_run, "signals_passed_on", lambda: nullcontext(receiver))
    child = SimpleNamespace(pid=77, wait=lambda: -9)
    monkeypatch.setattr(planned_run, "start_child", lambda *_: child)
    assert planned_run._run(["a"], {}) == -9
    assert seen == [77]


def ended(status: int) -> int:
    program = f"import numascape.placement.planned_run as p, sys; sys.exit(p.end_as({status}))"
    return subprocess.run([sys.executable, "-c", program], env=os.environ, check=False).returncode


@pytest.mark.program
def test_we_end_as_the_program_did() -> None:
    assert planned_run.end_as(0) == 0
    assert planned_run.end_as(7) == 7
    for number in (signal.SIGTERM, signal.SIGKILL):
        assert ended(-number) == -number
