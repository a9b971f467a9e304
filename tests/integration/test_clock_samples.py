# SPDX-License-Identifier: Apache-2.0
"""Samples of the clock say which thread uses which page, and whether it writes."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from integration.attaching import NOBODY, end, running, wait_for
from numascape._native import shard as native
from numascape.findings import Kind, examine, findings_of
from numascape.findings.thresholds import MIN_LINE_OVERLAP
from numascape.installation import installed_file
from numascape.recorders import running_faults
from numascape.recorders.sampled_events import SampledEvent, events_of_running, in_bursts
from numascape.recording.options import RecordOptions

CPU_MS = 400
"""That each of three threads of the program uses."""
ADDED = ("left", "right", "target")
PAGES = 64
HEADER_BYTES = 24
FAULT, SAMPLE = 0, 7
"""Kinds of entries of a log (replay/fault_log.h)."""


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
    # The loop accesses all arrays equally often: the samples agree within six standard deviations.
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
    """An entry of `order` gives the address of a value, and is known only in a part of the loop."""
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


def test_samples_show_whether_threads_share_the_words_of_pages(record: Any, examples: Path) -> None:
    """All threads read the same words of A. Each reads every fourth word of each page of B."""
    options = {"recorder": "samples", "event": "task-clock", "frequency": "10000"}
    recording = record(examples / "matmul", "-n", "512", "naive", **options)
    run = examine(recording.trace)
    by_name = {subject.name: subject for subject in run.subjects}
    assert by_name["A"].seen.layout_overlap.ratio > MIN_LINE_OVERLAP
    assert by_name["B"].seen.layout_overlap.seen == 0
    said = {one.name: one.kind for one in findings_of(run) if one.name in "AB"}
    # With a busy machine's few samples, it may be unknown whether parts differ from page to page.
    assert said["B"] in (Kind.PAGE_FALSE_SHARING, Kind.TOO_FEW_SAMPLES)
    assert said["A"] in (Kind.SHARED_READ_MOSTLY, Kind.TOO_FEW_SAMPLES)


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
        options = ("--recorder", "samples", "--event", "task-clock")
        recording = attach(process.pid, *options, seconds=4)
        assert_added_by_halves(recording)
        assert sums(recording, "writes")["left"] == 0 < sums(recording, "writes")["target"]
        assert recording.trace.info.times.cpu_s > 0
        said = " ".join(recording.trace.info.unseen)
        assert "exact for the pages that were touched first during the recording" in said
        assert "The first touch of each page" not in said
        assert recording.trace.info.exit_status is None
        assert end(process) == ("right\n", 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can sample CPUs, and become another user")
@pytest.mark.parametrize("user", [0, NOBODY])
def test_cpus_are_sampled_or_threads_if_that_is_not_permitted(programs: Path, user: int) -> None:
    """At a switch between threads, the kernel does nothing for the clock of a CPU."""
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if user != 0 and not 0 < level <= 2:
        pytest.skip("this kernel permits users all events, or none")
    [event] = events_of_running(RecordOptions("samples", event="task-clock"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chown(folder, user, user)
        # The installation need not be readable for another user.
        helper = shutil.copy(installed_file("_recorder/numascape-faults"), folder)
        program = shutil.copy(programs / "busy_threads", folder)
        with running(Path(program), "0", user=user) as process:
            threads = {int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir()}
            words = [helper, folder, "--pid", str(process.pid), "0", event.words]
            with subprocess.Popen(words, user=user) as recorder:
                # Page faults are events of threads.
                per_cpu = len(threads) + (1 if user == 0 else len(threads))
                wait_for(lambda: events_of(recorder.pid) == per_cpu * (os.cpu_count() or 1))
                wait_for(lambda: (folder / "faults").stat().st_size > 10 * 48)
                recorder.send_signal(signal.SIGTERM)
            events = pl.DataFrame(native.read_events(f"{folder}/faults", process.pid)["events"])
            sampled = events.filter(pl.col("meaning") == native.FAULT_HINTING)
            assert set(sampled["tid"]) <= threads
            assert len(sampled) > 0
            assert end(process) == ("right\n", 0)


def test_threads_that_switch_often_are_sampled_in_bursts(programs: Path, tmp_path: Path) -> None:
    """Between the bursts, no event of a thread is open, so that a switch costs nothing."""
    [event] = events_of_running(RecordOptions("samples", event="task-clock"))
    event = replace(in_bursts(event), period=event.period_of_threads, period_of_threads=0)
    helper = str(installed_file("_recorder/numascape-faults"))
    with running(programs / "busy_threads", "0") as process:
        threads = {int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir()}
        busy = threads - {process.pid}
        words = [helper, str(tmp_path), "--pid", str(process.pid), "0", event.words]
        log = tmp_path / "faults"
        with ended(subprocess.Popen([*words, "--without-faults"])) as recorder:
            wait_for(lambda: log.exists() and log.stat().st_size > HEADER_BYTES)
            wait_for(lambda: sampled_threads(log, process.pid) >= busy)
            wait_for(lambda: events_of(recorder.pid) == (os.cpu_count() or 1))
            # In the next burst, the events of all threads are opened again.
            # What comes first may be the rest of this one: a part of each CPU.
            for _ in range((os.cpu_count() or 1) + 1):
                wait_for_more(log)
        assert native.read_events(str(log), process.pid)["bursts"] >= 2
        assert sampled_threads(log, process.pid) <= threads
        assert end(process) == ("right\n", 0)


def wait_for_more(log: Path) -> None:
    before = log.stat().st_size
    wait_for(lambda: log.stat().st_size > before)


@contextmanager
def ended(recorder: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """End it, also if a check fails."""
    with recorder:
        try:
            yield recorder
        finally:
            recorder.send_signal(signal.SIGTERM)


def sampled_threads(log: Path, process: int) -> set[int]:
    events = pl.DataFrame(native.read_events(str(log), process)["events"])
    return set(events.filter(pl.col("meaning") == native.FAULT_HINTING)["tid"])


def test_page_faults_are_left_out_where_observing_them_would_cost_much(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_faults, "switches_often", lambda _pid: True)
    events = events_of_running(RecordOptions("samples", event="task-clock"))
    with running(programs / "busy_threads", "0") as process:
        tables, info = running_faults.record_running(process.pid, ["program"], 2, events)
    assert len(tables["accesses"]) > 0
    assert tables["first_touch"].is_empty()
    assert any("first touch of each page is unknown" in sentence for sentence in info.unseen)


def test_an_event_is_sampled_in_the_group_of_its_leader(tmp_path: Path) -> None:
    """Newer processors of Intel need such a group. Context switches can lead every group."""
    helper = str(installed_file("_recorder/numascape-faults"))
    faults = SampledEvent("page-faults", 1, 2, frequency=0, period=1, leader=3)
    subprocess.run([helper, tmp_path, "--samples=" + faults.words, "--", "true"], check=True)
    entries = np.fromfile(tmp_path / "faults", np.uint32, offset=HEADER_BYTES).reshape(-1, 12)
    assert (entries[:, 9] == SAMPLE).sum() == (entries[:, 9] == FAULT).sum() > 0


def events_of(pid: int) -> int:
    """The number of the kernel's events that it observes."""
    return sum("perf_event" in str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir())
