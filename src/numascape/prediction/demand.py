# SPDX-License-Identifier: Apache-2.0
"""What a recorded program asks of memory: lines per page, thread and phase, aggregated once.

A trace counts accesses, and most accesses are answered by caches. Where the trace has the columns
`memory_lines` and `written_lines` (recorded with a cache model), that is what came from memory and
went back; otherwise it is estimated, and the estimate has a least and a most.
docs/prediction.md describes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.prediction.speeds import Floats, Speeds
from numascape.trace import Trace

PAGE: Final = ["structure", "instance", "page"]
PAGE_BYTES: Final = 4096
LINE_BYTES: Final = 64
_LINES: Final = PAGE_BYTES // LINE_BYTES
_ELEMENT: Final = 8
"""Bytes of an element, where only its accesses are known."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Where pages and threads are.

    `share` is pages x nodes of memory, `on` threads x nodes of CPUs: the part of each that is
    there. Of the pages that are `copied`, each node has its own, and `share` says nothing.
    """

    share: Floats
    on: Floats
    copied: npt.NDArray[np.bool_]

    def of(self, page: npt.NDArray[np.int64], thread: npt.NDArray[np.int64], node: int) -> Floats:
        """The part of each page that its thread finds on a node."""
        part = self.share[page, node]
        if self.copied.any():
            part = np.where(self.copied[page], self.on[thread, node], part)
        return np.asarray(part, np.float64)


@dataclass(frozen=True, eq=False)
class Demand:
    """A trace's use of memory, in rows of one page, thread and phase.

    `pages` has the columns structure, instance, page and row, and the rows 0, 1, ... that `page`
    names. `counts` are accesses, `lines` what comes from memory in lines of 64 bytes, `moved` the
    same with what goes back. `accesses` is phases x threads. `once` is for each phase the lines
    that a page has, each time that the phase ran; `rounds` (per row) the part of these times in
    which the thread used the page, 1 where unknown. `least` and `most` are what `lines` could be
    less or more for being an estimate, as a factor; 1 when `counted`. `phased`: the run has phases.
    """

    pages: pl.DataFrame
    page: npt.NDArray[np.int64]
    thread: npt.NDArray[np.int64]
    phase: npt.NDArray[np.int64]
    counts: Floats
    lines: Floats
    moved: Floats
    accesses: Floats
    once: Floats
    rounds: Floats
    phase_names: tuple[str, ...]
    least: float = 1.0
    most: float = 1.0
    counted: bool = False
    phased: bool = False

    def of_phases(self, wanted: Sequence[int]) -> Demand:
        """What these phases ask, in the order of their numbers; pages stay as they are."""
        kept = np.isin(self.phase, list(wanted))
        chosen = np.zeros(len(self.phase_names), bool)
        chosen[list(wanted)] = True
        return replace(
            self,
            page=self.page[kept],
            thread=self.thread[kept],
            phase=(np.cumsum(chosen) - 1)[self.phase[kept]],
            counts=self.counts[kept],
            lines=self.lines[kept],
            moved=self.moved[kept],
            rounds=self.rounds[kept],
            accesses=self.accesses[chosen],
            once=self.once[chosen],
            phase_names=tuple(np.array(self.phase_names, object)[chosen]),
        )

    @cached_property
    def again(self) -> Floats:
        """Of `lines`, those that a thread fetched again while a phase ran once; 0 where unknown."""
        if not (self.counted and self.phased):
            return np.zeros_like(self.lines)
        return np.maximum(self.lines - self.once[self.phase] * self.rounds, 0.0)

    @property
    def threads(self) -> int:
        """How many there are."""
        return int(self.accesses.shape[1])

    def by_node(self, placed: Placed, amount: Floats) -> Floats:
        """Phases x threads x nodes: `amount` (per row) times the part of its page on each node."""
        phases, threads = self.accesses.shape
        key = self.phase * threads + self.thread
        columns: list[Floats] = [
            _summed(key, amount * placed.of(self.page, self.thread, node), phases * threads)
            for node in range(placed.share.shape[1])
        ]
        return np.stack(columns, axis=-1).reshape(phases, threads, -1)

    def local_accesses(self, placed: Placed) -> float:
        """Accesses to pages on the node that they are made from."""
        local = np.zeros(len(self.page))
        fixed = (placed.on.max(axis=1) == 1.0)[self.thread]
        home = placed.on.argmax(axis=1)[self.thread]
        local[fixed] = placed.share[self.page[fixed], home[fixed]]
        if not fixed.all():
            # Whatever has no node of its own is on all alike.
            everywhere = placed.share @ placed.on[self.thread[~fixed][0]]
            local[~fixed] = everywhere[self.page[~fixed]]
        local[placed.copied[self.page]] = 1.0
        return float((self.counts * local).sum())

    def shares(self, placed: pl.DataFrame, speeds: Speeds) -> Floats:
        """Pages x nodes from a frame structure, instance, page, node, share.

        What the frame leaves unplaced of a page is on all nodes alike.
        """
        size = (self.pages.height, len(speeds.nodes))
        found = placed.select(*PAGE, "node", "share").join(self.pages, on=PAGE)
        position = speeds.positions(found["node"].to_numpy().astype(np.int64))
        known = position >= 0
        rows = found["row"].to_numpy()[known]
        flat = rows * size[1] + position[known]
        placed_share = found["share"].to_numpy()[known]
        result = _summed(flat, placed_share, size[0] * size[1]).reshape(size)
        missing = np.maximum(1.0 - result.sum(axis=1, keepdims=True), 0.0)
        return np.asarray(result + missing / size[1])


def demand_of(trace: Trace, speeds: Speeds) -> Demand:
    """The trace's demand, with caches as large as the machine's. One pass over its accesses."""
    used = trace.accesses.filter(pl.col("reads") + pl.col("writes") > 0)
    pages = (
        pl.concat([used.select(PAGE), trace.first_touch.select(PAGE)])
        .unique()
        .sort(PAGE)
        .with_row_index("row")
        .with_columns(pl.col("row").cast(pl.Int64))
    )
    rows = used.join(pages, on=PAGE, how="left")
    page, thread, phase = (
        rows[name].to_numpy().astype(np.int64) for name in ("row", "thread", "phase")
    )
    reads, writes = (rows[name].to_numpy().astype(np.float64) for name in ("reads", "writes"))
    shape = (trace.phases.height, trace.threads.height)
    key = phase * shape[1] + thread
    accesses = _summed(key, reads + writes, shape[0] * shape[1]).reshape(shape)
    least = most = 1.0
    # A written line is read and written back; of one that is read more often than written, a part.
    back = np.divide(writes, reads, out=np.ones_like(writes), where=reads > writes)
    repetitions = np.maximum(trace.phases["repetitions"].to_numpy(), 1).astype(np.float64)
    counted = "memory_lines" in rows.columns
    if counted:
        lines = rows["memory_lines"].to_numpy().astype(np.float64)
        back = rows["written_lines"].to_numpy().astype(np.float64)
    else:
        low, lines, high = _estimated(reads + writes, key, repetitions[phase], shape, speeds)
        total = lines.sum()
        if total > 0:
            least, most = float(low.sum() / total), float(high.sum() / total)
        back = back * lines
    return Demand(
        pages, page, thread, phase, reads + writes, lines, lines + back, accesses,
        _LINES * repetitions, np.ones_like(lines), tuple(trace.phases["name"].to_list()),
        least, most, counted, trace.phases.height > 1,
    )  # fmt: skip


def _summed(key: npt.NDArray[np.int64], weights: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(key, weights, size), np.float64)


def cache_share(speeds: Speeds, threads: int) -> float:
    """Bytes of cache that each of so many threads has: its own, and its part of the shared one."""
    cpus = float(speeds.cpus.sum())
    sharing = max(1.0, speeds.sharers * threads / cpus)
    return speeds.shared_cache / sharing + speeds.private_cache


def _estimated(
    count: Floats,
    key: npt.NDArray[np.int64],
    repetitions: Floats,
    shape: tuple[int, int],
    speeds: Speeds,
) -> tuple[Floats, Floats, Floats]:
    """Least, middle and most lines of each row, from its accesses.

    A page that stays in the cache comes once; one that does not comes at least once each time the
    phase runs, and at most an element at a time in order. Between these lies their geometric mean,
    and how much does not stay is the part of the thread's pages that the cache cannot hold.
    """
    pages = np.bincount(key, minlength=shape[0] * shape[1])
    working_set = np.maximum(pages * float(PAGE_BYTES), 1.0)
    missing = np.maximum(0.0, 1.0 - cache_share(speeds, shape[1]) / working_set)[key]
    once = np.minimum(count, _LINES)
    low = np.maximum(once, np.minimum(count, _LINES * repetitions) * missing)
    high = np.maximum(low, count * (_ELEMENT / LINE_BYTES) * missing)
    return low, np.sqrt(low * high), high
