# SPDX-License-Identifier: Apache-2.0
"""If the disk fills up during a recording, the program continues, and the counts are kept."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import numascape
from integration.conftest import COMMAND, EXAMPLES
from synthetic.job import write_job


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=640k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("recorder", ["binary", "compiled", "faults"])
def test_a_disk_that_is_full_from_the_start_is_refused(small_disk: Path, recorder: str) -> None:
    (small_disk / "other").write_bytes(bytes(600 << 10))
    done = subprocess.run(
        [COMMAND, "record", "-q", "--recorder", recorder, "-o", small_disk / "run", "--", "echo"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert f"the disk of {small_disk} is full: make room there" in line
    assert not list(small_disk.glob("run*"))


def test_a_full_disk_ends_neither_program_nor_recording(small_disk: Path, tmp_path: Path) -> None:
    program: list[str | Path] = [EXAMPLES / "build" / "seismic", "-t", "2", "serial"]
    recorded = subprocess.run(
        [COMMAND, "record", "-q", "-o", small_disk / "run.numascape", "--", *program],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "wave symmetric" in recorded.stdout
    assert recorded.returncode == 2
    (line,) = recorded.stderr.splitlines()
    (left,) = small_disk.glob("run.numascape.recording-*")
    assert f"numascape convert {left}" in line
    trace_path = tmp_path / "run.numascape"
    subprocess.run([COMMAND, "convert", "-q", left, "-o", trace_path], timeout=300, check=True)
    trace = numascape.open(trace_path)
    assert any("disk was full" in sentence for sentence in trace.info.unseen)
    assert trace.info.totals.reads > 0


def test_sums_that_do_not_fit_on_the_disk_are_one_line(small_disk: Path) -> None:
    job = write_job(small_disk / "run.numascape", 2, pages=4)
    with suppress(OSError), (small_disk / "other").open("wb", buffering=0) as other:
        while other.write(bytes(4096)):
            pass
    done = subprocess.run(
        [COMMAND, "merge", job], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"numascape: error: cannot write in {job}: ")
    assert not list(job.glob("*.parquet"))


def test_a_full_standard_error_stops_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "run.numascape"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [COMMAND, "record", "-o", trace, "--", "echo", "ran"],
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            timeout=300,
            check=False,
        )
    assert (done.stdout, done.returncode) == ("ran\n", 0)
    assert numascape.open(trace).info.totals.threads == 1
