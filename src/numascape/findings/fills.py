# SPDX-License-Identifier: Apache-2.0
"""Initialisation by several threads: a phase, or a team of threads, that only fills a structure.

How the later work shares the structure does not depend on who filled it. For example, threads fill
their parts of a table, and then all threads look up entries: the table is only read in the work.
"""

from __future__ import annotations

import polars as pl

from numascape.findings.thresholds import (
    MAX_WRITTEN_SHARE,
    MIN_FILLED_SHARE,
    MIN_SERIAL_SHARE,
    MIN_WORK_AFTER_FILL,
)
from numascape.trace import Trace
from numascape.trace.teams import teams_of

_COUNT = pl.col("reads") + pl.col("writes")


Split = tuple[pl.DataFrame, pl.DataFrame]
"""The rows of the work, and those that only fill the structure."""


def without_fills(work: pl.DataFrame, touched: pl.DataFrame, phases: pl.DataFrame) -> Split:
    """Separate the work from the rows of phases that ran once, and only filled the structure."""
    if "phase" not in touched.columns or "repetitions" not in phases.columns:
        return work, work.clear()
    stage = phases.select("phase", once=pl.col("repetitions") == 1, stage="phase")
    return _without(work, touched, stage, "phase")


def without_fills_by_teams(
    work: pl.DataFrame, touched: pl.DataFrame, threads: pl.DataFrame
) -> Split:
    """Separate the work from the rows of threads that, as a team, only filled the structure."""
    rows = threads.select("process", "created_ns", "thread", "ended_ns").sort("process", "thread")
    teams = [
        team
        for own in rows.partition_by("process", maintain_order=True)
        for team in teams_of(own[1:])
    ]
    if len(teams) < 2:
        return work, work.clear()
    numbers = [(thread, True, number) for number, team in enumerate(teams) for thread in team]
    schema = {"thread": pl.UInt32, "once": pl.Boolean, "stage": pl.UInt32}
    return _without(work, touched, pl.DataFrame(numbers, schema, orient="row"), "thread")


def fills_in_any_order(trace: Trace, structure: int) -> bool:
    """Whether several threads write most of its pages in the phase that touched most of them first.

    For example, each thread puts its elements where an index says. Whichever thread starts first
    then touches nearly all pages.
    """
    own = pl.col("structure") == structure
    by_phase = trace.first_touch.filter(own).group_by("phase").len()
    if trace.phases.height < 2 or by_phase.is_empty():
        return False
    phase = by_phase.sort("len", "phase", descending=[True, False])["phase"][0]
    written = trace.accesses.filter(own, pl.col("phase") == phase, pl.col("writes") > 0)
    writers = written.group_by("instance", "page").agg(pl.col("thread").n_unique())["thread"]
    return writers.len() > 0 and int((writers > 1).sum()) >= MIN_FILLED_SHARE * writers.len()


def _without(work: pl.DataFrame, touched: pl.DataFrame, stages: pl.DataFrame, key: str) -> Split:
    """Separate the work from the rows of stages that only filled a structure for other stages.

    `stages` has `key`, stage, and whether the stage ran once. A stage fills a structure if it
    mainly writes, and other stages, of several threads, make at least as many accesses. It must
    touch nearly all pages first, or the other stages must only read. For example, threads build a
    table in memory that its constructor touched.
    """
    own = touched.filter(pl.col("structure").is_in(work["structure"].unique().implode()))
    pages = (
        own.join(stages, on=key, how="left")
        .group_by("structure", "stage")
        .agg(pages=pl.len())
        .filter(pl.col("pages") >= MIN_SERIAL_SHARE * pl.col("pages").sum().over("structure"))
    )
    staged = work.join(stages, on=key, how="left", maintain_order="left")
    sums = staged.group_by("structure", "stage").agg(
        pl.col("reads", "writes").sum(), pl.col("once").first(), pl.col("thread").n_unique()
    )
    several = pl.col("thread") > 1, pl.col("stage").is_not_null()
    made = pl.when(*several).then(_COUNT).otherwise(0)
    written = pl.col("writes").sum().over("structure") - pl.col("writes")
    fills = (
        sums.with_columns(rest=made.sum().over("structure") - made, written=written)
        .join(pages, on=["structure", "stage"], how="left")
        .filter(
            "once",
            pl.col("reads") <= pl.col("writes"),
            pl.col("rest") >= MIN_WORK_AFTER_FILL * _COUNT,
            pl.col("pages").is_not_null()
            | ((pl.col("thread") > 1) & (pl.col("written") <= MAX_WRITTEN_SHARE * pl.col("rest"))),
        )
        .select("structure", "stage")
    )
    if fills.is_empty():
        return work, work.clear()
    on = ["structure", "stage"]
    rest = staged.join(fills, on=on, how="anti", maintain_order="left").select(work.columns)
    return rest, staged.join(fills, on=on, how="semi").select(work.columns)
