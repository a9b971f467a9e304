# SPDX-License-Identifier: Apache-2.0
"""A new thread uses the recorder of an ended thread, and their counts are not mixed."""

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from numascape.installation import installed_file

PAGES = 512  # of the array `own` in thread_waves.c


def used(thread: int) -> dict[int, tuple[int, int]]:
    """Pages of `own` that the program's thread of this number uses, from 0."""
    return {thread % PAGES: (0, thread % 61 + 1)}


def check_waves(recording: Any, threads: int, at_once: int) -> None:
    assert recording.status == 0
    rows = recording.trace.threads.sort("thread")
    assert rows["thread"].to_list() == list(range(threads + 1))
    own = recording.pages_by_thread("own")
    assert own.keys() == set(range(1, threads + 1))
    for first in range(0, threads, at_once):
        wave = range(first, first + at_once)
        # The order in which threads of a wave begin is unknown.
        found = sorted(sorted(own[thread + 1].items()) for thread in wave)
        assert found == sorted(sorted(used(thread).items()) for thread in wave)
    every = range(1, threads + 1)
    assert recording.pages_by_thread("shared") == {thread: {0: (1, 0)} for thread in every}
    assert recording.total("own") == (0, sum(t % 61 + 1 for t in range(threads)))


def check_first_touches(recording: Any, threads: int, at_once: int) -> None:
    """A page belongs to the first thread that uses it, not to an earlier user of its recorder."""
    touches = recording.trace.first_touch.join(
        recording.trace.structures.filter(pl.col("name") == "own").select("structure"),
        on="structure",
        how="semi",
    )
    toucher = dict(touches.select("page", "thread").iter_rows())
    assert toucher.keys() == set(range(min(threads, PAGES)))
    waves = {page: (thread - 1) // at_once for page, thread in toucher.items()}
    assert waves == {page: page // at_once for page in toucher}


@pytest.mark.parametrize(("threads", "at_once"), [(700, 1), (1400, 7)])
def test_counts_of_threads_that_end(record: Any, threads: int, at_once: int) -> None:
    recording = record("thread_waves", threads, at_once)
    check_waves(recording, threads, at_once)
    check_first_touches(recording, threads, at_once)


@pytest.mark.parametrize(("threads", "at_once"), [(700, 1), (1400, 7)])
def test_counts_of_compiled_threads_that_end(compiled: Any, threads: int, at_once: int) -> None:
    recording = compiled("thread_waves", threads, at_once)
    check_waves(recording, threads, at_once)
    check_first_touches(recording, threads, at_once)


def test_twenty_thousand_threads(record: Any) -> None:
    check_waves(record("thread_waves", 20_000, 4), 20_000, 4)


def test_twenty_thousand_compiled_threads(compiled: Any) -> None:
    check_waves(compiled("thread_waves", 20_000, 4), 20_000, 4)


def test_lines_of_memory_of_threads_that_end(record: Any) -> None:
    """Each thread begins with an empty cache: it fetches its own line and the shared line."""
    recording = record("thread_waves", 100, 2, traffic=True)
    check_waves(recording, 100, 2)
    lines = recording.rows("own").group_by("thread").agg(pl.col("memory_lines").sum())
    assert Counter(lines["memory_lines"]) == {1: 100}


def test_samples_are_of_the_thread_that_made_the_access(record: Any) -> None:
    """A thread that takes over the recorder of an ended one does not inherit its samples."""
    trace = record("thread_waves", 100, 2).trace
    shared = trace.structures.filter(pl.col("name") == "shared").select("structure")
    seen = trace.seen_lines.join(shared, on="structure", how="semi")
    times = dict(seen.group_by("thread").agg(pl.col("times").sum()).iter_rows())
    # Each thread reads it once, and all first executions of code are sampled.
    assert times[1] == times[2] == 1


@pytest.mark.parametrize("at_once", [1, 8])
def test_files_are_those_of_the_threads_alive_at_once(
    programs: Path, tmp_path: Path, at_once: int
) -> None:
    home = installed_file("_recorder")
    sizes: dict[int, tuple[int, int]] = {}
    for threads in (400, 800):
        folder = tmp_path / str(threads)
        folder.mkdir()
        program = [str(programs / "thread_waves"), str(threads), str(at_once)]
        launch = [str(home / "numascape-launch"), str(home), str(folder), "", "--", *program]
        subprocess.run(launch, check=True, timeout=300)
        (shard,) = folder.glob("*.shard")
        sizes[threads] = (shard.stat().st_size, shard.with_suffix(".tables").stat().st_blocks)
        # Three open chunks of 64 KiB for each living thread, 4 KiB of records for an ended one.
        assert shard.stat().st_size < (1 << 20) + at_once * (3 << 16) + threads * 4096
    # The next thread uses the pages of the table again. It may get another table than the last
    # thread with its stack, so a longer run touches somewhat more of them. Without this, each of
    # 400 threads would need a page of its own at least: 8 blocks of 512 bytes.
    assert sizes[800][1] - sizes[400][1] < 400 * 8 // 4


@pytest.mark.parametrize("recorder", ["record", "compiled"])
def test_stacks_of_threads_that_come_in_turn(recorder: str, request: Any) -> None:
    """The C library gives the stack of a thread that has ended to the next one."""
    trace = request.getfixturevalue(recorder)("stacks_in_turn").trace
    stacks = trace.structures.filter(pl.col("kind") == "stack").select("structure", "name")
    touches = trace.first_touch.join(stacks, on="structure")
    for thread in (1, 2, 3):
        of_stack = touches.filter(pl.col("name") == f"Stack#{thread}")
        assert of_stack.height >= 3
        # Its pages may be those that an earlier thread touched first.
        assert set(of_stack["thread"]) <= set(range(thread + 1))
        written = trace.accesses.join(stacks, on="structure").filter(
            pl.col("name") == f"Stack#{thread}", pl.col("thread") == thread
        )
        assert written["writes"].sum() >= 1500
