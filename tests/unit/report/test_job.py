# SPDX-License-Identifier: Apache-2.0
"""The page of a job as data, and as one file of bounded size."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from numascape.jobs.job import AnalysedJob, analyse_job
from numascape.report import job_file
from numascape.report.job import job_page, numbers_text
from numascape.report.job_file import render_job
from synthetic.job import rank_pattern, write_job, write_rank

SIZE = 6


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> AnalysedJob:
    folder = write_job(tmp_path_factory.mktemp("job") / "run.numascape", SIZE, pages=32)
    write_rank(folder, 4, SIZE, rank_pattern(4, SIZE, pages=32, work=4))
    shutil.rmtree(folder / "rank=2")
    return analyse_job(folder)


def test_cells_count_every_access(job: AnalysedJob) -> None:
    page = job_page(job)
    ranks = job.ranks.height
    cells = page.cells.accesses.reshape(len(page.structures), ranks)
    assert cells.sum(axis=0).tolist() == (job.ranks["reads"] + job.ranks["writes"]).to_list()
    assert cells.sum(axis=1).tolist() == [one["reads"] + one["writes"] for one in page.structures]
    assert page.ranks.rank.tolist() == [0, 1, 3, 4, 5]
    assert sum(place["ranks"] for place in page.places) == ranks
    assert sum(place["accesses"] for place in page.places) == cells.sum()
    # Four threads divide each field; one thread uses the window.
    names = [one["label"] for one in page.structures]
    imbalance = page.cells.imbalance.reshape(cells.shape)
    assert imbalance[names.index("field0")].tolist() == [1000] * ranks
    assert (page.cells.remote > 0).all()  # it is known, and all accesses are local
    assert page.cells.remote.max() == 1


def test_ranks_have_their_class(job: AnalysedJob) -> None:
    page = job_page(job)
    assert [one["ranks"] for one in page.classes] == ["0-1,3,5", "4"]
    assert page.ranks.group.tolist() == [0, 0, 0, 1, 0]
    assert "left out: rank=2: missing" in " ".join(page.about["sentences"])


def test_many_ranks_have_fewer_structures(
    job: AnalysedJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numascape.report.job.MAX_CELLS", 2 * job.ranks.height)
    page = job_page(job)
    assert len(page.structures) == 2
    assert len(page.cells.accesses) == 2 * job.ranks.height


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((7,), "7"), ((0, 1, 2, 5), "0-2,5"), (tuple(range(0, 9, 2)), "0,2,4,6,8")],
)
def test_all_ranks_of_a_class_are_told(numbers: tuple[int, ...], text: str) -> None:
    assert numbers_text(numbers) == text


def test_the_file_has_pages_of_typical_ranks_and_outliers(job: AnalysedJob, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    size, own = render_job(job, file)
    content = file.read_text()
    assert size == len(content.encode())
    assert own == [0, 4]
    assert re.findall(r'id="rank-(\d+)"', content) == ["0", "4"]
    assert "<title>run.numascape" in content


@pytest.mark.slow
def test_the_file_never_exceeds_its_size(
    job: AnalysedJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, _ = render_job(job, tmp_path / "run.html")
    monkeypatch.setattr(job_file, "_SMALLEST", 1000)
    for size in np.linspace(bare - 4000, bare, 3):
        monkeypatch.setattr(job_file, "SIZE", int(size))
        assert render_job(job, tmp_path / "run.html")[0] <= size


def test_a_shared_file_has_one_name(job: AnalysedJob) -> None:
    """All ranks call it the same, so its numbers do not have to be left out."""
    page = job_page(job)
    name = "window.turing.77"
    assert name in [one["label"] for one in page.structures]
    assert [one["name"] for one in page.findings if one["to_do"]] == [name]
    assert [one["name"] for one in page.shared] == [name]
    assert page.about["conclusion"].startswith(f"1 finding: first touch by one rank ({name}). ")


def test_what_each_rank_does_well_is_said_of_each_rank_on_its_own(tmp_path: Path) -> None:
    """A rank does not know what the ranks do to the memory that they share."""
    equal = analyse_job(write_job(tmp_path / "run.numascape", 2, pages=32))
    who = {one["who"] for one in job_page(equal).findings if not one["to_do"]}
    assert who == {"Each rank on its own"}
