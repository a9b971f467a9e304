# SPDX-License-Identifier: Apache-2.0
"""Estimates from bursts agree with what programs do, within the error that they state."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration.attaching import Attach, end, is_free, running
from integration.conftest import Recording
from integration.loaded_command import run_loaded
from numascape.findings import Kind, find
from numascape.trace.counting import counted_share, estimate_errors, run_error
from numascape.trace.format import BURST_GROUPS

PART, PLACES, DOUBLES_PER_PAGE = 1 << 14, 1 << 16, 512
ROUNDS = 300
LONG_ROUNDS = 5 * ROUNDS
ITEMS = 1 << 12
THREADS = 3
# The stated error has a confidence of 95 %. An estimate is this many times as far away from the
# exact number in less than one of 100 000 cases (Student's distribution, 7 degrees of freedom).
FAR = 5


def errors(recording: Recording, structure: str) -> dict[int, tuple[float, float]]:
    """Return the estimated accesses of each thread to the structure, and their error."""
    trace = recording.trace
    (number,) = trace.structures.filter(pl.col("name") == structure)["structure"]
    found = estimate_errors(trace, ["structure", "thread"]).filter(pl.col("structure") == number)
    return {thread: (accesses, error) for _, thread, accesses, error in found.iter_rows()}


def check(recording: Recording, structure: str, exact: dict[int, int]) -> None:
    """Compare the estimates with the exact numbers, by thread."""
    found = errors(recording, structure)
    for thread, number in exact.items():
        accesses, error = found[thread]
        assert abs(accesses - number) <= FAR * error, (thread, accesses, number, error)
        assert error < number / 4


def exact_items(first: int) -> dict[int, int]:
    """Return the accesses of each thread to `items`: each element is read and written."""
    return {first + t: 2 * ROUNDS * (t + 1) * PART for t in range(THREADS)}


def exact_table(first: int) -> dict[int, int]:
    """Return the accesses of each thread to `table`."""
    return {first + t: ROUNDS * PART for t in range(THREADS)}


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_estimates_are_near_what_the_program_does(record: Any, share: float) -> None:
    recording = record("bursts", THREADS, ROUNDS, sample=share)
    assert recording.status == 7
    check(recording, "items", exact_items(1))
    check(recording, "table", exact_table(1))
    reads, writes = recording.total("items")
    assert reads == pytest.approx(writes, rel=0.1)
    assert 0 < run_error(recording.trace) < 0.2


def test_fewer_accesses_are_counted_than_there_are(record: Any) -> None:
    recording = record("bursts", THREADS, ROUNDS, sample=0.02)
    seen = estimate_errors(recording.trace, ["structure", "thread"])
    assert (seen["error"] > 0).any()
    exact = record("bursts", THREADS, ROUNDS)
    assert exact.trace.burst_groups.is_empty()
    assert run_error(exact.trace) == 0.0
    assert exact.total("items")[0] == pytest.approx(sum(exact_items(1).values()) // 2, abs=16)


def test_each_page_has_the_accesses_of_its_bursts(record: Any) -> None:
    trace = record("bursts", THREADS, ROUNDS, sample=0.02).trace
    places = ["structure", "instance", "page", "thread", "phase"]
    by_page = trace.page_bursts.group_by(places).agg(pl.col("accesses").sum(), pl.len())
    assert by_page["len"].max() == BURST_GROUPS
    counted = trace.accesses.select(*places, whole=pl.col("reads") + pl.col("writes"))
    both = counted.join(by_page, on=places)
    assert both.height >= 0.9 * counted.height
    # Groups with one burst less than the others count as much as these.
    assert both["accesses"].sum() == pytest.approx(both["whole"].sum(), rel=0.1)


def test_the_groups_of_a_phase_add_up_to_its_accesses(record: Any) -> None:
    trace = record("phases", "regions", 400, sample=0.5).trace
    key, counted = ["structure", "thread", "phase"], ["reads", "writes"]
    accesses = trace.accesses.group_by(key).agg(pl.col(counted).sum())
    groups = trace.burst_groups.group_by(key).agg(pl.col(counted).sum())
    joined = accesses.join(groups, on=key, suffix="_of_groups")
    assert joined.height == accesses.height
    assert joined["phase"].n_unique() > 2
    # A group with fewer bursts than others counts more, and one with more bursts counts less.
    sums = joined.group_by("phase").agg(pl.col("reads", "reads_of_groups").sum())
    for phase, reads, of_groups in sums.iter_rows():
        assert reads / 2 - 64 < of_groups < 2 * reads + 64, phase


def test_first_touches_are_exact(record: Any) -> None:
    recording = record("bursts", THREADS, ROUNDS, sample=0.02)
    trace = recording.trace
    parts = THREADS * (THREADS + 1) // 2
    for structure, doubles in (("items", parts * PART), ("table", PLACES)):
        wanted = trace.structures.filter(pl.col("name") == structure)
        touches = trace.first_touch.join(wanted.select("structure"), on="structure", how="semi")
        assert touches["page"].n_unique() >= doubles // DOUBLES_PER_PAGE
        assert set(touches["thread"]) == {0}
        # The C library writes the size of a block in front of it.
        by_main = touches.filter(
            pl.col("function") == "main", pl.col("file").str.ends_with("bursts.c")
        )
        assert by_main["page"].n_unique() >= doubles // DOUBLES_PER_PAGE - 1


def test_a_child_is_estimated_by_its_own_work(record: Any) -> None:
    recording = record("bursts", THREADS, ROUNDS, "fork", sample=0.05)
    assert recording.status == 7
    names = recording.trace.structures.filter(pl.col("name") == "items")
    threads = recording.trace.threads
    for process in (0, 1):
        (number,) = names.filter(pl.col("process") == process)["structure"]
        found = estimate_errors(recording.trace, ["structure", "thread"])
        found = found.filter(pl.col("structure") == number).join(
            threads.filter(pl.col("process") == process).select("thread"), on="thread", how="semi"
        )
        most = max(exact_items(1).values())
        accesses, error = found.sort("accesses").select("accesses", "error").row(-1)
        assert abs(accesses - most) <= FAR * error


def test_code_beside_data_is_estimated(record: Any) -> None:
    recording = record("code_beside_data", ROUNDS, sample=0.05)
    assert recording.status == 7
    check(recording, "items", {0: ROUNDS * ITEMS})


def test_a_killed_process_is_estimated_by_the_wanted_share(record: Any) -> None:
    recording = record("bursts", THREADS, ROUNDS, "kill", sample=0.05)
    assert recording.status in (-signal.SIGKILL, 128 + signal.SIGKILL)
    exact = sum(exact_items(1).values())
    found = sum(recording.total("items"))
    # The share of the work that bursts saw is near the wanted one, but not the same.
    assert found == pytest.approx(exact, rel=0.5)


def test_a_share_that_changes_gives_the_same_estimates(record: Any) -> None:
    recording = record("bursts", THREADS, LONG_ROUNDS, sample="auto", cost=2.0)
    assert recording.status == 7
    longer = LONG_ROUNDS // ROUNDS
    check(recording, "items", {t: longer * n for t, n in exact_items(1).items()})
    check(recording, "table", {t: longer * n for t, n in exact_table(1).items()})
    work = recording.trace.info.recorder.counted_work
    assert work is not None
    # Different shares were in force: the mean of the weights is above that of one share.
    assert work.weight > 1.01 / work.share
    assert recording.trace.info.times.estimated_native_cpu_s > 0


def test_a_lower_cost_counts_a_smaller_share(record: Any) -> None:
    low, high = (
        record("bursts", THREADS, LONG_ROUNDS, sample="auto", cost=cost).trace
        for cost in (1.01, 20.0)
    )
    assert low.info.recorder.options["cost"] == 1.01
    assert counted_share(low) < counted_share(high) / 2


def test_a_child_has_levels_of_its_own(record: Any) -> None:
    recording = record("bursts", 1, LONG_ROUNDS, "fork", sample="auto", cost=3.0)
    assert recording.status == 7
    names = recording.trace.structures.filter(pl.col("name") == "items")
    found = estimate_errors(recording.trace, ["structure"])
    for (number,) in names.select("structure").iter_rows():
        _, accesses, error = found.filter(pl.col("structure") == number).row(0)
        assert abs(accesses - 2 * LONG_ROUNDS * PART) <= FAR * error


def test_findings_state_the_error(record: Any) -> None:
    recording = record("bursts", THREADS, ROUNDS, sample=0.05)
    findings = [one for one in find(recording.trace) if one.structure is not None]
    assert {(one.name, one.kind) for one in findings} >= {
        ("items", Kind.SERIAL_FIRST_TOUCH),
        ("table", Kind.SHARED_READ_MOSTLY),
    }
    for finding in findings:
        (stated,) = [one for one in finding.evidence if "from bursts" in one.what]
        assert 0 < stated.value < 0.5


def test_a_running_process_has_no_first_touches(programs: Path, attach: Attach) -> None:
    with running(programs / "attached", "2") as process:
        recording = attach(process.pid, "--sample", "0.2")
        assert is_free(process.pid)
        assert end(process) == ("right\n", 42)
    assert recording.total("source")[0] > 0
    assert recording.trace.first_touch.is_empty()
    assert any("no page faults were recorded" in one for one in recording.trace.info.unseen)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample", "0.7"], "a share of 0.7 of the work cannot be counted: use 0.0001 to 0.5"),
        (["--sample", "-1"], "a share of -1 of the work cannot be counted: use 0.0001 to 0.5"),
        (["--sample", "nan"], "a share of nan of the work cannot be counted: use 0.0001 to 0.5"),
        (["--sample", "0.1", "--traffic"], "--sample and --traffic cannot be used together"),
        (["--sample", "0.1", "--recorder", "faults"], "the faults recorder cannot count a share"),
        (["--sample", "much"], "--sample much: give a share of the work, or auto"),
        (["--sample", "0.1", "--cost", "1.2"], "--cost needs --sample auto: only it holds a cost"),
        (["--cost", "1.2"], "--cost needs --sample auto: only it holds a cost"),
        (
            ["--sample", "auto", "--cost", "0.9"],
            "a cost of 0.9 times the CPU time cannot be held: use 1.01 to 100",
        ),
        (["--sample", "auto", "--traffic"], "--sample and --traffic cannot be used together"),
    ],
)
def test_what_cannot_be_recorded_is_said(options: list[str], message: str, tmp_path: Any) -> None:
    ended = run_loaded(["record", "-o", tmp_path / "t.numascape", *options, "--", "/bin/true"])
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not list(tmp_path.iterdir())
