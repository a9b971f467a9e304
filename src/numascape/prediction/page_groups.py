# SPDX-License-Identifier: Apache-2.0
"""Puts pages that are placed in the same way into groups, so that many predictions are quick.

A prediction adds up amounts of pages. So pages of one structure can be one row if they are on the
same node, and if each remedy in question moves all of them to the same node. One quantity is not a
sum: the part of a page's fetches that threads share. It is computed before, from single pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.page_index import index_of, positions
from numascape.analysis.sharing import PAGE
from numascape.prediction.demand import Demand, Ints, PageGroups
from numascape.prediction.shared_fetches import shared_moves
from numascape.prediction.speeds import Floats


def group_pages(demand: Demand, caches: Ints, labels: Sequence[Ints]) -> Demand:
    """The demand with one row for all pages of a structure that have the same labels.

    Each of `labels` has an integer for each page. `pages` has the first page of each group, which
    stands for the others in a placement. `caches` are the last-level caches of the threads.
    """
    group, first, sizes = _distinct([demand.pages["structure"].to_numpy(), *labels])
    phases, threads = demand.accesses.shape
    key = (group[demand.page] * phases + demand.phase) * threads + demand.thread
    at, found = positions(key, len(sizes) * phases * threads)

    def summed(amount: Floats) -> Floats:
        return np.asarray(np.bincount(at, amount, len(found)), np.float64)

    mean, least = shared_moves(demand, caches)
    return replace(
        demand,
        index=index_of(demand.pages[first].select(PAGE)),
        page=found // (phases * threads),
        phase=found // threads % phases,
        thread=found % threads,
        counts=summed(demand.counts),
        lines=summed(demand.lines),
        moved=summed(demand.moved),
        rounds=np.ones(len(found)),
        groups=PageGroups(
            sizes.astype(np.float64), summed(demand.again), summed(mean), summed(least)
        ),
    )


def _distinct(columns: Sequence[npt.NDArray[np.integer]]) -> tuple[Ints, Ints, Ints]:
    """The number of each row's combination of values, the first row of each, and their counts.

    They are numbered in the order of their first rows.
    """
    number: Ints = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        least = int(column.min(initial=0))
        width = int(column.max(initial=0)) - least + 1
        combined = number * width + (column.astype(np.int64) - least)
        number, _ = positions(combined, (int(number.max(initial=0)) + 1) * width)
    count = int(number.max(initial=-1)) + 1
    first = np.zeros(count, np.int64)
    # If a place is assigned several times, the last value stays: that of the first row.
    first[number[::-1]] = np.arange(len(number))[::-1]
    order = np.argsort(first)
    turn = np.zeros(count, np.int64)
    turn[order] = np.arange(count)
    return turn[number], first[order], np.bincount(number, minlength=count)[order]


def label_of_shares(share: Floats) -> Ints:
    """A label for each row of shares on nodes; rows with the same shares have the same label."""
    home: Ints = share.argmax(axis=1).astype(np.int64)
    spread = np.flatnonzero(share[np.arange(len(share)), home] != 1.0)
    if len(spread):
        parts = share[spread]
        home[spread] = share.shape[1]
        if (parts != parts[0]).any():
            home[spread] += np.unique(parts, axis=0, return_inverse=True)[1].reshape(-1)
    return home


def label_of_use(demand: Demand) -> Ints:
    """A label for each page; pages with the same label are used by the same threads equally often.

    It is the sum of a 64-bit hash of each row of the page. Among a million different pages, the
    chance that two have the same label is below 1 in 10 million.
    """
    threads = demand.threads
    mixed = _mixed((demand.phase * threads + demand.thread).astype(np.uint64))
    for amount in (demand.counts, demand.lines, demand.moved, demand.rounds):
        mixed = _mixed(mixed ^ amount.view(np.uint64))
    labels = np.zeros(demand.pages.height, np.uint64)
    np.add.at(labels, demand.page, mixed)
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.int64).reshape(-1)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A bijection in which each bit of the result depends on all bits (SplitMix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def of_groups(table: pl.DataFrame, groups: Demand) -> pl.DataFrame:
    """The rows of a table with the columns of PAGE that are about first pages of groups."""
    return table.filter(groups.index.rows(table) >= 0)
