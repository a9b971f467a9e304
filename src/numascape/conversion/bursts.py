# SPDX-License-Identifier: Apache-2.0
"""Estimates the counts of a run of which only bursts were counted (binary-recorder/bursts.h).

Each unit of a thread's work has the same chance to be in a burst. So a count is divided by the
share of the thread's work that bursts saw: a ratio estimate. With few bursts, it is divided by the
share that was wanted, because the share that was seen then depends on what happened to be in the
bursts (Horvitz and Thompson 1952).

If the share changes during the run (--sample auto), each of its levels is estimated by itself: the
counts of a level are divided by the share which was in force when its bursts were chosen. The
estimates of the levels add up.

The bursts of a thread are dealt out to groups in turn. The sums of a trace's table `burst_groups`
are the estimates, and the differences between its groups show their errors (trace/counting.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from numascape.conversion.huge_pages import with_huge_pages
from numascape.conversion.places import PLACE, sort_by
from numascape.conversion.shards import Shard
from numascape.trace.format import BURST_GROUPS
from numascape.trace.info import CountedWork, Times

if TYPE_CHECKING:
    from numascape.recording.session import Ended

_FEW_BURSTS: Final = 16
"""From this many bursts on, the share of the work that they saw is close to the wanted one."""
_MOST_LEVELS: Final = 10
"""kMaxBurstLevels of src/native/shard/shard_layout.h."""

# By table: the columns that are numbers of events, and grow with the share that is counted.
_EVENTS: Final = {
    "counts": ("reads", "writes", "fetched_lines", "dirtied_lines"),
    "instructions": ("instructions",),
    "seen_lines": ("times", "alone", "writing"),
    "transfers": ("transfers", "travelling", "judged", "shared"),
}


BURSTS: Final = pl.Schema(
    {
        **dict.fromkeys(PLACE, pl.UInt32()),
        **dict.fromkeys(("thread", "phase", "burst_group"), pl.UInt32()),
        **dict.fromkeys(("reads", "writes", "bursts"), pl.UInt64()),
    }
)
"""The accesses of each group of bursts to a page. `bursts` is the number of the thread's bursts in
the group, if all stood for as much work."""


def estimated(shard: Shard, asked: float | str | None) -> Shard:
    """The shard with estimates in place of counts, if only bursts were counted.

    Its table `counts` then has the column `burst_group`, and `work` has the `share` of each level.
    `asked`: the wanted share of the work; `auto`: each level has its own.
    Raises ValueError or PolarsError if the shard is damaged.
    """
    groups, levels = shard.header["burst_groups"], shard.header["burst_levels"]
    if groups == 0:
        return shard
    if groups != BURST_GROUPS:
        raise ValueError(f"bursts are in {groups} groups instead of {BURST_GROUPS}")
    share = asked if isinstance(asked, float) else None
    if not 1 <= levels <= _MOST_LEVELS or (share is None) == (levels == 1):
        raise ValueError(f"the share of the work has {levels} levels")
    shares = [0.5 ** (level + 1) for level in range(levels)] if share is None else [share]
    work = _with_shares(shard.tables["work"], shares)
    tables = {
        name: _own_phases(name, frame, levels) if "phase" in frame.columns else frame
        for name, frame in shard.tables.items()
    }
    before = tables["counts"]
    weights = _weights(work)
    for name, columns in _EVENTS.items():
        tables[name] = _scaled(tables[name], weights, columns, shares)
    tables["sites"] = _scaled_alike(tables["sites"], tables["counts"], before, shares)
    tables["counts"] = _with_group_scale(tables["counts"], work)
    for name in ("samples", "shared_samples"):
        tables[name] = _samples_of_levels(tables[name])
    tables = {
        name: frame.drop("level", strict=False) if "phase" in frame.columns else frame
        for name, frame in tables.items()
    }
    tables["work"] = work
    counts = tables["counts"]
    # Known by neither thread nor phase: multiplied as all counts are on average.
    mean_weight = pl.lit(_accesses(counts) / max(1, _accesses(before)))
    tables["seen_in_modules"] = _multiplied(tables["seen_in_modules"], ("times",), mean_weight)
    return dataclasses.replace(
        shard,
        tables=tables,
        phases=[
            dataclasses.replace(one, phase=one.phase // (groups * levels)) for one in shard.phases
        ],
        switches=[(phase // (groups * levels), time) for phase, time in shard.switches],
        counted=(int(counts["reads"].sum()), int(counts["writes"].sum())),
    )


def counted_work(shards: Sequence[Shard]) -> CountedWork | None:
    """The part of the work that bursts counted; None unless its share changed.

    If all processes were killed, their work is unknown. The smallest share then stands for it.
    """
    if shards[0].header["burst_levels"] <= 1:
        return None
    work = pl.concat(shard.tables["work"] for shard in shards)
    units, seen = int(work["units"].sum()), int(work["counted_units"].sum())
    least = 0.5**_MOST_LEVELS
    if units == 0 or not 0 < seen < units:
        return CountedWork(least, 1 / least)
    return CountedWork(seen / units, float((work["units"] / work["share"]).sum()) / units)


def run_times(ended: Ended | None, shards: Sequence[Shard]) -> Times:
    """The times of the run, with what the recorder estimated to hold a cost."""
    if ended is None:
        return Times(0.0, None)
    estimated_s = sum(shard.header["native_ns"] for shard in shards) / 1e9
    return Times(ended.wall_s, ended.cpu_s, ended.native_cpu_s, estimated_s or None)


def _of_levels(values: Sequence[float]) -> pl.Expr:
    """The value of the row's level."""
    return pl.col("level").replace_strict(
        list(range(len(values))), list(values), return_dtype=pl.Float64
    )


