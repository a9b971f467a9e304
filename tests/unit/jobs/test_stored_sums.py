# SPDX-License-Identifier: Apache-2.0
"""The sums that a rank stores in its part are used if they fit, but always checked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from numascape.jobs import task as task_module
from numascape.jobs.job import analyse_job
from numascape.jobs.stored_sums import SUMS_FILE, read_stored, store_sums
from numascape.jobs.tables import JobTables, merge
from numascape.jobs.task import Task
from numascape.trace.job import list_parts, read_job
from synthetic.job import write_job

SIZE = 3


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_job(tmp_path_factory.mktemp("job") / "run.numascape", SIZE, pages=8)


@pytest.fixture(scope="module")
def computed(written: Path) -> JobTables:
    return merge(task() for task in tasks(written))


@pytest.fixture(scope="module")
def summed(written: Path, computed: JobTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The job with stored sums; depends on the sums that were computed without them."""
    assert computed.ranks.height == SIZE
    folder = shutil.copytree(written, tmp_path_factory.mktemp("summed") / "run.numascape")
    for rank in range(SIZE):
        store_sums(folder, rank)
    return folder


@pytest.fixture
def job(summed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(summed, tmp_path / "run.numascape")


def tasks(job: Path) -> list[Task]:
    return [Task(read_job(job), rank, folder) for rank, folder in list_parts(job)[0].items()]


def test_stored_sums_are_those_that_are_computed(job: Path, computed: JobTables) -> None:
    tables, others = read_stored(tasks(job))
    assert tables.equals(computed)
    assert others == []


def test_reading_a_job_opens_no_table_of_its_parts(
    job: Path, computed: JobTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_module, "sum_up", lambda *_: pytest.fail("a part was summed up"))
    finished: list[int] = []
    assert analyse_job(job, done=finished.append).tables.equals(computed)
    assert sum(finished) == SIZE
    # Engines use the stored sums as well.
    assert analyse_job(job, partial(ThreadPoolExecutor, 2)).tables.equals(computed)


Document = dict[str, Any]


def of_another_version(document: Document) -> None:
    document["numascape"] = "0.0.9"


def of_another_trace(document: Document) -> None:
    document["trace"] += 1


def of_another_rank(document: Document) -> None:
    document["sums"]["rank"][0] = 2


def without_a_column(document: Document) -> None:
    del document["sums"]["reads"]


def with_a_value_too_few(document: Document) -> None:
    document["sums"]["reads"].pop()


def with_text_for_a_number(document: Document) -> None:
    document["sums"]["reads"][0] = "many"


def with_a_negative_count(document: Document) -> None:
    document["sums"]["reads"][0] = -1


def with_a_missing_value(document: Document) -> None:
    document["sums"]["reads"][0] = None


def with_no_number(document: Document) -> None:
    document["sums"]["share"][0] = float("nan")


def with_an_unknown_finding(document: Document) -> None:
    document["findings"]["kind"][0] = "bad luck"


def with_a_list_for_a_table(document: Document) -> None:
    document["shared"] = [1]


@pytest.mark.parametrize(
    "change",
    [
        of_another_version,
        of_another_trace,
        of_another_rank,
        without_a_column,
        with_a_value_too_few,
        with_text_for_a_number,
        with_a_negative_count,
        with_a_missing_value,
        with_no_number,
        with_an_unknown_finding,
        with_a_list_for_a_table,
    ],
)
def test_sums_that_do_not_fit_are_not_used(job: Path, change: Callable[[Document], None]) -> None:
    path = job / "rank=1" / SUMS_FILE
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    tables, others = read_stored(tasks(job))
    assert [task.rank for task in others] == [1]
    assert tables.ranks["rank"].to_list() == [0, 2]


@pytest.mark.parametrize("text", ["", "[" * 100_000, "{}", "[]", "1"])
def test_a_file_that_is_no_document_is_not_used(job: Path, text: str) -> None:
    (job / "rank=1" / SUMS_FILE).write_text(text)
    assert [task.rank for task in read_stored(tasks(job))[1]] == [1]


def test_a_part_whose_tables_changed_is_summed_up_again(job: Path, computed: JobTables) -> None:
    """The changed part is read again, so its damage is found."""
    assert analyse_job(job).tables.equals(computed)
    (job / "rank=2" / "accesses.parquet").write_bytes(b"damaged")
    analysed = analyse_job(job)
    assert analysed.ranks["rank"].to_list() == [0, 1]
    assert [one.part for one in analysed.left_out] == ["rank=2"]


def test_a_part_that_is_not_of_the_job_gets_no_sums(job: Path) -> None:
    shutil.rmtree(job / "rank=1")
    shutil.copytree(job / "rank=2", job / "rank=1")
    (job / "rank=1" / SUMS_FILE).unlink()
    store_sums(job, 1)
    assert not (job / "rank=1" / SUMS_FILE).exists()
