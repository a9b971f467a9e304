# SPDX-License-Identifier: Apache-2.0
"""A job's classes of ranks, outliers, findings, shared memory, and parts that do not fit."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import numascape
from numascape import NumascapeError
from numascape.findings import Kind
from numascape.jobs.classes import classes_of
from numascape.jobs.describe import describe_job
from numascape.jobs.findings import job_findings
from numascape.jobs.job import analyse_job
from numascape.jobs.merged import open_job, write_merged
from numascape.jobs.shared import shared_memory
from numascape.jobs.stored_sums import store_sums
from numascape.quantities import percent, share_text
from synthetic.job import rank_pattern, write_job, write_rank

Numascape = Callable[..., tuple[int, str, str]]
SIZE = 8


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each rank has stored its sums, as after a recording; they are used until its part changes."""
    job = write_job(tmp_path_factory.mktemp("job") / "run.numascape", SIZE, pages=32)
    for rank in range(SIZE):
        store_sums(job, rank)
    return job


@pytest.fixture
def job(tmp_path: Path, written: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "run.numascape"))


def test_equal_ranks_are_one_class(job: Path) -> None:
    (only,) = classes_of(analyse_job(job).tables)
    assert (only.ranks, only.reason) == (tuple(range(SIZE)), "")


def test_the_errors_of_ranks_that_counted_a_share_of_the_work_are_added_as_squares(
    job: Path,
) -> None:
    analysed = analyse_job(job)
    assert analysed.ranks["error"].to_list() == [0.0] * SIZE
    assert "(accesses) on" in describe_job(analysed)[2]
    accesses = analysed.ranks["reads"] + analysed.ranks["writes"]
    ranks = analysed.ranks.with_columns(error=accesses * 0.08)
    tables = dataclasses.replace(analysed.tables, ranks=ranks)
    assert dataclasses.replace(analysed, tables=tables).estimate_error == pytest.approx(
        0.08 / SIZE**0.5
    )
    line = describe_job(dataclasses.replace(analysed, tables=tables))[2]
    within = share_text(0.08 / SIZE**0.5)
    assert f"estimated from a share of the work; the total is right within {within})" in line


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"work": 4.0}, "times the accesses of rank"),
        ({"fields": 1}, "0 % of its accesses are to field1, usually 40 %"),
        ({"parallel": False}, "go to pages that another thread touched first"),
    ],
)
def test_a_rank_that_does_something_else_is_an_outlier(
    job: Path, options: dict[str, object], reason: str
) -> None:
    write_rank(job, 5, SIZE, rank_pattern(5, SIZE, pages=32, **options))  # type: ignore[arg-type]
    usual, outlier = classes_of(analyse_job(job).tables)
    assert usual.ranks == (0, 1, 2, 3, 4, 6, 7)
    assert outlier.ranks == (5,)
    assert reason in outlier.reason


def test_two_halves_are_two_classes(job: Path) -> None:
    for rank in range(4, SIZE):
        write_rank(job, rank, SIZE, rank_pattern(rank, SIZE, pages=32, work=3))
    classes = classes_of(analyse_job(job).tables)
    assert [(one.ranks, one.reason) for one in classes] == [
        ((0, 1, 2, 3), ""),
        ((4, 5, 6, 7), ""),
    ]
    assert all(one.representative in one.ranks for one in classes)


def test_a_finding_is_told_once_with_the_worst_rank(job: Path, numascape: Numascape) -> None:
    for rank in range(1, SIZE):
        # In rank 6, the field has a larger share of the accesses than the window.
        pages = 1024 if rank == 6 else 512
        pattern = rank_pattern(rank, SIZE, threads=64, pages=pages, parallel=False, fields=1)
        write_rank(job, rank, SIZE, pattern)
        store_sums(job, rank)
    found = job_findings(analyse_job(job).tables)
    (one,) = [one for one in found if one.kind is Kind.SERIAL_FIRST_TOUCH]
    assert (one.name, one.to_do) == ("field0", True)
    assert (one.ranks, one.worst) == (tuple(range(1, SIZE)), 6)
    status, out, _ = numascape("advise", job)
    assert status == 0
    assert "In 7 of 8 ranks (ranks 1-7); worst is rank 6" in out
    assert out.count("serial first touch") == 1


def test_memory_that_rank_0_filled_is_one_structure_and_one_finding(
    job: Path, numascape: Numascape
) -> None:
    (shared,) = shared_memory(analyse_job(job).tables)
    assert (shared.memory, shared.ranks) == ("/dev/shm/window.turing.77", tuple(range(SIZE)))
    assert (shared.first_rank, shared.first_share, shared.serial) == (0, 1.0, True)
    # All ranks make the same number of accesses to their own 16 pages.
    assert shared.foreign_share == pytest.approx(7 / 8)
    assert shared.elsewhere == ()  # all CPUs are of the first node
    out = numascape("advise", job)[1]
    assert "first touch by one rank  window.turing.77" in out
    assert "Rank 0 touched 100 % of its pages first, in fill (solver.c:30)" in out
    assert "Ranks 1-7 use them, too: 88 % of the accesses" in out


