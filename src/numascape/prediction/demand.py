# SPDX-License-Identifier: Apache-2.0
"""The memory traffic of a recorded program: lines per page, thread and phase, aggregated once.

A trace counts accesses, but most accesses hit caches. If the trace has the columns `memory_lines`
and `written_lines` (recorded with a cache model), these are the lines from memory and back to it.
Otherwise they are estimated, with a lower and an upper bound; see docs/prediction.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.page_index import PageIndex, page_index, rows_of_accesses
from numascape.machine import Machine
from numascape.prediction.computing import computing_ns
from numascape.prediction.speeds import Floats, Speeds, speeds_of
from numascape.trace import Trace
from numascape.trace.format import LINE_BYTES, PAGE_BYTES, PAGE_LINES

Ints = npt.NDArray[np.int64]

_ELEMENT: Final = 8
"""Assumed bytes of an element if only accesses are known."""

_CHUNK: Final = 1 << 15
"""The number of rows that are computed together. The intermediate values of more rows do not fit
into a cache."""


@dataclass(frozen=True, eq=False)
class Placed:
    """The placement of pages and threads.

    `share` (pages x nodes of memory) and `on` (threads x nodes of CPUs) are the share of each page
    or thread on each node. Each node has its own copy of the `copied` pages; their `share` is not
    used.
    """

    share: Floats
    on: Floats
    copied: npt.NDArray[np.bool_]

    def of(self, page: npt.NDArray[np.int64], thread: npt.NDArray[np.int64], node: int) -> Floats:
        """The share of each page that its thread finds on a node."""
        part = self.share[page, node]
        if self.copied.any():
            part = np.where(self.copied[page], self.on[thread, node], part)
        return np.asarray(part, np.float64)


@dataclass(frozen=True, eq=False)
class PageGroups:
    """The number of pages for which each row stands, and sums of their non-linear values.

    `again` is that of a demand; `mean_moved` and `least_moved` are what `shared_moves` gives.
    """

    sizes: Floats
    again: Floats
    mean_moved: Floats
    least_moved: Floats


@dataclass(frozen=True, eq=False)
class Demand:
    """The memory traffic of a trace, with one row per page, thread and phase.

    `index` has the pages, and `page` is the row of its `pages`.
    `counts` are accesses, `lines` the lines of 64 bytes from memory, and `moved` the lines from
    memory and back to it. `accesses` is phases x threads. `once` is, for each phase, the lines of a
    page times the repetitions of the phase. `rounds` (per row) is the share of these repetitions in
    which the thread used the page, or 1 if unknown. `least` and `most` are factors on `lines` for
    the bounds of the estimate, or 1 if `counted`. `phased`: the run has phases. `groups`: what is
    not a sum, if each row of `pages` stands for several pages. `computing_ns` is the time that the
    run computes for each access, besides the access itself.
    """

    index: PageIndex
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
    groups: PageGroups | None = None
    computing_ns: float = 0.0

    @property
    def pages(self) -> pl.DataFrame:
        """The columns of PAGE, and row."""
        return self.index.pages

    def of_phases(self, wanted: Sequence[int]) -> Demand:
        """The demand of these phases, in the order of their numbers; pages stay the same."""
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
        """The part of `lines` that a thread fetched again while a phase ran once; 0 if unknown."""
        if self.groups is not None:
            return self.groups.again
        if not (self.counted and self.phased):
            return np.zeros_like(self.lines)
        return np.maximum(self.lines - self.once[self.phase] * self.rounds, 0.0)

    @property
    def threads(self) -> int:
        """The number of threads."""
        return int(self.accesses.shape[1])

    def by_node(self, placed: Placed, *amounts: Floats) -> list[Floats]:
        """Phases x threads x nodes: each amount (per row) times the share of its page on a node."""
        phases, threads = self.accesses.shape
        key = self.phase * threads + self.thread
        nodes = placed.share.shape[1]
        sums: list[Floats] = [np.zeros((phases * threads, nodes)) for _ in amounts]
        for node in range(nodes):
            share = placed.of(self.page, self.thread, node)
            for found, amount in zip(sums, amounts, strict=True):
                found[:, node] = _summed(key, amount * share, phases * threads)
        return [found.reshape(phases, threads, nodes) for found in sums]

    def local_accesses(self, placed: Placed) -> float:
        """The number of accesses to pages on the node of the thread."""
        local = np.zeros(len(self.page))
        fixed = (placed.on.max(axis=1) == 1.0)[self.thread]
        home = placed.on.argmax(axis=1)[self.thread]
        local[fixed] = placed.share[self.page[fixed], home[fixed]]
        if not fixed.all():
            # All threads without a fixed node are spread over the nodes in the same way.
            everywhere = placed.share @ placed.on[self.thread[~fixed][0]]
            local[~fixed] = everywhere[self.page[~fixed]]
        local[placed.copied[self.page]] = 1.0
        return float((self.counts * local).sum())

    def shares(self, placed: pl.DataFrame, speeds: Speeds) -> Floats:
        """Pages x nodes from a frame structure, instance, page, node, share.

        The share of a page that the frame does not place is spread evenly over all nodes.
        """
        size = (self.pages.height, len(speeds.nodes))
        rows = self.index.rows(placed)
        position = speeds.positions(placed["node"].to_numpy().astype(np.int64))
        known = (rows >= 0) & (position >= 0)
        flat = rows[known] * size[1] + position[known]
        placed_share = placed["share"].to_numpy()[known]
        result = _summed(flat, placed_share, size[0] * size[1]).reshape(size)
        missing = np.maximum(1.0 - result.sum(axis=1, keepdims=True), 0.0)
        return np.asarray(result + missing / size[1])

    def structure_pages(self, placed: Placed) -> Floats:
        """The number of pages of each structure on each node: structures x nodes."""
        structure = self.pages["structure"].to_numpy()
        sizes = 1.0 if self.groups is None else self.groups.sizes
        on_nodes = [np.bincount(structure, share * sizes) for share in placed.share.T]
        return np.stack(on_nodes, axis=1)

    def number_of_pages(self, structures: Sequence[int]) -> int:
        """The number of pages of these structures that the run used."""
        chosen = self.pages["structure"].is_in(list(structures)).to_numpy()
        return int(chosen.sum() if self.groups is None else self.groups.sizes[chosen].sum())


def demand_of(trace: Trace, speeds: Speeds) -> Demand:
    """The demand of the trace, with the machine's cache sizes. Needs one pass over the accesses."""
    index, page = page_index(trace), rows_of_accesses(trace)
    is_used = pl.col("reads") + pl.col("writes") > 0
    used = trace.accesses.filter(is_used)
    if used.height < trace.accesses.height:
        page = page[trace.accesses.select(is_used).to_series().to_numpy()]
    thread, phase = (used[name].to_numpy().astype(np.int64) for name in ("thread", "phase"))
    reads, writes = (used[name].to_numpy().astype(np.float64) for name in ("reads", "writes"))
    shape = (trace.phases.height, trace.threads.height)
    key = phase * shape[1] + thread
    accesses = _summed(key, reads + writes, shape[0] * shape[1]).reshape(shape)
    least = most = 1.0
    # A written line is fetched and written back. If a line is read more often than written, only a
    # part counts as written back.
    back = writes / np.maximum(reads, writes)
    repetitions = np.maximum(trace.phases["repetitions"].to_numpy(), 1).astype(np.float64)
    counted = "memory_lines" in used.columns
    if counted:
        lines = used["memory_lines"].to_numpy().astype(np.float64)
        back = used["written_lines"].to_numpy().astype(np.float64)
    else:
        alike = _pages_of_the_same_memory(trace, index, key, page)
        low, lines, high = _estimated(reads + writes, key, repetitions, shape, speeds, alike)
        total = lines.sum()
        if total > 0:
            least, most = float(low.sum() / total), float(high.sum() / total)
        back = back * lines
    return Demand(
        index, page, thread, phase, reads + writes, lines, lines + back, accesses,
        PAGE_LINES * repetitions, np.ones_like(lines), tuple(trace.phases["name"].to_list()),
        least, most, counted, trace.phases.height > 1, computing_ns=computing_ns(trace),
    )  # fmt: skip