def _with_shares(work: pl.DataFrame, shares: Sequence[float]) -> pl.DataFrame:
    """The work of each thread and level, with the wanted share."""
    key = ["thread", "level"]
    events = pl.col("units", "counted_units", "bursts").sum()
    known = work.group_by(key, maintain_order=True).agg(events, pl.col("burst_units").max())
    return known.with_columns(share=_of_levels(shares))


def _weights(work: pl.DataFrame) -> pl.DataFrame:
    """What the counts of each thread and level (thread, level, weight) are multiplied by."""
    enough = (pl.col("bursts") >= _FEW_BURSTS) & (pl.col("counted_units") > 0)
    seen = pl.col("units") / pl.col("counted_units")
    weight = pl.when(enough).then(seen).otherwise(1 / pl.col("share"))
    return work.select("thread", "level", weight=weight)


def _own_phases(name: str, frame: pl.DataFrame, levels: int) -> pl.DataFrame:
    """The table with the program's phases, and levels of the share.

    The shard has a phase for each level and group of bursts.
    """
    number = pl.col("phase")
    if name == "counts":
        frame = frame.with_columns(burst_group=number % BURST_GROUPS)
    return frame.with_columns(
        level=number // BURST_GROUPS % levels, phase=number // (BURST_GROUPS * levels)
    )


def _scaled(
    frame: pl.DataFrame,
    weights: pl.DataFrame,
    columns: tuple[str, ...],
    shares: Sequence[float],
) -> pl.DataFrame:
    # A thread has no weight if its process was killed.
    by_thread = frame.join(weights, on=["thread", "level"], how="left", maintain_order="left")
    weight = pl.col("weight").fill_null(_of_levels([1 / share for share in shares]))
    return _multiplied(by_thread, columns, weight).drop("weight")


def _multiplied(frame: pl.DataFrame, columns: Sequence[str], weight: pl.Expr) -> pl.DataFrame:
    return frame.with_columns((pl.col(name) * weight).round().cast(pl.UInt64) for name in columns)


def _accesses(counts: pl.DataFrame) -> int:
    return int(counts["reads"].sum()) + int(counts["writes"].sum())


def _with_group_scale(counts: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """With the column `group_scale`: a group may have one burst more than another.

    A group's counts times its scale are what it would count with the mean number of bursts of the
    groups that have any. So the sum over the groups is the estimate.
    """
    key = ["thread", "level"]
    known = work.select(*key, "bursts")
    joined = with_own_bursts(counts, known, key).join(
        known, on=key, how="left", maintain_order="left"
    )
    own = pl.col("own_bursts")
    used = pl.min_horizontal(pl.col("bursts"), BURST_GROUPS)
    scale = pl.when(own > 0).then(pl.col("bursts") / used / own).otherwise(1.0)
    return joined.with_columns(group_scale=scale).drop("bursts", "own_bursts")


def with_own_bursts(
    rows: pl.DataFrame, bursts: pl.DataFrame, key: Sequence[str] = ("thread",)
) -> pl.DataFrame:
    """Rows (`key`, burst_group, ...) with the number of the group's bursts, as `own_bursts`.

    `bursts` has the number of bursts of each key. They are dealt out to the groups in turn, from
    the first one on.
    """
    joined = rows.join(bursts, on=list(key), how="left", maintain_order="left")
    later = BURST_GROUPS - 1 - pl.col("burst_group").cast(pl.Int64)
    own = (pl.col("bursts").fill_null(0).cast(pl.Int64) + later) // BURST_GROUPS
    return joined.with_columns(own_bursts=own.cast(pl.UInt64)).drop("bursts")


def _scaled_alike(
    sites: pl.DataFrame, after: pl.DataFrame, before: pl.DataFrame, shares: Sequence[float]
) -> pl.DataFrame:
    """The counts of code, multiplied as all counts of the level: they are not known by thread."""

    def totals(counts: pl.DataFrame) -> dict[int, int]:
        sums = counts.group_by("level").agg(n=(pl.col("reads") + pl.col("writes")).sum())
        return {int(level): int(number) for level, number in sums.iter_rows()}

    whole, seen = totals(after), totals(before)
    weights = [
        whole[level] / seen[level] if seen.get(level) else 1 / share
        for level, share in enumerate(shares)
    ]
    return _multiplied(sites, ("reads", "writes", "executions"), _of_levels(weights))


def _samples_of_levels(samples: pl.DataFrame) -> pl.DataFrame:
    """Samples of code; those of a smaller share stand for more executions."""
    kind = samples.schema["weight"]
    more = pl.lit(2, pl.UInt64).pow(pl.col("level"))
    return samples.with_columns(weight=(pl.col("weight") * more).cast(kind))


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
