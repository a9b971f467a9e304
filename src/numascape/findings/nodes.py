# SPDX-License-Identifier: Apache-2.0
"""The nodes of threads and pages: observed, or assumed for a given machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.page_index import Ints, PageIndex, index_of
from numascape.machine.description import Machine, same_nodes
from numascape.prediction.layout import observed_nodes
from numascape.prediction.policies import observed
from numascape.trace import Trace


@dataclass(frozen=True, eq=False)
class Nodes:
    """Threads and pages on the nodes of a machine with several.

    `observed`: it is the recorded machine. Otherwise, threads are laid out on the machine, and
    pages are on the nodes of their first touchers. `thread_node` has a node's number for each
    thread, or -1; `pages` has structure, instance, page, node and share.
    """

    machine: Machine
    observed: bool
    thread_node: npt.NDArray[np.int64]
    pages: pl.DataFrame

    @cached_property
    def threads(self) -> pl.DataFrame:
        """thread, thread_node; of the threads that stay on one node."""
        numbers = np.arange(len(self.thread_node))
        fixed = self.thread_node >= 0
        return pl.DataFrame(
            {"thread": numbers[fixed], "thread_node": self.thread_node[fixed]},
            schema={"thread": pl.UInt32, "thread_node": pl.Int32},
        )

    def traffic(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Accesses of `rows` by structure, thread_node and node of the page; known ones only."""
        page, home = self._index.rows(rows), self._home[rows["thread"].to_numpy()]
        known = (page >= 0) & (home >= 0)
        count = (rows["reads"] + rows["writes"]).to_numpy()
        structure = rows["structure"].to_numpy()
        if not known.all():
            page, home, count, structure = (each[known] for each in (page, home, count, structure))
        first = int(structure.min(initial=0)) if len(structure) else 0
        nodes = len(self._numbers)
        shape = (int(structure.max(initial=first)) - first + 1, nodes, nodes)
        pair = ((structure - first).astype(np.int64) * nodes + home) * nodes
        sums = np.zeros(shape[0] * nodes * nodes)
        # A page may be on several nodes: then its rows count for each of them.
        for turn in range(int(self._number.max(initial=0))):
            if turn:
                more = self._number[page] > turn
                page, pair, count = page[more], pair[more], count[more]
            placed = self._begin[page] + turn
            amount = count * self._share[placed]
            sums += np.bincount(pair + self._node[placed], amount, len(sums))
        found = np.nonzero(sums.reshape(shape))
        return pl.DataFrame(
            {
                "structure": (found[0] + first).astype(np.uint32),
                "thread_node": self._numbers[found[1]].astype(np.int32),
                "node": self._numbers[found[2]].astype(np.int32),
                "accesses": sums.reshape(shape)[found],
            }
        )

    @cached_property
    def _numbers(self) -> Ints:
        """The numbers of the nodes of pages and threads, in order."""
        of_threads = self.thread_node[self.thread_node >= 0]
        found = np.unique(np.concatenate([of_threads, self.pages["node"].to_numpy()]))
        return np.asarray(found, np.int64)

    @cached_property
    def _home(self) -> Ints:
        """The position of each thread's node in `_numbers`, or -1."""
        position = np.searchsorted(self._numbers, self.thread_node)
        return np.where(self.thread_node >= 0, position, -1)

    @cached_property
    def _index(self) -> PageIndex:
        return index_of(self.pages)

    @cached_property
    def _order(self) -> Ints:
        """The rows of `pages` in the order of the index."""
        return np.argsort(self._index.rows(self.pages), kind="stable")

    @cached_property
    def _node(self) -> Ints:
        """The position of the node of each row in this order in `_numbers`."""
        position = np.searchsorted(self._numbers, self.pages["node"].to_numpy())
        return np.asarray(position[self._order], np.int64)

    @cached_property
    def _share(self) -> npt.NDArray[np.float64]:
        """The share of each row in this order."""
        return np.asarray(self.pages["share"].to_numpy()[self._order], np.float64)

    @cached_property
    def _number(self) -> Ints:
        """The number of rows of each page of the index."""
        rows = self._index.rows(self.pages)
        return np.bincount(rows, minlength=self._index.pages.height)

    @cached_property
    def _begin(self) -> Ints:
        """The first row of each page of the index, in this order."""
        return np.cumsum(self._number) - self._number


def nodes_of(trace: Trace, machine: Machine | None) -> Nodes | None:
    """The nodes on `machine`, by default the recorded one; None if all accesses are local anyway.

    All accesses are local on a machine with one node. They are also local if only one node has
    CPUs, and all pages are on it. The other nodes are then memory of GPUs or CXL, where first touch
    puts no page.
    """
    own = trace.info.machine
    chosen = machine or own
    numbers = {node.node for node in chosen.nodes}
    if len(numbers) < 2 or not any(node.cpus for node in chosen.nodes):
        return None
    same = same_nodes(chosen, own)
    thread_node = observed_nodes(trace, chosen)
    # A trace is not trusted: it may have nodes that its machine does not have.
    thread_node = np.where(np.isin(thread_node, list(numbers)), thread_node, -1)
    pages = observed(trace, chosen, thread_node)
    with_cpus = [node.node for node in chosen.nodes if node.cpus]
    if len(with_cpus) == 1 and pages.filter(pl.col("node") != with_cpus[0]).is_empty():
        return None
    return Nodes(chosen, same, thread_node, pages)


def pages_by_node(placement: pl.DataFrame) -> dict[int, dict[int, int]]:
    """For each structure, the number of its pages on each node, as the kernel reported them."""
    pages: dict[int, dict[int, int]] = {}
    for structure, node, count in placement.group_by("structure", "node").len().iter_rows():
        pages.setdefault(structure, {})[node] = count
    return pages