def demand_on(trace: Trace, machine: Machine) -> Demand:
    """The demand of the trace on the machine; the trace keeps it for the last machine."""
    kept: dict[str, tuple[Machine, Demand]] = vars(trace).setdefault("_demand_on", {})
    if "last" not in kept or kept["last"][0] is not machine:
        kept["last"] = machine, demand_of(trace, speeds_of(machine))
    return kept["last"][1]


def _summed(key: npt.NDArray[np.int64], weights: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(key, weights, size), np.float64)


def cache_share(speeds: Speeds, threads: int) -> float:
    """Bytes of cache per thread with this many threads: private, and a part of the shared one."""
    cpus = float(speeds.cpus.sum())
    sharing = max(1.0, speeds.sharers * threads / cpus)
    return speeds.shared_cache / sharing + speeds.private_cache


def _pages_of_the_same_memory(trace: Trace, index: PageIndex, key: Ints, page: Ints) -> Floats:
    """For each row of a `key` and a `page`: how many rows of the key have pages at one address.

    A block that is allocated after another one was freed often gets the same memory, which may
    still be in the cache.
    """
    located = index.pages.join(
        trace.instances.select("structure", "instance", "address"),
        on=["structure", "instance"],
        how="left",
        maintain_order="left",
    )
    address = pl.col("address").cast(pl.Int64) // PAGE_BYTES + pl.col("page").cast(pl.Int64)
    memory = located.select(pl.coalesce(address, -1 - pl.col("row").cast(pl.Int64))).to_series()
    if memory.n_unique() == memory.len():
        return np.ones(len(key))
    rows = pl.DataFrame({"key": key, "memory": memory.gather(page)})
    return rows.select(pl.len().over("key", "memory")).to_series().to_numpy().astype(np.float64)


