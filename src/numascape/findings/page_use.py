# SPDX-License-Identifier: Apache-2.0
"""How threads divide the pages of one structure among them, as a matrix of pages x threads."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.page_numbers import page_numbers
from numascape.findings.thresholds import MAX_IDLE_RATIO, MIN_ORDERED_SHARE, MIN_USER_SHARE
from numascape.trace.format import BURST_GROUPS

ELEMENTS = 1 << 23
"""Maximum number of elements of a matrix. If a structure is larger, the matrix has runs of its
pages that are evenly distributed over the structure."""
RUN = 256

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PageUse:
    """Accesses of P pages, in order of instance and page, by T threads (P x T).

    `threads` are the threads' numbers, `instance` and `page` the pages'. `sampled`: the counts are
    numbers of samples, or those of bursts, and so chance decides them, too. `by_group` (P x T x G)
    has the counts of each group of bursts, if only bursts were counted.
    """

    threads: Integers
    instance: Integers
    page: Integers
    counts: Floats
    sampled: bool = False
    by_group: Floats | None = None

    @cached_property
    def weight(self) -> Floats:
        """Accesses of each page."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def shares(self) -> Floats:
        """The share of each thread in the accesses of each page."""
        return np.asarray(self.counts / self.weight[:, None])

    @cached_property
    def users(self) -> npt.NDArray[np.bool_]:
        """Which threads use which page; accesses to only a few elements do not count."""
        return np.asarray(self.shares >= MIN_USER_SHARE / len(self.threads))

    @cached_property
    def owner(self) -> Integers:
        """The index of the busiest thread of each page."""
        return np.asarray(self.counts.argmax(axis=1))

    def mean(self, values: npt.NDArray[np.generic]) -> float:
        """The mean over pages, weighted by accesses."""
        return float(np.average(values.astype(float), weights=self.weight))

    @property
    def dominance(self) -> float:
        """Mean share of a page's busiest thread."""
        return self.mean(self.shares.max(axis=1))

    @property
    def evenness(self) -> float:
        """`dominance`, or its value with equal work for all threads if that is smaller.

        If one thread has most of the work, and all threads use all pages, it is 1 / T.
        """
        by_thread = self.counts.sum(axis=0)
        parts = self.counts / np.where(by_thread > 0, by_thread, 1.0)
        parts /= parts.sum(axis=1)[:, None]
        return min(self.dominance, self.mean(parts.max(axis=1)))

    @property
    def users_per_page(self) -> float:
        """Mean number of threads that use a page."""
        return self.mean(self.users.sum(axis=1))

    @cached_property
    def together(self) -> npt.NDArray[np.bool_]:
        """Whether each page, except the first, directly follows the one before (P - 1)."""
        return np.asarray((np.diff(self.instance) == 0) & (np.diff(self.page) == 1))

    @cached_property
    def usual_users(self) -> list[list[int]]:
        """The sets of threads that use a page together, most accesses first.

        Together, they have MIN_ORDERED_SHARE of the accesses. So a page at the border of two parts
        is not among them.
        """
        sets, at = np.unique(self.users, axis=0, return_inverse=True)
        weight = np.bincount(at.ravel(), weights=self.weight, minlength=len(sets))
        order = np.argsort(-weight, kind="stable")
        before = np.cumsum(weight[order]) - weight[order]
        usual = order[before < MIN_ORDERED_SHARE * weight.sum()]
        return [self.threads[sets[number]].tolist() for number in usual]


def page_use(rows: pl.DataFrame) -> PageUse:
    """Make the matrix from `rows`, which are accesses to one structure.

    Threads that hardly use the structure are left out. If the rows have a column `group`, the
    matrix also has the counts of each group of bursts.
    """
    number, bound = page_numbers(rows.with_columns(structure=pl.lit(0, pl.UInt32)))
    thread = rows["thread"].to_numpy().astype(np.int64)
    count = (rows["reads"] + rows["writes"]).to_numpy().astype(np.float64)
    by_thread = np.bincount(thread, count)
    used = by_thread > 0
    busy = used & (by_thread >= MAX_IDLE_RATIO * by_thread[used].mean()) if used.any() else used
    threads = np.flatnonzero(busy)
    counts_here = np.flatnonzero(busy[thread] & (count > 0))
    number, count = number[counts_here], count[counts_here]
    column = (np.cumsum(busy) - 1)[thread[counts_here]]
    # For each page number, one of the table's rows (`example`), and the row in the matrix
    # (`position`).
    example = np.full(bound, -1, np.int64)
    example[number] = counts_here
    present = np.flatnonzero(example >= 0)
    pages = len(present)
    kept = np.arange(pages)
    groups = BURST_GROUPS if "group" in rows.columns else 1
    elements = pages * len(threads) * groups
    if elements > ELEMENTS:
        kept = kept[(kept // RUN) % -(-elements // ELEMENTS) == 0]
    position = np.full(bound, -1, np.int64)
    position[present[kept]] = np.arange(len(kept))
    inside = position[number] >= 0
    flat = position[number[inside]] * len(threads) + column[inside]
    if groups > 1:
        flat = flat * groups + rows["group"].to_numpy()[counts_here[inside]]
    shape = (len(kept), len(threads), groups)
    counts = np.asarray(np.bincount(flat, count[inside], math.prod(shape)), np.float64)
    by_group = counts.reshape(shape)
    chosen = example[present[kept]]
    return PageUse(
        threads,
        rows["instance"].to_numpy()[chosen].astype(np.int64),
        rows["page"].to_numpy()[chosen].astype(np.int64),
        by_group.sum(axis=2) if groups > 1 else by_group[:, :, 0],
        by_group=by_group if groups > 1 else None,
    )


def touched_alone(touched: pl.DataFrame, threads: Collection[int]) -> bool:
    """Whether each instance was touched first by one thread, and each of `threads` touched some.

    `touched` has the structure's first touches.
    """
    by_instance = touched.group_by("instance").agg(
        pl.col("thread").n_unique().alias("touchers"), pl.col("thread").first()
    )
    alone = bool((by_instance["touchers"] == 1).all())
    return alone and set(threads) <= set(by_instance["thread"].to_list())


def first_touchers(use: PageUse, touched: pl.DataFrame) -> Integers | None:
    """For each page of `use`, its thread in `touched`, which has the structure's first touches.

    The thread is -1 for a page without a first touch. None: there are no first touches.
    """
    if touched.is_empty():
        return None
    pages = pl.DataFrame({"instance": use.instance, "page": use.page})
    known = touched.select(pl.col("instance", "page", "thread").cast(pl.Int64))
    joined = pages.join(known, on=["instance", "page"], how="left", maintain_order="left")
    return joined["thread"].fill_null(-1).to_numpy()
