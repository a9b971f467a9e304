# SPDX-License-Identifier: Apache-2.0
"""The ranks of a host as one trace: compared, predicted, exported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from numascape import NumascapeError
from numascape.jobs.together import trace_of_job
from numascape.trace import Trace
from synthetic.job import rank_pattern, write_job, write_rank

Numascape = Callable[..., tuple[int, str, str]]
SIZE = 4
THREADS = 4


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_job(tmp_path_factory.mktemp("job") / "serial.numascape", SIZE, pages=32)


@pytest.fixture
def job(tmp_path: Path, written: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "serial.numascape"))


def test_all_ranks_are_in_the_trace(written: Path) -> None:
    trace = trace_of_job(written)
    parts = [Trace.read(written / f"rank={rank}") for rank in range(SIZE)]
    assert trace.threads["thread"].to_list() == list(range(SIZE * THREADS))
    for name in ("reads", "writes"):
        assert trace.accesses[name].sum() == sum(part.accesses[name].sum() for part in parts)
    names = trace.structures["name"].to_list()
    assert names.count("field0") == SIZE
    assert names.count("window.turing.77") == 1
    assert len(trace.info.processes) == SIZE
    # All tables pass the checks of a trace that is read.
    for table in ("placement", "instances", "source_lines", "phases", "first_touch"):
        trace.table(table)


def test_shared_memory_has_the_threads_of_all_ranks_and_the_earliest_touch(written: Path) -> None:
    trace = trace_of_job(written)
    window = trace.structures.filter(pl.col("name") == "window.turing.77")
    used = trace.accesses.join(window.select("structure"), on="structure")
    assert sorted(used["thread"].unique()) == [THREADS * rank for rank in range(SIZE)]
    touched = trace.first_touch.join(window.select("structure"), on="structure")
    # Rank 0 touched the whole window a second before the others.
    assert touched.height == 16 * SIZE
    assert touched["thread"].unique().to_list() == [0]
    assert trace.first_touch["order"].to_list() == list(range(trace.first_touch.height))


def test_jobs_are_compared(job: Path, tmp_path: Path, numascape: Numascape) -> None:
    after = write_job(tmp_path / "parallel.numascape", SIZE, pages=32, serial_window=False)
    status, out, _ = numascape("compare", job, after, "--json")
    assert status == 0
    document = json.loads(out)
    assert [document[side]["threads"] for side in ("before", "after")] == [SIZE * THREADS] * 2
    (window,) = [one for one in document["structures"] if one["name"].startswith("window")]
    assert window["before"]["foreign_share"] == 1 - 1 / SIZE
    assert window["after"]["foreign_share"] == 0
    assert numascape("compare", job, after, "--fail-if", "foreign-share+0")[0] == 0
    assert numascape("compare", after, job, "--fail-if", "foreign-share+0")[0] == 1


def test_a_job_is_predicted_on_a_machine(job: Path, numascape: Numascape) -> None:
    status, out, _ = numascape("predict", job, "--machine", "numa16", "--json")
    assert status == 0
    assert json.loads(out)
    assert numascape("advise", job, "--machine", "numa16")[0] == 0


def test_a_job_is_exported(job: Path, tmp_path: Path, numascape: Numascape) -> None:
    assert numascape("export", "-q", job, "-o", tmp_path / "tables")[0] == 0
    sums = pl.read_csv(tmp_path / "tables" / "sums.csv")
    assert sums.height == 3 * SIZE
    accesses = pl.read_csv(tmp_path / "tables" / "rank=2" / "accesses.csv")
    trace = Trace.read(job / "rank=2")
    assert accesses["reads"].sum() == trace.accesses["reads"].sum()


@pytest.mark.parametrize("verb", ["predict", "compare"])
def test_several_hosts_are_one_line(job: Path, numascape: Numascape, verb: str) -> None:
    info = json.loads((job / "rank=3" / "trace.json").read_text())
    host = {**info["host"], "name": "hopper"}
    write_rank(job, 3, SIZE, rank_pattern(3, SIZE, pages=32), host=host)
    more = (job,) if verb == "compare" else ("--machine", "numa16")
    status, out, err = numascape(verb, job, *more)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "ran on 2 hosts, but this command needs one host: give the trace of one rank" in err


def test_a_missing_rank_is_one_line(job: Path) -> None:
    shutil.rmtree(job / "rank=1")
    with pytest.raises(NumascapeError, match="is not complete: rank=1: missing"):
        trace_of_job(job)


def test_call_paths_of_each_rank_are_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "sampled.numascape"
    for rank in range(2):
        pattern = rank_pattern(rank, 2, pages=32)
        inner = pattern.call(f"work{rank}", 7, pattern.call("main", 3))
        pattern.sample(0, 0, 1, inner, 5 + rank)
        pattern.touched_in(inner)
        write_rank(folder, rank, 2, pattern)
    trace = trace_of_job(folder)
    assert trace.call_paths.select("path", "caller", "function").rows() == [
        (0, -1, "main"),
        (1, 0, "work0"),
        (2, -1, "main"),
        (3, 2, "work1"),
    ]
    rows = trace.path_accesses.join(trace.structures.select("structure", "name"), on="structure")
    assert rows.select("name", "thread", "path", "reads").sort("path").rows() == [
        ("field0", 1, 1, 5),
        ("field0", 1 + THREADS, 3, 6),
    ]
    touched = trace.first_touch.select(rank=pl.col("thread") // THREADS, path="path")
    assert sorted(touched.unique().rows()) == [(0, 1), (1, 3)]
