# SPDX-License-Identifier: Apache-2.0
"""A disk that fills up during a recording: the program goes on, what was counted is kept."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import numascape
from integration.conftest import COMMAND, EXAMPLES


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=640k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_ends_neither_program_nor_recording(small_disk: Path, tmp_path: Path) -> None:
    program: list[str | Path] = [EXAMPLES / "build" / "seismic", "-t", "2", "serial"]
    recorded = subprocess.run(
        [COMMAND, "record", "-q", "-o", small_disk / "run.numascape", "--", *program],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "wave symmetric" in recorded.stdout
    assert recorded.returncode == 2
    (line,) = recorded.stderr.splitlines()
    (left,) = small_disk.glob("run.numascape.recording-*")
    assert f"numascape convert {left}" in line
    trace_path = tmp_path / "run.numascape"
    subprocess.run([COMMAND, "convert", "-q", left, "-o", trace_path], timeout=100, check=True)
    trace = numascape.open(trace_path)
    assert any("disk was full" in sentence for sentence in trace.info.unseen)
    assert trace.info.totals.reads > 0
