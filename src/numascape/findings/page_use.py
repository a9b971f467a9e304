# SPDX-License-Identifier: Apache-2.0
"""How threads divide the pages of one structure among them, as a matrix of pages x threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.findings.thresholds import IDLE, USER

ELEMENTS = 1 << 23
"""Elements of a matrix; of larger structures, runs of neighbouring pages are taken, evenly over the
structure."""
RUN = 256

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PageUse:
    """Accesses of P pages, in order of instance and page, by T threads (P x T).

    `threads` are the threads' numbers, `instance` and `page` the pages'.
    """

    threads: Integers
    instance: Integers
    page: Integers
    counts: Floats

    @cached_property
    def weight(self) -> Floats:
        """Accesses of each page."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def shares(self) -> Floats:
        """Of each page's accesses, the share of each thread."""
        return np.asarray(self.counts / self.weight[:, None])

    @cached_property
    def users(self) -> npt.NDArray[np.bool_]:
        """Which threads use which page, apart from a few elements."""
        return np.asarray(self.shares >= USER / len(self.threads))

    @cached_property
    def owner(self) -> Integers:
        """Of each page, the index of its busiest thread."""
        return np.asarray(self.counts.argmax(axis=1))

    def mean(self, values: npt.NDArray[np.generic]) -> float:
        """The mean over pages, weighted by accesses."""
        return float(np.average(values.astype(float), weights=self.weight))

    @property
    def dominance(self) -> float:
        """Mean share of a page's busiest thread."""
        return self.mean(self.shares.max(axis=1))

    @property
    def users_per_page(self) -> float:
        """Mean number of threads that use a page."""
        return self.mean(self.users.sum(axis=1))

    @cached_property
    def together(self) -> npt.NDArray[np.bool_]:
        """Whether each page but the first follows on the one before (P - 1)."""
        return np.asarray((np.diff(self.instance) == 0) & (np.diff(self.page) == 1))


def page_use(rows: pl.DataFrame) -> PageUse:
    """The matrix of `rows`: those of one structure in a trace's accesses, or a part of them.

    Threads that hardly use it are left out.
    """
    table = (
        rows.group_by(*PAGE[1:], "thread")
        .agg(count=(pl.col("reads") + pl.col("writes")).sum())
        .filter(pl.col("count") > 0)
        .sort(*PAGE[1:], "thread")
    )
    by_thread = table.group_by("thread").agg(pl.col("count").sum())
    idle = by_thread.filter(pl.col("count") < IDLE * pl.col("count").mean())
    table = table.join(idle, on="thread", how="anti", maintain_order="left")
    row = table.select(pl.struct(PAGE[1:]).rle_id()).to_series().to_numpy().astype(np.int64)
    threads, column = np.unique(table["thread"].to_numpy().astype(np.int64), return_inverse=True)
    pages = int(row[-1]) + 1 if len(row) else 0
    first = np.searchsorted(row, np.arange(pages))
    kept = np.arange(pages)
    if pages * len(threads) > ELEMENTS:
        every = -(-pages * len(threads) // ELEMENTS)
        kept = kept[(kept // RUN) % every == 0]
    new = np.full(pages, -1)
    new[kept] = np.arange(len(kept))
    inside = new[row] >= 0
    counts = np.zeros((len(kept), len(threads)))
    counts[new[row[inside]], column[inside]] = table["count"].to_numpy()[inside]
    chosen = first[kept]
    return PageUse(
        threads,
        table["instance"].to_numpy()[chosen].astype(np.int64),
        table["page"].to_numpy()[chosen].astype(np.int64),
        counts,
    )
