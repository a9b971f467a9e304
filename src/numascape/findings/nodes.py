# SPDX-License-Identifier: Apache-2.0
"""The nodes of threads and pages: observed, or assumed for a given machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.collecting import collected
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
        page = self._index.rows(rows)
        home = self.thread_node[rows["thread"].to_numpy()]
        known = np.flatnonzero((page >= 0) & (home >= 0))
        page = page[known]
        # A page may be on several nodes: then its rows count for each of them.
        begin, number = self._begin[page], self._begin[page + 1] - self._begin[page]
        row = np.repeat(known, number)
        before = np.cumsum(number) - number
        placed = np.repeat(begin - before, number) + np.arange(len(row))
        count = (rows["reads"] + rows["writes"]).to_numpy()[row]
        table = pl.DataFrame(
            {
                "structure": rows["structure"].to_numpy()[row],
                "thread_node": home[row].astype(np.int32),
                "node": self._sorted["node"].to_numpy()[placed],
                "accesses": count * self._sorted["share"].to_numpy()[placed],
            }
        )
        sums = (
            table.lazy().group_by("structure", "thread_node", "node").agg(pl.col("accesses").sum())
        )
        return collected(sums, table.height)

    @cached_property
    def _index(self) -> PageIndex:
        return index_of(self.pages)

    @cached_property
    def _sorted(self) -> pl.DataFrame:
        """`pages` in the order of the index."""
        return self.pages[np.argsort(self._index.rows(self.pages), kind="stable")]

    @cached_property
    def _begin(self) -> Ints:
        """The first row of each page of the index in `_sorted`, and the end of the last page."""
        number = np.bincount(self._index.rows(self.pages), minlength=self._index.pages.height)
        return np.concatenate([[0], np.cumsum(number)])


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
