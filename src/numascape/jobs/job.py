# SPDX-License-Identifier: Apache-2.0
"""Analyses a job: sums up all parts, and merges them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from numascape.errors import NumascapeError
from numascape.jobs.engines import Engine, local_engine, reduce_in_tree
from numascape.jobs.stored_sums import read_stored
from numascape.jobs.tables import JobTables, merge
from numascape.jobs.task import Task
from numascape.quantities import ranges_text, share_of
from numascape.trace.job import JobInfo, LeftOut, list_parts, missing_ranks, read_job

MAX_SECONDS_APART = 60
"""Launchers start the ranks of all hosts within seconds."""


@dataclass(frozen=True, eq=False)
class AnalysedJob:
    """A job, and the tables of all its parts that can be used."""

    path: Path
    info: JobInfo
    tables: JobTables

    @property
    def ranks(self) -> pl.DataFrame:
        """One row per rank."""
        return self.tables.ranks

    @property
    def left_out(self) -> list[LeftOut]:
        """The ranks without a usable part, with the reason."""
        return [LeftOut(*row) for row in self.tables.left_out.iter_rows()]

    @cached_property
    def accesses(self) -> int:
        """Accesses of all ranks; if only first touches were recorded, their number."""
        return int(self.tables.sums["reads"].sum()) + int(self.tables.sums["writes"].sum())

    @cached_property
    def estimate_error(self) -> float:
        """The error of the number of all accesses, as a share of it; 0 if all were counted.

        The bursts of the ranks are independent, so the squares of their errors add up.
        """
        ranks = self.ranks
        error = math.sqrt((ranks["error"] ** 2).sum())
        return share_of(error, int(ranks["reads"].sum()) + int(ranks["writes"].sum()))

    @cached_property
    def notes(self) -> list[str]:
        """Sentences about unusual differences: the parts of one job are usually equal in these."""
        notes = []
        for column, what in (
            ("program", "ran different programs"),
            ("version", "were recorded by different versions of Numascape"),
            ("recorder", "were recorded by different recorders"),
            ("counts", "count different things"),
        ):
            groups = self.ranks.group_by(column).agg(pl.col("rank").sort()).sort(column)
            if groups.height > 1:
                listed = "; ".join(
                    f"{name.rpartition('/')[2]} ({ranges_text(ranks, 'rank')})"
                    for name, ranks in groups.iter_rows()
                )
                notes.append(f"Its ranks {what}: {listed}.")
        apart = _seconds_apart(self.ranks)
        if apart > MAX_SECONDS_APART:
            notes.append(
                f"Its hosts began {apart:.0f} s apart, or their clocks differ: times are only "
                "compared between ranks of one host."
            )
        return notes


def _seconds_apart(ranks: pl.DataFrame) -> float:
    """The largest difference between the starts of hosts; 0 if they are not known."""
    times = (
        ranks.with_columns(
            time=pl.col("started").str.to_datetime("%+", strict=False, time_unit="ms")
        )
        .group_by("host")
        .agg(pl.col("time").min())["time"]
        .drop_nulls()
    )
    if len(times) < 2:
        return 0.0
    return (times.max() - times.min()).total_seconds()  # type: ignore[operator, union-attr]


def analyse_job(
    folder: Path, engine: Engine | None = None, done: Callable[[int], None] = lambda _: None
) -> AnalysedJob:
    """Analyse all parts of a job with an engine.

    Without an engine, this process reads the stored sums of parts, which is quick, and processes on
    this machine sum up the other parts. `done` is called with the number of finished parts.
    Raises NumascapeError if it is not a job, or if no part can be used.
    """
    info = read_job(folder)
    parts, odd = list_parts(folder)
    tasks = [Task(info, rank, part.absolute()) for rank, part in parts.items()]
    stored = merge([])
    if engine is None:
        stored, tasks = read_stored(tasks, done)
        engine = local_engine(len(tasks))
    summed = reduce_in_tree(tasks, engine, done) if tasks else merge([])
    missing = [*odd, *missing_ranks(folder, info, set(parts))]
    without = JobTables.of(left_out=[(one.rank, one.part, one.reason) for one in missing])
    tables = merge([stored, summed, without])
    if tables.ranks.is_empty():
        reasons = [f"{part}: {reason}" for _, part, reason in tables.left_out.iter_rows()]
        raise NumascapeError(
            f"{folder} has no part that can be used: {(reasons or ['it has none'])[0]}"
        )
    return AnalysedJob(folder, info, tables)
