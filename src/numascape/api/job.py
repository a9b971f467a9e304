# SPDX-License-Identifier: Apache-2.0
"""A job, for scripts and notebooks."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

import polars as pl

from numascape.api.opened_trace import OpenedTrace
from numascape.jobs.classes import RankClass, classes_of
from numascape.jobs.describe import describe_job
from numascape.jobs.engines import Engine
from numascape.jobs.findings import JobFinding, job_findings
from numascape.jobs.job import AnalysedJob
from numascape.jobs.merged import open_job
from numascape.jobs.shared import SharedMemory, shared_memory
from numascape.trace.format import FORMER_NAMES
from numascape.trace.job import JobInfo, LeftOut, part_folder, read_job


class Job:
    """A recorded job: the sums of its ranks as Polars data frames, and the trace of each rank.

    `numascape.open` returns it. Its parts are read when a sum is first used, by processes on this
    machine, or by the workers of `engine`, a function that returns a concurrent.futures.Executor.
    """

    def __init__(self, path: str | os.PathLike[str], engine: Engine | None = None) -> None:
        """Open the job in the folder `path`; reads job.json only."""
        self.path = Path(path)
        self.info: JobInfo = read_job(self.path)
        self._engine = engine

    @cached_property
    def _analysed(self) -> AnalysedJob:
        return open_job(self.path, self._engine)

    def rank(self, rank: int) -> OpenedTrace:
        """The trace of one rank."""
        return OpenedTrace.read(part_folder(self.path, rank))

    @property
    def ranks(self) -> pl.DataFrame:
        """One row per rank: its host, CPUs, process, program, exit status, and counts."""
        return self._analysed.ranks

    @property
    def sums(self) -> pl.DataFrame:
        """One row per rank and structure: accesses, first touches, and pattern."""
        return self._analysed.tables.sums

    @property
    def left_out(self) -> list[LeftOut]:
        """The ranks without a part that can be used, with the reason."""
        return self._analysed.left_out

    def scan(self, table: str) -> pl.LazyFrame:
        """The table of this name of all parts as a lazy frame, with the column `rank`.

        Its values are not checked. `job.rank(3).accesses` checks the values of one rank.
        """
        former = FORMER_NAMES.get(table, table)
        name = table if any(self.path.glob(f"rank=*/{table}.parquet")) else former
        return pl.scan_parquet(
            self.path / "rank=*" / f"{name}.parquet",
            hive_partitioning=True,
            hive_schema={"rank": pl.UInt32},
        )

    def classes(self) -> list[RankClass]:
        """The classes of ranks that do the same to each structure; outliers last."""
        return classes_of(self._analysed.tables)

    def findings(self) -> list[JobFinding]:
        """The findings of ranks, each once for all ranks that have it."""
        return job_findings(self._analysed.tables)

    def shared(self) -> list[SharedMemory]:
        """The memory that several ranks of a host use; the most used first."""
        return shared_memory(self._analysed.tables)

    def __repr__(self) -> str:
        """Return three lines: what ran, on how many ranks and hosts, and what was counted."""
        return "\n".join(describe_job(self._analysed)[:3])
