# SPDX-License-Identifier: Apache-2.0
"""The page of a job as plain data: its ranks by class, its structures, and what they do to each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from numascape.analysis.page_columns import Column
from numascape.analysis.text import short_printable
from numascape.jobs.classes import RankClass, classes_of, structure_label
from numascape.jobs.conclusion import job_conclusion
from numascape.jobs.describe import describe_job
from numascape.jobs.findings import JobFinding, job_findings
from numascape.jobs.job import AnalysedJob
from numascape.jobs.places import job_places
from numascape.jobs.shared import SHARED_KIND, SharedMemory, shared_memory
from numascape.jobs.stakes import findings_to_do, ranks_alone, ranks_with, share_at_stake
from numascape.jobs.structures import job_structures
from numascape.quantities import bytes_text, percent
from numascape.report.run import plain

MAX_STRUCTURES = 64
"""Maximum number of structures of the heat map, the most used first; a screen shows no more
rows."""
MAX_CELLS = 1 << 20
"""Maximum number of cells of the heat map; with more ranks, it has fewer structures."""
MAX_ROWS = 200
"""Maximum number of rows of three other tables: classes, findings, shared memory."""


@dataclass(frozen=True)
class RankColumns:
    """The ranks, ascending. `status` is the exit status + 1; 0: the end was not seen.

    `place` and `group` are indices into the places and the classes of the page.
    """

    rank: Column
    place: Column
    group: Column
    status: Column
    threads: Column
    reads: Column
    writes: Column


@dataclass(frozen=True)
class JobCells:
    """The use of S structures by R ranks: S x R.

    `remote` is 1 + the share in thousandths, 0 if unknown; `imbalance` is the accesses of the
    busiest thread over the mean of the threads, in thousandths.
    """

    accesses: Column
    remote: Column
    imbalance: Column


@dataclass(frozen=True)
class JobPage:
    """The content of the page; `own` are the ranks whose pages are in the file."""

    about: dict[str, Any]
    classes: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    structures: list[dict[str, Any]]
    shared: list[dict[str, Any]]
    places: list[dict[str, Any]]
    ranks: RankColumns
    cells: JobCells
    own: list[int] = dataclasses.field(default_factory=list)


def job_page(job: AnalysedJob) -> JobPage:
    """The page of a job, without pages of its ranks."""
    classes = classes_of(job.tables)
    shown = job_structures(job.tables).head(
        max(1, min(MAX_STRUCTURES, MAX_CELLS // max(1, job.ranks.height)))
    )
    places = job_places(job)
    found = job_findings(job.tables)
    return JobPage(
        about=plain(_about(job, found)),
        classes=[plain(_class(job, one)) for one in classes[:MAX_ROWS]],
        findings=_findings(job, found)[:MAX_ROWS],
        structures=plain(shown.with_columns(label="name").drop("name").to_dicts()),
        shared=[plain(_shared(one)) for one in shared_memory(job.tables)[:MAX_ROWS]],
        places=plain(places.drop("nodes").to_dicts()),
        ranks=_rank_columns(job, classes, places),
        cells=_cells(job, shown),
    )


def _about(job: AnalysedJob, found: list[JobFinding]) -> dict[str, Any]:
    ranks = job.ranks
    return {
        "name": job.path.name,
        "conclusion": short_printable(job_conclusion(job, found)),
        "sentences": describe_job(job),
        "program": ranks.item(0, "program"),
        "launcher": job.info.launcher,
        "size": job.info.size,
        "ranks": ranks.height,
        "hosts": ranks["host"].n_unique(),
        "threads": int(ranks["threads"].sum()),
        "started": min(ranks["started"]),
        "wall_s": ranks["wall_s"].max(),
        "counts": sorted(set(ranks["counts"])),
        "pages": int(ranks["pages"].sum()),
        "reads": int(ranks["reads"].sum()),
        "writes": int(ranks["writes"].sum()),
        "estimate_error": job.estimate_error,
    }


def _class(job: AnalysedJob, one: RankClass) -> dict[str, Any]:
    rows = job.tables.sums.filter(pl.col("rank") == one.representative)
    main = rows.sort("share", "structure", descending=[True, False]).head(3)
    return {
        "ranks": numbers_text(one.ranks),
        "count": len(one.ranks),
        "representative": one.representative,
        "reason": one.reason,
        "main": [f"{row['name']} {percent(row['share'])}" for row in main.iter_rows(named=True)],
    }


def numbers_text(numbers: tuple[int, ...]) -> str:
    """All numbers as ranges, `0-3,7`: the page expands them again."""
    array = np.asarray(numbers)
    starts = np.flatnonzero(np.diff(array, prepend=array[0] - 2) != 1)
    ends = np.append(starts[1:], len(array)) - 1
    return ",".join(
        f"{array[i]}" if i == j else f"{array[i]}-{array[j]}"
        for i, j in zip(starts, ends, strict=True)
    )


def _findings(job: AnalysedJob, found: list[JobFinding]) -> list[dict[str, Any]]:
    urgent = [
        _shared_finding(job, one) if isinstance(one, SharedMemory) else _finding(job, one)
        for one in findings_to_do(job, found)
    ]
    return [*urgent, *(_finding(job, one) for one in found if not one.to_do)]


def _finding(job: AnalysedJob, one: JobFinding) -> dict[str, Any]:
    return {
        "kind": one.kind.value,
        "name": short_printable(one.name),
        "place": short_printable(str(one.place)),
        "ranks": len(one.ranks),
        "who": ranks_with(job, one) if one.to_do else ranks_alone(job, one),
        "share": share_at_stake(job, one),
        "worst": one.worst,
        "worst_share": one.worst_share,
        "why": short_printable(one.why),
        "advice": [short_printable(sentence) for sentence in one.advice],
        "to_do": one.to_do,
    }


def _shared_finding(job: AnalysedJob, one: SharedMemory) -> dict[str, Any]:
    return {
        "kind": SHARED_KIND,
        "name": short_printable(one.name),
        "place": short_printable(str(one.place)),
        "ranks": len(one.ranks),
        "who": short_printable(f"{len(one.ranks)} ranks of {one.host} share it"),
        "share": share_at_stake(job, one),
        "worst": one.first_rank,
        "worst_share": 0.0,
        "why": short_printable(one.why),
        "advice": [short_printable(sentence) for sentence in one.advice],
        "to_do": True,
    }


def _shared(one: SharedMemory) -> dict[str, Any]:
    return {
        "name": one.name,
        "host": one.host,
        "size": bytes_text(one.bytes),
        "ranks": len(one.ranks),
        "accesses": one.accesses,
        "first_rank": one.first_rank,
        "first_share": one.first_share,
        "foreign_share": one.foreign_share,
    }


def _rank_columns(job: AnalysedJob, classes: list[RankClass], places: pl.DataFrame) -> RankColumns:
    group = {rank: number for number, one in enumerate(classes) for rank in one.ranks}
    at = {
        (host, tuple(nodes)): number
        for number, (host, nodes) in enumerate(places.select("host", "nodes").iter_rows())
    }
    ranks = job.ranks
    where = [at[host, tuple(nodes)] for host, nodes in ranks.select("host", "nodes").iter_rows()]
    return RankColumns(
        rank=_column(ranks["rank"]),
        place=np.array(where, dtype=np.uint64),
        group=np.array([group[rank] for rank in ranks["rank"]], dtype=np.uint64),
        # Statuses below -1 do not occur; the page must not fail for a damaged one.
        status=_column(ranks["exit_status"].cast(pl.Int64).clip(-1) + 1),
        threads=_column(ranks["threads"]),
        reads=_column(ranks["reads"]),
        writes=_column(ranks["writes"]),
    )


def _cells(job: AnalysedJob, shown: pl.DataFrame) -> JobCells:
    total = pl.col("reads") + pl.col("writes")
    by_structure = shown.select("label", "kind").with_row_index("row")
    positions = job.ranks.select("rank").with_row_index("column")
    cells = (
        job.tables.sums.with_columns(label=structure_label(), accesses=total)
        .join(by_structure, on=["label", "kind"])
        .join(positions, on="rank")
        .with_columns(at=pl.col("row").cast(pl.UInt64) * job.ranks.height + pl.col("column"))
        .group_by("at")
        .agg(
            pl.col("known", "remote").sum(),
            # The mean over structures with one name, weighted by accesses.
            imbalance=(pl.col("busiest_share") * pl.col("threads") * pl.col("accesses")).sum()
            / pl.col("accesses").sum(),
            accesses=pl.col("accesses").sum(),
        )
        .with_columns(
            remote=pl.when(pl.col("known") > 0)
            .then((pl.col("remote") * 1000 / pl.col("known")).round() + 1)
            .otherwise(0),
            imbalance=(pl.col("imbalance") * 1000).round(),
        )
    )
    size = shown.height * job.ranks.height
    at = cells["at"].to_numpy()

    def dense(name: str) -> Column:
        values = np.zeros(size, dtype=np.uint64)
        values[at] = _column(cells[name])
        return values

    return JobCells(dense("accesses"), dense("remote"), dense("imbalance"))


def _column(values: pl.Series) -> Column:
    column: Column = values.cast(pl.UInt64).to_numpy()
    return column
