# SPDX-License-Identifier: Apache-2.0
"""Computes the data of figures as plain tables and arrays; sums equal those of the trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.facts import per_thread_pages
from numascape.analysis.folding import fold_pages, lay_out_blocks, limit_columns
from numascape.analysis.sharing import shared_accesses
from numascape.analysis.source_places import source_places
from numascape.analysis.traffic import SEVERAL as SEVERAL_NODES
from numascape.analysis.traffic import node_traffic
from numascape.trace import Trace
from numascape.trace.summary import structure_summary

COLUMNS = 1024
"""Maximum number of columns with touched pages of a figure. Print can show fewer columns."""

CountArray = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
PlaceNumbers = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class PageMap:
    """One structure's pages, folded into columns, by thread.

    edges: the first page of each column, and the end of the last column; weight: pages of each
    column, or 0 if none was touched. reads, writes: rows x columns, where a row is
    `threads_per_row` threads; first_touched: the same, in pages; place: the index in `places` of
    the code that touched most of these pages first, or -1 for none.
    """

    name: str
    pages: int
    instances: int
    threads: int
    threads_per_row: int
    edges: Floats
    weight: Floats
    reads: CountArray
    writes: CountArray
    first_touched: CountArray
    place: PlaceNumbers
    places: tuple[str, ...]

    @property
    def accesses(self) -> CountArray:
        """Reads and writes, rows x columns."""
        return self.reads + self.writes


def page_map(trace: Trace, structure: int, columns: int = COLUMNS) -> PageMap:
    """Fold the pages of a structure; its instances are added up page by page."""
    chosen = pl.col("structure") == structure
    one_phase = pl.lit(0, pl.UInt32).alias("phase")
    per_thread = per_thread_pages(trace.accesses.filter(chosen), trace.phases.height).with_columns(
        one_phase
    )
    first = trace.first_touch.filter(chosen).with_columns(one_phase)
    touched = pl.concat(
        [table.select("instance", "page") for table in (per_thread, first)]
    ).n_unique()
    shown = (
        trace.structures.filter(chosen)
        .select("structure", "name", "pages", "instances")
        .with_columns(position=pl.lit(0, pl.UInt32), touched=pl.lit(touched), limit=pl.lit(columns))
    )
    places = source_places(first)
    folded = fold_pages(per_thread, first, shown, places, trace.structures.height)
    folded = limit_columns(folded, shown.select("position", "limit"))
    axis, cells, touches = lay_out_blocks(folded, 1, 1)
    shape = (trace.threads.height, len(axis.start))

    def dense(
        rows: npt.NDArray[np.unsignedinteger],
        at: npt.NDArray[np.unsignedinteger],
        values: npt.NDArray[np.unsignedinteger],
    ) -> CountArray:
        grid = np.zeros(shape, np.uint64)
        grid[rows, at] = values
        return grid

    first_touched = dense(touches.row, touches.column, touches.pages)
    place: PlaceNumbers = np.full(shape, -1, np.int64)
    place[touches.row, touches.column] = touches.place
    return PageMap(
        name=shown.item(0, "name"),
        pages=shown.item(0, "pages"),
        instances=shown.item(0, "instances"),
        threads=shape[0],
        threads_per_row=1,
        edges=np.append(axis.start, [int(axis.start[-1]) + int(axis.pages[-1])]).astype(float),
        weight=np.where(axis.touched > 0, axis.pages, 0).astype(float),
        reads=dense(cells.row, cells.column, cells.reads),
        writes=dense(cells.row, cells.column, cells.writes),
        first_touched=first_touched,
        place=place,
        places=tuple(
            _place(row["function"], row["file"], row["line"])
            for row in places.iter_rows(named=True)
        ),
    )


def _place(function: str, file: str, line: int) -> str:
    where = file.rpartition("/")[2] + (f":{line}" if line else "")
    return " ".join(part for part in (function, f"({where})" if where else "") if part) or "unknown"


def thread_sums(trace: Trace, structure: int | None) -> tuple[CountArray, CountArray]:
    """Reads and writes of each thread, to one structure or in the run."""
    sums = _of(trace.accesses, structure).group_by("thread").agg(pl.col("reads", "writes").sum())
    reads, writes = (np.zeros(trace.threads.height, np.uint64) for _ in range(2))
    reads[sums["thread"]] = sums["reads"].to_numpy()
    writes[sums["thread"]] = sums["writes"].to_numpy()
    return reads, writes


def sharing(trace: Trace, structure: int | None) -> CountArray:
    """How much each pair of threads uses the same pages of a structure, or of the run."""
    return shared_accesses(
        per_thread_pages(_of(trace.accesses, structure), trace.phases.height), trace.threads.height
    )


@dataclass(frozen=True)
class TrafficMatrix:
    """Accesses by the node of the thread (rows) and the node of the page (columns)."""

    thread_nodes: tuple[str, ...]
    page_nodes: tuple[str, ...]
    accesses: CountArray

    @property
    def local(self) -> int:
        """Accesses by threads that were seen only on the node of the page."""
        return sum(
            int(self.accesses[row, column])
            for row, node in enumerate(self.thread_nodes)
            for column, other in enumerate(self.page_nodes)
            if node == other and node.isdecimal()
        )


SEVERAL = "several"
UNKNOWN = "unknown"


def traffic(trace: Trace, structure: int | None) -> TrafficMatrix:
    """The traffic between nodes with the observed placement.

    Threads that were seen on several nodes have a separate row, because the node of each of their
    accesses is unknown. Unknown nodes have another one.
    """

    def named(column: str) -> pl.Expr:
        node = pl.col(column)
        return (
            pl.when(node >= 0)
            .then(node.cast(pl.String))
            .when(node == SEVERAL_NODES)
            .then(pl.lit(SEVERAL))
            .otherwise(pl.lit(UNKNOWN))
        )

    sums = node_traffic(trace, _of(trace.accesses, structure), []).select(
        named("thread_node").alias("thread_node"),
        named("page_node").alias("page_node"),
        "accesses",
    )
    machine = {str(node.node) for node in trace.info.machine.nodes}
    rows = _in_order(machine | set(sums["thread_node"]))
    columns = _in_order(machine | set(sums["page_node"]))
    matrix = np.zeros((len(rows), len(columns)), np.uint64)
    for row, column, accesses in sums.iter_rows():
        matrix[rows.index(row), columns.index(column)] = accesses
    return TrafficMatrix(rows, columns, matrix)


def _in_order(nodes: set[str]) -> tuple[str, ...]:
    """Numbers first, in order, then the words."""
    numbers = sorted((node for node in nodes if node.isdecimal()), key=int)
    return (*numbers, *sorted(node for node in nodes if not node.isdecimal()))


def sizes(trace: Trace, structure: int | None, most: int) -> pl.DataFrame:
    """The `most` structures with most accesses, with `structure` among them.

    Columns: those of :func:`numascape.trace.summary.structure_summary`.
    """
    summary = structure_summary(trace)
    shown = summary.head(most)
    if structure is not None and structure not in shown["structure"]:
        shown = pl.concat([shown.head(most - 1), summary.filter(pl.col("structure") == structure)])
    return shown


def _of(table: pl.DataFrame, structure: int | None) -> pl.DataFrame:
    return table if structure is None else table.filter(pl.col("structure") == structure)
