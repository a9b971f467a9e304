# SPDX-License-Identifier: Apache-2.0
"""Samples of the clock say which thread uses which page, and whether it writes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration.attaching import end, running

CPU_MS = 400
"""That each of three threads of the program uses."""
ADDED = ("left", "right", "target")
PAGES = 64


@pytest.fixture(scope="module")
def sampled(record: Any) -> Any:
    return record("busy_threads", str(CPU_MS), recorder="samples", event="task-clock")


def rows(recording: Any, *names: str) -> pl.DataFrame:
    trace = recording.trace
    named = trace.structures.filter(pl.col("name").is_in(names)).select("structure", "name")
    counted: pl.DataFrame = trace.accesses.join(named, on="structure")
    return counted.with_columns(samples=pl.col("reads") + pl.col("writes"))


def sums(recording: Any, column: str) -> dict[str, int]:
    by_name = rows(recording, *ADDED).group_by("name").agg(pl.col(column).sum())
    return dict(by_name.iter_rows())


def test_each_thread_has_a_sample_in_about_each_millisecond(sampled: Any) -> None:
    assert (sampled.output, sampled.status) == ("right\n", 0)
    assert sampled.trace.info.recorder.counts == "samples"
    assert sampled.trace.info.recorder.options["event"] == "task-clock"
    per_thread = sampled.trace.accesses.group_by("thread").agg(
        (pl.col("reads") + pl.col("writes")).sum()
    )
    working = dict(per_thread.filter(pl.col("thread") > 0).iter_rows())
    assert sorted(working) == [1, 2, 3]
    assert all(CPU_MS / 6 < samples < 1.5 * CPU_MS for samples in working.values())


def assert_added_by_halves(recording: Any) -> None:
    added = rows(recording, *ADDED).filter(pl.col("thread") > 0)
    by_half = added.group_by(pl.col("page") < PAGES // 2).agg(pl.col("thread").unique())
    halves = dict(by_half.iter_rows())
    assert all(len(threads) == 1 for threads in halves.values())
    assert halves[True] != halves[False]
    # The loop accesses each array as often as the others: within six standard deviations.
    samples = sums(recording, "samples")
    whole = sum(samples.values())
    for name in ADDED:
        assert abs(samples[name] - whole / 3) < 6 * math.sqrt(whole * 2 / 9), samples


def test_the_accesses_of_a_loop_have_equal_shares(sampled: Any) -> None:
    assert_added_by_halves(sampled)


def test_reads_and_writes_are_told_apart(sampled: Any) -> None:
    work = rows(sampled, *ADDED).filter(pl.col("thread") > 0)
    by_name = work.group_by("name").agg(pl.col("reads").sum(), pl.col("writes").sum())
    counts = {name: (reads, writes) for name, reads, writes in by_name.iter_rows()}
    assert counts["left"][1] == counts["right"][1] == 0 < counts["left"][0]
    assert counts["target"][0] == 0 < counts["target"][1]


def test_an_access_by_a_loaded_index_is_seen(sampled: Any) -> None:
    """The address of a value follows from the order only in a part of the loop."""
    gathered = rows(sampled, "values", "order").filter(pl.col("thread") == 3)
    assert set(gathered["name"]) == {"values", "order"}
    assert set(rows(sampled, "values")["thread"]) == {3}
    assert rows(sampled, "values")["page"].n_unique() > PAGES // 4


def test_samples_are_at_the_line_of_the_access(sampled: Any) -> None:
    trace = sampled.trace
    left = trace.structures.filter(pl.col("name") == "left").select("structure")
    at = trace.source_lines.join(left, on="structure").filter(pl.col("function") == "add")
    text = Path(str(at["file"][0])).read_text().splitlines()
    assert all("target[i] = left[i]" in text[line - 1] for line in at["line"])


def test_first_touches_are_exact(sampled: Any) -> None:
    left = sampled.trace.structures.filter(pl.col("name") == "left").select("structure")
    touched = sampled.trace.first_touch.join(left, on="structure")
    assert sorted(touched["page"].to_list()) == list(range(PAGES))
    assert set(touched["thread"]) == {0}


def test_fewer_samples_on_request(record: Any, sampled: Any) -> None:
    options = {"recorder": "samples", "event": "task-clock", "frequency": 100}
    seldom = record("busy_threads", str(CPU_MS), **options).trace.info
    assert seldom.recorder.options["frequency"] == 100
    assert 0 < 4 * seldom.totals.reads < sampled.trace.info.totals.reads


def test_a_running_process_is_sampled_from_outside(programs: Path, attach: Any) -> None:
    with running(programs / "busy_threads", "0") as process:
        options = ("--recorder", "samples", "--event", "task-clock", "--seconds", "4")
        recording = attach(process.pid, *options)
        assert_added_by_halves(recording)
        assert sums(recording, "writes")["left"] == 0 < sums(recording, "writes")["target"]
        assert end(process) == ("right\n", 0)