def test_show_begins_with_what_advise_finds(job: Path, numascape: Numascape) -> None:
    head, following, *_ = numascape("show", job)[1].splitlines()
    (shared,) = shared_memory(analyse_job(job).tables)
    about = "first touch by one rank (window.turing.77"
    share = percent(7 / 8 * shared.accesses / analyse_job(job).accesses)
    rest = f"{share} of the accesses of all ranks could become local."
    assert head == f"1 finding: {about}). {rest}"
    assert following == f"Causes and fixes: numascape advise {job}"
    pattern = rank_pattern(5, SIZE, threads=64, pages=512, parallel=False, fields=1)
    write_rank(job, 5, SIZE, pattern)
    three = "\n".join(numascape("show", job)[1].splitlines()[:3])
    words = (
        r"3 findings\. The first: .+\. \d+ % of the accesses of all ranks could become local\.\n"
    )
    assert re.match(words, three)
    assert about in three
    assert "serial first touch (field0, in 1 of 8 ranks (rank 5))" in three


def test_a_job_without_a_problem_begins_with_that(tmp_path: Path, numascape: Numascape) -> None:
    job = write_job(tmp_path / "run.numascape", 2, pages=32, serial_window=False)
    head = numascape("show", job)[1].splitlines()[0]
    assert head.startswith("Each rank on its own: No NUMA problem found.")


def test_memory_that_each_rank_filled_is_no_finding(tmp_path: Path, numascape: Numascape) -> None:
    job = write_job(tmp_path / "run.numascape", SIZE, pages=32, serial_window=False)
    for rank in range(SIZE):
        store_sums(job, rank)
    (shared,) = shared_memory(analyse_job(job).tables)
    assert (shared.foreign_share, shared.serial) == (0.0, False)
    assert "first touch by one rank" not in numascape("advise", job)[1]


def test_a_rank_that_touches_later_is_not_the_first(job: Path) -> None:
    """Rank 1 touches its part before rank 0 begins: the clock of the host shows the order."""
    trace = job / "rank=1" / "trace.json"
    document = json.loads(trace.read_text())
    document["part"]["clock_ns"] = 10**17
    trace.write_text(json.dumps(document))
    (shared,) = shared_memory(analyse_job(job).tables)
    assert (shared.first_rank, shared.first_share) == (0, 7 / 8)
    assert shared.foreign_share == pytest.approx(6 / 8)


def test_memory_of_another_host_is_other_memory(job: Path) -> None:
    for rank in (6, 7):
        info = json.loads((job / f"rank={rank}" / "trace.json").read_text())
        host = {**info["host"], "name": "hopper"}
        write_rank(job, rank, SIZE, rank_pattern(rank, SIZE, pages=32), host=host)
    shared = shared_memory(analyse_job(job).tables)
    assert [(one.host, one.ranks) for one in shared] == [
        ("turing", tuple(range(6))),
        ("hopper", (6, 7)),
    ]


def test_show_prints_classes_and_structures(job: Path, numascape: Numascape) -> None:
    status, out, err = numascape("show", job)
    assert (status, err) == (0, "")
    assert "8 of 8 ranks on 1 host (turing), 32 threads" in out
    assert "window.turing.77" in out
    document = json.loads(numascape("show", job, "--json")[1])
    assert len(document["ranks"]) == SIZE
    assert len(document["sums"]) == SIZE * 3


def test_show_prints_what_the_ranks_of_each_host_do(job: Path, numascape: Numascape) -> None:
    assert "Imbalance Busiest\nhopper" not in numascape("show", job)[1]
    for rank in (6, 7):
        info = json.loads((job / f"rank={rank}" / "trace.json").read_text())
        work = 3.0 if rank == 7 else 1.0
        pattern = rank_pattern(rank, SIZE, pages=32, work=work)
        write_rank(job, rank, SIZE, pattern, host={**info["host"], "name": "hopper"})
    lines = [line.split() for line in numascape("show", job)[1].splitlines()]
    rows = {line[0]: line for line in lines if line and line[0] in {"hopper", "turing"}}
    assert rows["hopper"][1:4] == ["0", "2", "8"]
    sixth, seventh = analyse_job(job).ranks.select(pl.col("reads") + pl.col("writes"))["reads"][6:]
    assert rows["hopper"][-3:] == [f"{2 * seventh / (sixth + seventh):.2f}", "rank", "7"]
    assert seventh > 2 * sixth
    assert rows["turing"][1:4] == ["0", "6", "24"]


def test_python_opens_a_job(job: Path) -> None:
    opened = numascape.open(job)
    assert isinstance(opened, numascape.Job)
    assert repr(opened).count("\n") == 2
    assert opened.rank(3).accesses["reads"].sum() == opened.ranks["reads"][3]
    assert opened.sums.group_by("rank").len()["len"].to_list() == [3] * SIZE
    assert (len(opened.classes()), len(opened.shared()), opened.left_out) == (1, 1, [])
    assert any(one.kind is Kind.PARTITIONED for one in opened.findings())


