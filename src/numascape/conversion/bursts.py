# SPDX-License-Identifier: Apache-2.0
"""Estimates the counts of a run of which only bursts were counted (binary-recorder/bursts.h).

Each unit of a thread's work has the same chance to be in a burst. So a count is divided by the
share of the thread's work that bursts saw: a ratio estimate. With few bursts, it is divided by the
share that was wanted, because the share that was seen then depends on what happened to be in the
bursts (Horvitz and Thompson 1952).

The bursts of a thread are dealt out to groups in turn. The sums of a trace's table `burst_groups`
are the estimates, and the differences between its groups show their errors (trace/counting.py).
"""

from __future__ import annotations

import dataclasses
from typing import Final

import polars as pl

from numascape.conversion.huge_pages import with_huge_pages
from numascape.conversion.places import PLACE, sort_by
from numascape.conversion.shards import Shard
from numascape.trace.format import BURST_GROUPS

_FEW_BURSTS: Final = 16
"""From this many bursts on, the share of the work that they saw is close to the wanted one."""

# By table: the columns that are numbers of events, and grow with the share that is counted.
_EVENTS: Final = {
    "counts": ("reads", "writes", "fetched_lines", "dirtied_lines"),
    "instructions": ("instructions",),
    "seen_lines": ("times", "alone", "writing"),
    "transfers": ("transfers", "travelling", "judged", "shared"),
}
# The same, not known by thread: they are multiplied as all counts are on average.
_EVENTS_OF_NO_THREAD: Final = {
    "sites": ("reads", "writes", "executions"),
    "seen_in_modules": ("times",),
}


BURSTS: Final = pl.Schema(
    {
        **dict.fromkeys(PLACE, pl.UInt32()),
        **dict.fromkeys(("thread", "phase", "burst_group"), pl.UInt32()),
        **dict.fromkeys(("reads", "writes", "bursts"), pl.UInt64()),
    }
)
"""The accesses of each group of bursts to a page. `bursts` is the number of the thread's bursts in
the group, if all were as long as its last one."""


def estimated(shard: Shard, share: float) -> Shard:
    """The shard with estimates in place of counts, if only bursts were counted.

    Its table `counts` then has the column `burst_group`. `share`: the wanted share of the work.
    Raises ValueError or PolarsError if the shard is damaged.
    """
    groups = shard.header["burst_groups"]
    if groups == 0:
        return shard
    if groups != BURST_GROUPS:
        raise ValueError(f"bursts are in {groups} groups instead of {BURST_GROUPS}")
    weights = _weights(shard.tables["work"], share)
    tables = {
        name: _own_phases(name, frame) if "phase" in frame.columns else frame
        for name, frame in shard.tables.items()
    }
    for name, columns in _EVENTS.items():
        tables[name] = _scaled(tables[name], weights, columns, 1 / share)
    tables["counts"] = _with_group_scale(tables["counts"], shard.tables["work"])
    counts = tables["counts"]
    mean_weight = _accesses(counts) / max(1, _accesses(shard.tables["counts"]))
    for name, columns in _EVENTS_OF_NO_THREAD.items():
        tables[name] = _multiplied(tables[name], columns, pl.lit(mean_weight))
    return dataclasses.replace(
        shard,
        tables=tables,
        phases=[dataclasses.replace(one, phase=one.phase // BURST_GROUPS) for one in shard.phases],
        switches=[(phase // BURST_GROUPS, time) for phase, time in shard.switches],
        counted=(int(counts["reads"].sum()), int(counts["writes"].sum())),
    )


def _weights(work: pl.DataFrame, share: float) -> pl.DataFrame:
    """What the counts of each thread (thread, weight) are multiplied by."""
    known = work.group_by("thread").agg(pl.col("units", "counted_units", "bursts").sum())
    enough = (pl.col("bursts") >= _FEW_BURSTS) & (pl.col("counted_units") > 0)
    seen = pl.col("units") / pl.col("counted_units")
    return known.select("thread", weight=pl.when(enough).then(seen).otherwise(1 / share))


def _own_phases(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table with the program's phases: the shard has one for each group of bursts."""
    if name == "counts":
        frame = frame.with_columns(burst_group=pl.col("phase") % BURST_GROUPS)
    return frame.with_columns(pl.col("phase") // BURST_GROUPS)


def _scaled(
    frame: pl.DataFrame, weights: pl.DataFrame, columns: tuple[str, ...], otherwise: float
) -> pl.DataFrame:
    # A thread has no weight if its process was killed.
    by_thread = frame.join(weights, on="thread", how="left", maintain_order="left")
    return _multiplied(by_thread, columns, pl.col("weight").fill_null(otherwise)).drop("weight")


def _multiplied(frame: pl.DataFrame, columns: tuple[str, ...], weight: pl.Expr) -> pl.DataFrame:
    return frame.with_columns((pl.col(name) * weight).round().cast(pl.UInt64) for name in columns)


def _accesses(counts: pl.DataFrame) -> int:
    return int(counts["reads"].sum()) + int(counts["writes"].sum())


def _with_group_scale(counts: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """With the column `group_scale`: a group may have one burst more than another.

    A group's counts times its scale are what it would count with the mean number of bursts of the
    groups that have any. So the sum over the groups is the estimate.
    """
    known = work.group_by("thread").agg(pl.col("bursts").sum())
    joined = with_own_bursts(counts, known).join(
        known, on="thread", how="left", maintain_order="left"
    )
    own = pl.col("own_bursts")
    used = pl.min_horizontal(pl.col("bursts"), BURST_GROUPS)
    scale = pl.when(own > 0).then(pl.col("bursts") / used / own).otherwise(1.0)
    return joined.with_columns(group_scale=scale).drop("bursts", "own_bursts")


def with_own_bursts(rows: pl.DataFrame, bursts: pl.DataFrame) -> pl.DataFrame:
    """Rows (thread, burst_group, ...) with the number of the group's bursts, as `own_bursts`.

    `bursts` has the number of bursts of each thread. They are dealt out to the groups in turn, from
    the first one on.
    """
    joined = rows.join(bursts, on="thread", how="left", maintain_order="left")
    later = BURST_GROUPS - 1 - pl.col("burst_group").cast(pl.Int64)
    own = (pl.col("bursts").fill_null(0).cast(pl.Int64) + later) // BURST_GROUPS
    return joined.with_columns(own_bursts=own.cast(pl.UInt64)).drop("bursts")


def tables_of_bursts(
    rows: pl.DataFrame, tables: dict[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Those of a trace's tables that are others if only bursts were counted.

    `rows` are those of all processes (BURSTS); none: everything was counted. First touches are then
    known from page faults.
    """
    if rows.is_empty():
        return {}
    touches = with_huge_pages(tables["first_touch"], tables["accesses"], tables["instances"])
    return {
        "burst_groups": _burst_groups(rows),
        "page_bursts": _page_bursts(rows),
        "first_touch": touches,
    }


def _burst_groups(rows: pl.DataFrame) -> pl.DataFrame:
    key = ["structure", "thread", "phase", "burst_group"]
    sums = (pl.col("reads", "writes").sum(), pl.col("bursts").max())
    return rows.group_by(key).agg(*sums).sort(key).rename({"burst_group": "group"})


def _page_bursts(rows: pl.DataFrame) -> pl.DataFrame:
    key = [*PLACE, "thread", "phase", "burst_group"]
    accesses = pl.col("reads") + pl.col("writes")
    sums = rows.group_by(key).agg(accesses=accesses.sum())
    return sort_by(sums.filter(pl.col("accesses") > 0), key).rename({"burst_group": "group"})
