# SPDX-License-Identifier: Apache-2.0
"""Reports of real recordings show the intended patterns of the examples."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest

from browser.opened import Open, Opened

ROOT = Path(__file__).parents[2]
NUMASCAPE = Path(sysconfig.get_path("scripts")) / "numascape"
ACCESSES = "canvas.accesses"
FIRST = "canvas.first-touches"
THREADS = 8


@pytest.fixture
def open_recording(open_file: Open, tmp_path: Path) -> Open:
    """Record an example with 8 threads and open its report."""

    def opened(example: str, version: str, *options: str) -> Opened:
        program = ROOT / "examples" / "build" / example
        trace, page = tmp_path / "run.numascape", tmp_path / "run.html"
        command: list[str | Path] = ["--", program, version, "-t", str(THREADS)]
        run: list[str | Path] = ["record", "-o", trace, *options, *command]
        subprocess.run([NUMASCAPE, *run], check=True, stdin=subprocess.DEVNULL, capture_output=True)
        subprocess.run([NUMASCAPE, "report", trace, "-o", page], check=True, capture_output=True)
        return open_file(page)

    return opened


def test_naive_matmul_uses_all_of_b_with_every_thread(open_recording: Open) -> None:
    report = open_recording("matmul", "naive")
    report.choose("B")
    rows = THREADS + 1  # the main thread, which initialises, and the workers
    for row in range(rows):
        assert all(report.drawn(ACCESSES, x / 10, (row + 0.5) / rows) for x in range(1, 10))
    assert all(report.drawn(FIRST, x / 10, 0.5 / rows) for x in range(1, 10))
    assert not any(report.drawn(FIRST, 0.5, (row + 0.5) / rows) for row in range(1, rows))
    assert report.requests == [report.file.as_uri()]


def test_a_page_of_bursts_says_that_its_numbers_are_estimates(open_recording: Open) -> None:
    report = open_recording("seismic", "serial", "--sample", "0.2")
    assert "serial first touch" in report.page.locator(".card").first.inner_text()
    told = report.page.locator(".prose.counting").inner_text().replace("\u202f", " ")
    assert told.startswith("Only 20.0 % of the work was counted, in short bursts.")
    assert "±" in report.page.locator(".facts").inner_text()
    report.choose("wave.vx")
    assert all(report.drawn(FIRST, x / 10, 0.5 / THREADS) for x in range(1, 10))


def test_block_matmul_splits_c_in_halves(open_recording: Open) -> None:
    report = open_recording("matmul", "block")
    report.choose("C")
    rows = THREADS + 1
    halves = []
    for row in range(1, rows):
        left, right = (
            all(report.drawn(ACCESSES, x, (row + 0.5) / rows) for x in part)
            for part in ((0.1, 0.3, 0.45), (0.55, 0.7, 0.9))
        )
        assert left != right
        halves.append("left" if left else "right")
    assert sorted(halves) == ["left"] * 4 + ["right"] * 4


def test_serial_seismic_is_touched_by_thread_0(open_recording: Open) -> None:
    report = open_recording("seismic", "serial")
    assert "serial first touch" in report.page.locator(".card").first.inner_text()
    report.choose("wave.vx")
    assert all(report.drawn(FIRST, x / 10, 0.5 / THREADS) for x in range(1, 10))
    assert not any(report.drawn(FIRST, 0.5, (t + 0.5) / THREADS) for t in range(1, THREADS))


def test_parallel_seismic_is_touched_by_its_users(open_recording: Open) -> None:
    report = open_recording("seismic", "parallel")
    report.choose("wave.vx")
    diagonal = [(t + 0.5) / THREADS for t in range(THREADS)]
    for x in diagonal:
        for y in diagonal:
            assert report.drawn(FIRST, x, y) == (x == y)
    assert all(report.drawn(ACCESSES, x, x) for x in diagonal)