def left_out(job: Path) -> dict[str, str]:
    return {one.part: one.reason for one in analyse_job(job).left_out}


def test_a_missing_rank_is_named(job: Path, numascape: Numascape) -> None:
    shutil.rmtree(job / "rank=2")
    assert left_out(job) == {"rank=2": "missing: the rank has not ended, or was not recorded"}
    assert "left out: rank=2: missing" in numascape("show", job)[1]
    assert "left out: rank=2: missing" in numascape("advise", job)[1]


def test_a_part_of_another_run_is_left_out(job: Path) -> None:
    for rank in (0, 1, 2, 3, 4, 5, 6):
        write_rank(job, rank, SIZE, rank_pattern(rank, SIZE, pages=32), run="later")
    (reason,) = left_out(job).values()
    assert "it belongs to another run (started 2026-03-14T09:26:53+01:00)" in reason


def test_two_parts_of_one_rank_are_not_mixed(job: Path) -> None:
    shutil.rmtree(job / "rank=3")
    shutil.copytree(job / "rank=2", job / "rank=3")
    shutil.copytree(job / "rank=1", job / "rank=01")
    reasons = left_out(job)
    assert reasons.keys() == {"rank=3", "rank=01"}
    assert "it is the part of rank 2" in reasons["rank=3"]
    assert "its name is not that of a part" in reasons["rank=01"]


def test_a_trace_that_is_no_part_is_left_out(job: Path) -> None:
    trace = job / "rank=4" / "trace.json"
    document = json.loads(trace.read_text())
    del document["part"]
    trace.write_text(json.dumps(document))
    assert left_out(job) == {"rank=4": "it was not recorded as a part of a job"}


def test_different_programs_and_versions_are_told(job: Path) -> None:
    recorder = {"name": "binary", "version": "0.0.9", "options": {}}
    for rank in (6, 7):
        pattern = rank_pattern(rank, SIZE, pages=32)
        write_rank(job, rank, SIZE, pattern, program="/bin/coupler", recorder=recorder)
    assert analyse_job(job).notes == [
        "Its ranks ran different programs: coupler (ranks 6-7); solver (ranks 0-5).",
        "Its ranks were recorded by different versions of Numascape: 0.0.9 (ranks 6-7); 0.1.0 "
        "(ranks 0-5).",
    ]


def test_clocks_that_differ_between_hosts_are_told(job: Path) -> None:
    assert analyse_job(job).notes == []
    info = json.loads((job / "rank=7" / "trace.json").read_text())
    host = {**info["host"], "name": "hopper"}
    pattern = rank_pattern(7, SIZE, pages=32)
    write_rank(job, 7, SIZE, pattern, host=host, started="2026-03-14T08:31:53Z")
    (note,) = analyse_job(job).notes
    assert note.startswith("Its hosts began 300 s apart, or their clocks differ")


def test_a_rank_that_a_signal_ended_is_told(job: Path, numascape: Numascape) -> None:
    write_rank(job, 3, SIZE, rank_pattern(3, SIZE, pages=32), exit_status=139)
    assert "rank 3: ended with status 139 (signal 11)" in numascape("show", job)[1]


def test_a_job_without_usable_parts_is_one_line(job: Path, numascape: Numascape) -> None:
    for part in job.glob("rank=*"):
        shutil.rmtree(part)
    status, out, err = numascape("show", job)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "has no part that can be used: rank=0-7: missing" in err


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("advise", "-o", "plan.toml"), "output"),
        (("show", "--structure", "field0"), "structure"),
    ],
)
def test_options_of_one_trace_say_what_to_give(
    job: Path, numascape: Numascape, arguments: tuple[str, ...], option: str
) -> None:
    status, _, err = numascape(arguments[0], job, *arguments[1:])
    assert (status, err.count("\n")) == (2, 1)
    assert f"--{option} needs the trace of one rank, but {job} is a job: give {job}/rank=0" in err


def test_merged_sums_are_used_until_a_part_changes(job: Path, numascape: Numascape) -> None:
    assert numascape("merge", "-q", job) == (0, "", "")
    before = analyse_job(job).tables
    accesses = job / "rank=2" / "accesses.parquet"
    content = accesses.read_bytes()
    accesses.write_bytes(b"not read")
    assert open_job(job).tables.equals(before)
    accesses.write_bytes(content)
    write_rank(job, 2, SIZE, rank_pattern(2, SIZE, pages=32, work=4))
    assert not open_job(job).tables.equals(before)


def test_damaged_merged_sums_are_refused(job: Path) -> None:
    write_merged(analyse_job(job))
    (job / "sums.parquet").write_bytes(b"damaged")
    with pytest.raises(NumascapeError, match=r"sums\.parquet is damaged"):
        open_job(job)


def test_sums_count_every_access(job: Path) -> None:
    tables = analyse_job(job).tables
    by_rank = tables.sums.group_by("rank").agg(pl.col("reads", "writes").sum()).sort("rank")
    assert by_rank.equals(tables.ranks.select("rank", "reads", "writes"))
