# SPDX-License-Identifier: Apache-2.0
"""Runs on four nodes with 16 threads each, in which a number is beside a threshold.

Each function takes that number, makes the smallest run in which nothing else decides, and
returns whether what the threshold decides holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from numascape.findings import Finding
from numascape.findings.diagnoses import (
    displaced_pages,
    one_node_serves_all,
    shared_written,
)
from numascape.findings.subject import Subject
from synthetic.pattern import Pattern
from unit.findings.run_cases import all_read, run_of, subject_of

THREADS = 64


class Placed(Pattern):
    """A pattern whose pages are on given nodes."""

    node_of_page: Any = None

    def tables(self) -> dict[str, pl.DataFrame]:
        tables = super().tables()
        pages = tables["placement"]
        nodes = self.node_of_page[pages["page"].to_numpy()]
        tables["placement"] = pages.with_columns(node=pl.Series(nodes, dtype=pl.Int32))
        return tables


def shared_on_nodes(node_of_page: Any, by_first_node: float = 0.25) -> Subject:
    """All threads read all pages; those of node 0 make `by_first_node` of the accesses."""
    pattern = Placed("shared", THREADS)
    pattern.node_of_page = node_of_page
    near = np.arange(THREADS)[:, None] < 16
    reads = np.where(near, by_first_node / 16, (1 - by_first_node) / 48) * 1_000_000
    all_read(pattern, len(node_of_page), reads.round().astype(np.int64))
    return subject_of(run_of(pattern, nodes=True))


def first_pages(share: float, pages: int = 1200) -> Any:
    """Node 0 has `share` of the pages, the other three the rest, evenly."""
    page = np.arange(pages)
    return np.where(page < round(share * pages), 0, 1 + page % 3)


def one_node_serves(share: float) -> bool:
    return bool(one_node_serves_all.diagnose(shared_on_nodes(first_pages(share)).run))


def threads_are_spread(share: float) -> bool:
    return bool(one_node_serves_all.diagnose(shared_on_nodes(np.zeros(100, int), share).run))


def is_interleaved(ratio: float) -> bool:
    return shared_written.already_spread(shared_on_nodes(first_pages(ratio / 4)))


def displaced(away: Any, weight: Any = 1, order: Any = None) -> Finding | None:
    """Each thread works on 20 pages of its own; those `away` are on the next node."""
    pattern = Placed("parts", THREADS)
    page = np.arange(20 * THREADS)
    owner = page // 20
    pattern.node_of_page = (owner // 16 + away) % 4
    s = pattern.structure("A", len(page))
    reads = np.broadcast_to(weight, page.shape) * 1000
    pattern.access(s, page, owner, reads.astype(np.int64), 0)
    at = page if order is None else page[np.argsort(order, kind="stable")]
    pattern.touch(s, at, owner[at])
    return displaced_pages.diagnose(subject_of(run_of(pattern, nodes=True)))


def spread_over_threads(share: float) -> Any:
    """The first pages of each thread's part are away, in the order of their place in the part."""
    place = np.arange(20 * THREADS) % 20 * THREADS + np.arange(20 * THREADS) // 20
    return place < round(share * 20 * THREADS)


def pages_are_displaced(share: float) -> bool:
    away = spread_over_threads(share)
    return displaced(away, np.where(away, 20, 1)) is not None


def work_is_remote(share: float) -> bool:
    away = spread_over_threads(0.2)
    heavy = 1000 * (1 - share) / 0.8
    return displaced(away, np.where(away, 1000 * share / 0.2, heavy)) is not None


def node_was_full(probability: float) -> bool:
    """Of each node's 320 pages, 64 are away, touched after `probability` of the others."""
    page = np.arange(20 * THREADS)
    place = page % 320
    order = np.where(place < 64, probability * 256 - 0.5, place - 64)
    finding = displaced(place < 64, order=order)
    return finding is not None and "memory was full" in finding.why


def thread_moved(pages: float) -> bool:
    finding = displaced(np.arange(20 * THREADS) % 20 < pages)
    return finding is not None and "the thread moved" in finding.why
