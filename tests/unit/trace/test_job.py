# SPDX-License-Identifier: Apache-2.0
"""A job's folder: parts that ranks write side by side, and parts that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest

import numascape
from numascape import NumascapeError
from numascape.trace import Trace, TraceInfo, write_trace
from numascape.trace.check_target import check_job
from numascape.trace.info import JobPart
from numascape.trace.job import JobInfo, missing_ranks, parse_ranks, part_folder, read_job
from numascape.trace.write_part import write_part

Tables = dict[str, pl.DataFrame]


def write(folder: Path, rank: int, tables: Tables, info: TraceInfo, **changes: object) -> Path:
    about: dict[str, object] = {"job": "run", "rank": rank, "size": 3, "launcher": "PMI"}
    write_part(folder, JobPart(**{**about, **changes}), tables, info)  # type: ignore[arg-type]
    return part_folder(folder, rank)


@pytest.fixture
def job(tmp_path: Path, tables: Tables, info: TraceInfo) -> Path:
    for rank in range(3):
        write(tmp_path / "run.numascape", rank, tables, info)
    return tmp_path / "run.numascape"


def test_each_part_is_a_trace(job: Path) -> None:
    assert read_job(job) == JobInfo("run", "PMI", 3)
    for rank in range(3):
        trace = Trace.read(job / f"rank={rank}")
        assert trace.info.part is not None
        assert (trace.info.part.rank, trace.accesses.height) == (rank, 5)


def test_a_trace_of_one_process_says_nothing_of_jobs(trace_folder: Path) -> None:
    assert "part" not in json.loads((trace_folder / "trace.json").read_text())
    assert Trace.read(trace_folder).info.part is None


def test_other_programs_read_the_rank_from_the_folder(job: Path) -> None:
    files = str(job / "rank=*" / "accesses.parquet")
    found = duckdb.sql(
        f"select rank, sum(reads) from read_parquet('{files}', hive_partitioning=true) "
        "group by rank order by rank"
    )
    assert found is not None
    rows = found.fetchall()
    assert rows == [(0, 942), (1, 942), (2, 942)]
    opened = numascape.open(job)
    assert isinstance(opened, numascape.Job)
    by_rank = opened.scan("accesses").group_by("rank").agg(pl.col("reads").sum()).sort("rank")
    assert by_rank.collect().rows() == rows


def test_a_rank_replaces_only_its_own_part(job: Path, tables: Tables, info: TraceInfo) -> None:
    before = {rank: (job / f"rank={rank}").stat().st_ino for rank in range(3)}
    write(job, 1, tables, info)
    after = {rank: (job / f"rank={rank}").stat().st_ino for rank in range(3)}
    assert [rank for rank in range(3) if before[rank] != after[rank]] == [1]


def test_a_smaller_run_removes_the_other_parts(job: Path, tables: Tables, info: TraceInfo) -> None:
    for rank in (1, 0):
        write(job, rank, tables, info, job="later", size=2)
    assert sorted(path.name for path in job.glob("rank=*")) == ["rank=0", "rank=1"]


def test_a_run_of_some_ranks_removes_the_other_parts(
    job: Path, tables: Tables, info: TraceInfo
) -> None:
    write(job, 1, tables, info, job="later", recorded="1-2")
    assert sorted(path.name for path in job.glob("rank=*")) == ["rank=1", "rank=2"]


def test_a_launcher_without_identity_leaves_no_old_part(job: Path) -> None:
    check_job(job, JobPart("", 1, 3))
    assert not (job / "rank=1").exists()
    check_job(job, JobPart("later", 2, 3))
    assert (job / "rank=2").exists()


def test_a_job_replaces_a_trace_and_a_trace_a_job(
    trace_folder: Path, tables: Tables, info: TraceInfo
) -> None:
    check_job(trace_folder, JobPart("run", 0, 2))
    write(trace_folder, 0, tables, info)
    assert sorted(path.name for path in trace_folder.iterdir()) == ["job.json", "rank=0"]
    write_trace(trace_folder, tables, info)
    assert Trace.read(trace_folder).info.part is None
    assert not (trace_folder / "rank=0").exists()


def test_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    with pytest.raises(NumascapeError, match="exists and is not a trace"):
        check_job(tmp_path / "run", JobPart("run", 0, 2))


def test_another_rank_may_have_made_the_folder(tmp_path: Path) -> None:
    (tmp_path / "run" / ".rank=1.ab12.partial").mkdir(parents=True)
    check_job(tmp_path / "run", JobPart("run", 0, 2))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": "other"}, "is not a job: its format is 'other'"),
        ({"version": 2}, "has version 2 of a job's format"),
        ({"size": 0}, "is damaged: size"),
        ({"job": 3}, "is damaged: job"),
    ],
)
def test_a_damaged_document_is_refused(job: Path, change: dict[str, object], reason: str) -> None:
    document = json.loads((job / "job.json").read_text())
    (job / "job.json").write_text(json.dumps({**document, **change}))
    with pytest.raises(NumascapeError, match=reason):
        read_job(job)


def test_options_for_one_trace_say_what_to_give(
    job: Path, numascape: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    for option, *verb in (
        ("--structure", "show", job, "--structure", "field"),
        ("--output", "advise", job, "-o", tmp_path / "plan.toml"),
        ("--sarif", "advise", job, "--sarif", tmp_path / "log"),
        ("--machine", "report", job, "--machine", "numa16"),
        ("--machine", "view", job, "--machine", "numa16"),
    ):
        status, out, err = numascape(*verb)
        assert (status, out) == (2, ""), verb
        assert err.count("\n") == 1
        assert f"{option} needs the trace of one rank, but {job} is a job: give {job}/rank=0" in err
    with pytest.raises(NumascapeError, match="is a job, and this needs the trace of one rank"):
        Trace.read(job)


def gaps(folder: Path, known: set[int], **about: object) -> list[str]:
    return [
        one.part
        for one in missing_ranks(folder, JobInfo("run", "PMI", **about), known)  # type: ignore[arg-type]
    ]


def test_missing_ranks_are_named_in_ranges(tmp_path: Path) -> None:
    job = tmp_path / "run"
    assert gaps(job, {0, 1, 2}, size=3) == []
    assert gaps(job, {1, 5}, size=8) == ["rank=0", "rank=2-4", "rank=6-7"]
    assert gaps(job, {1, 5}, size=8, recorded="1,4-5,7") == ["rank=4", "rank=7"]
    assert gaps(job, {1, 3}, size=None) == ["rank=0", "rank=2"]
    # A document can state any size.
    assert gaps(job, {0}, size=1 << 24) == ["rank=1-16777215"]


def test_an_unfinished_recording_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.rank=2.recording-x1").mkdir()
    found = missing_ranks(tmp_path / "run", JobInfo("run", "PMI", 4), {0, 1})
    assert [one.part for one in found] == ["rank=2", "rank=3"]
    convert = f"numascape convert {tmp_path / 'run.rank=2.recording-x1'}"
    assert [convert in one.reason for one in found] == [True, False]


def test_lists_of_ranks_are_joined() -> None:
    assert parse_ranks("7,0,5-6,6-9") == (range(1), range(5, 10))
