# SPDX-License-Identifier: Apache-2.0
"""Stages of the work: parallel regions, marked phases, and successive teams of threads."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from numascape.findings.page_use import page_use
from numascape.findings.pattern import Pattern, looked_up, pattern_of
from numascape.findings.thresholds import MAX_WRITTEN_SHARE, MIN_MAIN_STAGE, MIN_PHASE_WORK
from numascape.trace import Trace
from numascape.trace.phase import loose_phases
from numascape.trace.teams import teams_of

_COUNT = (pl.col("reads") + pl.col("writes")).sum()


def has_sharing_stage(trace: Trace, rows: pl.DataFrame) -> bool:
    """Whether all threads of a stage use all pages alike: no division of the work fits this stage.

    For example, tasks sort points, and then other threads look up points. Stages with less
    than a tenth of the work do not count, and a program with one stage has no such stage. Only
    teams of threads count; `rows` are the work on a structure.
    """
    least = MIN_PHASE_WORK * int(rows.select(_COUNT).item())
    return any(
        int(part.select(_COUNT).item()) >= least and _is_shared(part)
        for part in _of_teams(trace, rows.filter(pl.col("phase").is_in(loose_phases(trace))))
    )


def reading_stage(trace: Trace, rows: pl.DataFrame) -> pl.DataFrame | None:
    """The rows of the last team of threads, if they only read, and use all pages alike.

    What earlier teams built is then read-only, and each node may have a copy. The team needs a
    tenth of the work on the structure.
    """
    teams = list(_of_teams(trace, rows.filter(pl.col("phase").is_in(loose_phases(trace)))))
    if not teams:
        return None
    last = teams[-1]
    made, every = (int(table.select(_COUNT).item()) for table in (last, rows))
    only_read = int(last["writes"].sum()) <= MAX_WRITTEN_SHARE * made
    return last if made >= MIN_PHASE_WORK * every and only_read and _is_shared(last) else None


def looks_up_in_main_stage(trace: Trace, rows: pl.DataFrame) -> bool:
    """Whether random threads look up entries of all pages in the stage with most of the work.

    Whatever smaller stages do, the structure is then shared by all.
    """
    is_loose = pl.col("phase").is_in(loose_phases(trace))
    stages = [
        *rows.filter(~is_loose).partition_by("phase"),
        *_of_teams(trace, rows.filter(is_loose)),
    ]
    if len(stages) < 2:
        return False
    main = max(stages, key=lambda stage: int(stage.select(_COUNT).item()))
    made, every = (int(table.select(_COUNT).item()) for table in (main, rows))
    return made >= MIN_MAIN_STAGE * every and _is_shared(main) and looked_up(page_use(main))


def _of_teams(trace: Trace, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows of each team of created threads, if there are several teams."""
    created = trace.threads.filter(
        pl.col("thread").is_in(rows["thread"].unique().implode()),
        pl.col("thread") != pl.col("thread").min().over("process"),
    )
    teams = teams_of(created)
    if len(teams) > 1:
        for team in teams:
            yield rows.filter(pl.col("thread").is_in(team))


def _is_shared(rows: pl.DataFrame) -> bool:
    return rows["thread"].n_unique() > 1 and pattern_of(page_use(rows)) is Pattern.SHARED
