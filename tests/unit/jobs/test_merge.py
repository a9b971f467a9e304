# SPDX-License-Identifier: Apache-2.0
"""The sums of a job do not depend on the engine, the order, or the grouping of its parts."""

from __future__ import annotations

import os
import random
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numascape.jobs.engines import Engine, local_engine, merge_in_tree, reduce_in_tree
from numascape.jobs.job import analyse_job
from numascape.jobs.part import sum_up
from numascape.jobs.tables import JobTables, merge
from numascape.jobs.task import Task
from numascape.trace.job import list_parts, part_folder, read_job
from synthetic.job import rank_pattern, write_job, write_rank

SIZE = 18


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 ranks: one does more work than the others, and one is damaged."""
    folder = write_job(tmp_path_factory.mktemp("job") / "run.numascape", SIZE, pages=16)
    write_rank(folder, 7, SIZE, rank_pattern(7, SIZE, pages=16, work=3))
    (part_folder(folder, 11) / "accesses.parquet").write_bytes(b"damaged")
    return folder


@pytest.fixture(scope="module")
def parts(job: Path) -> list[JobTables]:
    info = read_job(job)
    return [sum_up(info, rank, folder) for rank, folder in list_parts(job)[0].items()]


@pytest.fixture(scope="module")
def whole(parts: list[JobTables]) -> JobTables:
    return merge(parts)


def tasks(job: Path) -> list[Task]:
    return [Task(read_job(job), rank, folder) for rank, folder in list_parts(job)[0].items()]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), groups=st.integers(1, SIZE))
def test_order_and_grouping_do_not_matter(
    parts: list[JobTables], whole: JobTables, seed: int, groups: int
) -> None:
    draw = random.Random(seed)
    shuffled = draw.sample(parts, len(parts))
    levels: list[list[JobTables]] = [[] for _ in range(groups)]
    for one in shuffled:
        levels[draw.randrange(groups)].append(one)
    merged = merge(merge(level) for level in levels)
    assert merged.equals(whole)
    assert merged.equals(merge_in_tree(shuffled))
    # Merging again changes nothing, so it does no harm if a task is done twice.
    assert merge([merged, *shuffled[:3]]).equals(merged)


@dataclass(frozen=True)
class Done(Task):
    """A task that returns sums that were computed before."""

    result: JobTables | None = None

    def __call__(self) -> JobTables:
        assert self.result is not None
        return self.result


@pytest.mark.parametrize(
    "start",
    [pytest.param(None, id="here"), pytest.param(partial(ThreadPoolExecutor, 3), id="threads")],
)
def test_engines_give_the_same_result(
    job: Path, parts: list[JobTables], whole: JobTables, start: Engine | None
) -> None:
    finished: list[int] = []
    done = [
        Done(task.job, task.rank, task.folder, part)
        for task, part in zip(tasks(job), parts, strict=True)
    ]
    assert reduce_in_tree(done, start, finished.append).equals(whole)
    assert sum(finished) == SIZE


@pytest.mark.program
def test_processes_give_the_same_result(job: Path, whole: JobTables) -> None:
    finished: list[int] = []
    result = reduce_in_tree(tasks(job), local_engine(SIZE), finished.append)
    assert result.equals(whole)
    assert sum(finished) == SIZE


def test_a_broken_part_is_named_and_left_out(tmp_path: Path) -> None:
    job = write_job(tmp_path / "run.numascape", 4, pages=16)
    (part_folder(job, 2) / "accesses.parquet").write_bytes(b"damaged")
    analysed = analyse_job(job, partial(ThreadPoolExecutor, 2))
    assert analysed.ranks["rank"].to_list() == [0, 1, 3]
    (left_out,) = analysed.left_out
    assert (left_out.rank, left_out.part) == (2, "rank=2")
    assert "accesses.parquet is damaged: it has 7 bytes" in left_out.reason


@dataclass(frozen=True)
class Killing(Task):
    """A task whose worker is killed, the first time or always."""

    marker: Path = Path()
    always: bool = False
    tester: int = field(default_factory=os.getpid)

    def __call__(self) -> JobTables:
        assert os.getpid() != self.tester, "a worker has a process of its own"
        if self.always or not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), 9)
        return super().__call__()


def processes() -> Executor:
    return ProcessPoolExecutor(1, get_context("spawn"))


@pytest.mark.program
def test_tasks_of_killed_workers_are_done_again_and_those_that_kill_are_left_out(
    job: Path, tmp_path: Path
) -> None:
    some = tasks(job)[:3]
    some[0] = Killing(some[0].job, 0, some[0].folder, tmp_path / "once")
    some[2] = Killing(some[2].job, 2, some[2].folder, tmp_path / "always", always=True)
    result = reduce_in_tree(some, processes)
    assert result.ranks["rank"].to_list() == [0, 1]
    assert result.left_out.rows() == [
        (2, "rank=2", "its analysis was killed, probably because memory was short")
    ]
