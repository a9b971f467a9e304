# SPDX-License-Identifier: Apache-2.0
"""The cost of recording is measured, if requested, by first running the program without it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from numascape.analysis.run_description import describe_run

LOOP = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"


@pytest.mark.parametrize("recorder", ["binary", "faults"])
def test_both_runs_are_measured(record: Any, tmp_path: Path, recorder: str) -> None:
    runs = tmp_path / "runs"
    script = f"{LOOP}; echo run >>{runs}"
    trace = record("/bin/sh", "-c", script, measure_cost=True, recorder=recorder).trace
    assert runs.read_text() == "run\nrun\n"
    times = trace.info.times
    assert 0 < times.native_cpu_s < 60
    assert f"times the {times.native_cpu_s:.2f} s without" in describe_run(trace)[1]


def test_without_it_the_program_runs_once(record: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    trace = record("/bin/sh", "-c", f"echo run >>{runs}").trace
    assert runs.read_text() == "run\n"
    assert trace.info.times.native_cpu_s is None
    assert "times" not in describe_run(trace)[1]


def test_the_programs_own_failure_is_its_status(record: Any) -> None:
    recording = record("/bin/sh", "-c", "exit 3", measure_cost=True)
    assert recording.status == 3
    assert recording.trace.info.exit_status == 3


def test_a_signal_in_the_first_run_ends_both(command: Path, tmp_path: Path) -> None:
    trace = tmp_path / "run.numascape"
    program = ["/bin/sh", "-c", "kill -TERM $$"]
    ended = subprocess.run(
        [command, "record", "-q", "--measure-cost", "-o", trace, "--", *program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == (
        "numascape: error: signal 15 ended /bin/sh while it ran without recording; nothing was "
        "recorded\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_missing_program_is_one_line(command: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [command, "record", "-q", "--measure-cost", "-o", tmp_path / "t", "--", "/absent"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "/absent" in ended.stderr
    assert list(tmp_path.iterdir()) == []