def _estimated(
    count: Floats,
    key: npt.NDArray[np.int64],
    repetitions: Floats,
    shape: tuple[int, int],
    speeds: Speeds,
    alike: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Estimate the lines of each row from its accesses: lower bound, middle, upper bound.

    The lines of a page that stays in the cache are fetched once. Other pages are fetched at least
    once per repetition of the phase, and at most once for each line of consecutive elements. The
    middle is the geometric mean of the bounds. The share of pages that do not stay is the share of
    the thread's pages that exceeds its cache. `key` is the phase times the number of threads, plus
    the thread; `repetitions` are those of each phase. `alike` is, for each row, how many rows of
    its key have the same memory, one after the other: together they are one page.
    """
    pages = np.bincount(key, weights=1.0 / alike, minlength=shape[0] * shape[1])
    working_set = np.maximum(pages * float(PAGE_BYTES), 1.0)
    missing = np.maximum(0.0, 1.0 - cache_share(speeds, shape[1]) / working_set)
    low, middle, high = (np.empty(len(count)) for _ in range(3))
    for begin in range(0, len(count), _CHUNK):
        rows = slice(begin, begin + _CHUNK)
        made, part = count[rows], missing[key[rows]]
        once = np.minimum(made, PAGE_LINES) / alike[rows]
        again = PAGE_LINES * repetitions[key[rows] // shape[1]] / alike[rows]
        low[rows] = np.maximum(once, np.minimum(made, again) * part)
        high[rows] = np.maximum(low[rows], made * (_ELEMENT / LINE_BYTES) * part)
        middle[rows] = np.sqrt(low[rows] * high[rows])
    return low, middle, high
