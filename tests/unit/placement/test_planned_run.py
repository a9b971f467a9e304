# SPDX-License-Identifier: Apache-2.0
"""What is prepared for a program under a plan, and how it ends."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

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


def ended(status: int) -> int:
    program = f"import numascape.placement.planned_run as p, sys; sys.exit(p.end_as({status}))"
    return subprocess.run([sys.executable, "-c", program], env=os.environ, check=False).returncode


def test_we_end_as_the_program_did() -> None:
    assert planned_run.end_as(0) == 0
    assert planned_run.end_as(7) == 7
    for number in (signal.SIGTERM, signal.SIGKILL):
        assert ended(-number) == -number
