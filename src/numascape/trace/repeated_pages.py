# SPDX-License-Identifier: Apache-2.0
"""Threads with the same place in successive teams, recognised by the pages that they use.

Two teams can be two stages, or divide the same work in the same way, for example to fill an array
and to compute. The lifetimes of threads do not always show their teams. A thread of a short team
may end before the next one is created. A program may wait for the results of threads, but not for
their ends, and create the next team while they still exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from numascape.trace.trace import Trace

MIN_COMMON_PAGES: Final = 0.5
"""At or above this share of the pages of two threads that both use, they have the same part of the
work. It is less than 1 because of borders, and of pages that only one of them happened to use."""

MAX_OTHER_PAGES: Final = 0.5
"""Largest such share for two threads of one team, relative to that of two threads in the same
place. Above it, the places in a team have no parts of their own."""

MAX_LIFE_TOGETHER: Final = 0.5
"""If two threads exist at the same time for more than this share of the shorter lifetime,
neither follows the other in the same place."""

MIN_SAME_WORK: Final = 0.8
"""If two teams have at least this share of their work on structures in common, they repeat it.
Reads and writes are compared separately. In labelled programs with successive teams, repetitions
have 0.98 or more in common, and stages that hand structures on have 0.59 or less."""

_MAX_USERS: Final = 0.75
"""If more than this share of the threads use a page, its users show nothing about places in
teams."""

_MAX_CYCLE: Final = 256
"""Largest number of threads of a team, if the last team may be incomplete: to limit the time."""

_PAGES: Final = 4096
_STEPS: Final = 1 << 31
"""Largest number of pages, and of steps to compare them for all pairs of threads. If there are more
pages, some of them are taken, evenly spread."""

Floats = npt.NDArray[np.float64]


def by_pages(trace: Trace, created: pl.DataFrame) -> dict[int, int]:
    """For each thread of repeated teams: the thread of the first team that has its place.

    `created` are rows of the trace's threads, of one process without its main thread. All of them
    must be in teams of one size, in the order of their creation. The last team may be incomplete,
    because the last repetition may end after its first stage.
    """
    ordered = created.sort("os_tid")
    sizes = [size for size in _sizes(ordered.height) if _follow_each_other(ordered, size)]
    if not sizes:
        return {}
    threads = ordered["thread"].to_list()
    common = _common_pages(trace.accesses, threads)
    size = next((size for size in sizes if _repeats(common, size)), None)
    if size is None:
        return {}
    kept = _teams_alike(common, _profiles(trace.accesses, threads), size)
    first = kept[0] * size
    return {
        threads[at]: threads[first + at % size] for at in range(len(threads)) if at // size in kept
    }


def _teams_alike(common: Floats, profiles: Floats, size: int) -> list[int]:
    """The numbers of the teams that do the same work as the others, by pages or structures.

    Among teams that look up entries of a table, one may have built it: that is another stage.
    """
    threads = len(common)
    same = np.zeros(threads)  # the largest share in common with a thread in the same place
    for distance in range(size, threads, size):
        shares = common.diagonal(distance)
        same[distance:] = np.maximum(same[distance:], shares)
        same[:-distance] = np.maximum(same[:-distance], shares)
    every = profiles.sum(axis=0)
    kept = []
    for first in range(0, threads, size):
        own = slice(first, first + size)
        if first + size > threads and _has_no_parts(common, first, size):
            continue  # for example one thread that collects the results of all
        made = profiles[own].sum(axis=0)
        work, others = made / max(1.0, made.sum()), every - made
        alike = np.minimum(work, others / max(1.0, others.sum())).sum()
        if max(float(same[own].mean()), float(alike)) >= MIN_COMMON_PAGES:
            kept.append(first // size)
    return kept


def _has_no_parts(common: Floats, first: int, size: int) -> bool:
    """Whether the threads from `first` on use the pages of other places as much as of their own."""
    rows, at = common[first:], np.arange(len(common))
    in_place = at[None, :] % size == np.arange(len(rows))[:, None]
    own = np.where(in_place & (at < first), rows, 0.0).max(axis=1)
    other = np.where(in_place, 0.0, rows).max(axis=1)
    return bool(other.mean() > MAX_OTHER_PAGES * own.mean())


def _profiles(accesses: pl.DataFrame, threads: list[int]) -> Floats:
    """For each thread: its reads, and its writes, of each structure."""
    sums = (
        accesses.lazy()
        .filter(pl.col("thread").is_in(threads))
        .group_by("thread", "structure")
        .agg(pl.col("reads", "writes").sum())
        .collect()
    )
    position = {thread: at for at, thread in enumerate(threads)}
    row = sums["thread"].replace_strict(position, return_dtype=pl.Int64).to_numpy()
    column = 2 * sums["structure"].to_numpy().astype(np.int64)
    found = np.zeros((len(threads), int(column.max(initial=0)) + 2))
    found[row, column] = sums["reads"].to_numpy()
    found[row, column + 1] = sums["writes"].to_numpy()
    return found


def use_the_same_pages(trace: Trace, teams: list[list[int]]) -> bool:
    """Whether threads in the same place of teams of one size use the same pages."""
    threads = [thread for team in teams for thread in team]
    return _repeats(_common_pages(trace.accesses, threads), len(teams[0]))


def repeating(trace: Trace, teams: list[list[int]]) -> list[list[int]]:
    """The teams that do the same work as another one; a stage that runs once does not."""
    threads = [thread for team in teams for thread in team]
    made = _profiles(trace.accesses, threads)
    each = np.add.reduceat(made, np.cumsum([0, *(len(team) for team in teams[:-1])]), axis=0)
    shares = each / np.maximum(each.sum(axis=1, keepdims=True), 1.0)
    repeated = []
    for number, team in enumerate(teams):
        others = np.delete(shares, number, axis=0)
        common = np.minimum(shares[number], others).sum(axis=1).max(initial=0.0)
        if common >= MIN_SAME_WORK:
            repeated.append(team)
    return repeated


def _sizes(threads: int) -> list[int]:
    """The sizes of which there can be two or more teams; first those with only complete teams."""
    sizes = range(2, threads // 2 + 1)
    complete = [size for size in sizes if threads % size == 0]
    return [*complete, *(size for size in sizes[: _MAX_CYCLE - 1] if threads % size != 0)]


def _follow_each_other(created: pl.DataFrame, size: int) -> bool:
    """Whether most threads hardly live at the same time as the thread `size` places later."""
    begin, end = (created[name].to_numpy().astype(float) for name in ("created_ns", "ended_ns"))
    together = np.minimum(end[:-size], end[size:]) - np.maximum(begin[:-size], begin[size:])
    shorter = np.minimum((end - begin)[:-size], (end - begin)[size:])
    return bool(np.median(together / np.maximum(shorter, 1.0)) <= MAX_LIFE_TOGETHER)


def _common_pages(accesses: pl.DataFrame, threads: list[int]) -> Floats:
    """For each pair of threads: the share of their pages that both of them use."""
    page = ["structure", "instance", "page"]
    own = accesses.lazy().filter(pl.col("thread").is_in(threads))
    used = own.select("thread", *page).unique().with_columns(users=pl.len().over(page))
    several = used.filter(pl.col("users").is_between(2, _MAX_USERS * len(threads)))
    rows = several.with_columns(row=pl.struct(page).rank("dense") - 1).collect()
    if rows.is_empty():
        return np.zeros((len(threads), len(threads)))
    row = rows["row"].to_numpy().astype(np.int64)
    every = max(1, (int(row.max()) + 1) // min(_PAGES, max(1, _STEPS // len(threads) ** 2)))
    kept = row % every == 0
    position = {thread: at for at, thread in enumerate(threads)}
    column = rows["thread"].replace_strict(position, return_dtype=pl.Int64).to_numpy()
    uses = np.zeros((int(row.max()) // every + 1, len(threads)), np.float32)
    uses[row[kept] // every, column[kept]] = 1
    both = (uses.T @ uses).astype(float)
    either = both.diagonal()[:, None] + both.diagonal()[None, :] - both
    return np.asarray(both / np.maximum(either, 1.0))


def _repeats(common: Floats, size: int) -> bool:
    """Whether threads in the same place use the same pages, and those of one team do not."""
    same = float(common.diagonal(size).mean())
    others = max(float(common.diagonal(distance).mean()) for distance in range(1, size))
    return same >= MIN_COMMON_PAGES and others <= MAX_OTHER_PAGES * same
