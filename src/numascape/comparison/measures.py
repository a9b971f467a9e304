# SPDX-License-Identifier: Apache-2.0
"""Measures a run and each of its structures for comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from numascape.analysis.remote import foreign_accesses, remote_accesses
from numascape.trace import Trace
from numascape.trace.counting import counted_share, run_error
from numascape.trace.summary import structure_summary


@dataclass(frozen=True)
class StructureMeasures:
    """A structure of one run; `structure` has its ids, several if the structures look the same.

    `remote_share` is relative to the accesses whose nodes are known; None if there are none.
    `foreign_share` is the share of accesses by other threads than the first toucher, relative to
    the accesses to pages whose first toucher is known. `first_toucher` is the thread that touched
    most pages first, and `first_touch_share` its share of them. `nodes` is the number of pages by
    node.
    """

    structure: tuple[int, ...]
    size: int
    instances: int
    reads: int
    writes: int
    share: float
    threads: int
    remote_share: float | None
    foreign_share: float | None
    first_toucher: int | None
    first_touch_share: float | None
    nodes: dict[int, int]

    @property
    def accesses(self) -> int:
        """Reads and writes."""
        return self.reads + self.writes


@dataclass(frozen=True)
class RunMeasures:
    """A run as a whole.

    `busiest_node_share` is the share of the node with most accesses, relative to the accesses to
    pages whose node is known. `known_share` is the share of all accesses whose nodes are known.
    `counts` is what the recorder counted: accesses, samples, or first touches. If only bursts with
    `counted_share` of the work were counted, `estimate_error` is the error of the number of all
    accesses, as a share of it.
    """

    path: Path
    program: str
    arguments: tuple[str, ...]
    machine: str
    started: str
    threads: int
    reads: int
    writes: int
    pages: int
    counts: str
    counted_share: float
    estimate_error: float
    known_share: float
    remote_share: float | None
    foreign_share: float | None
    busiest_node: int | None
    busiest_node_share: float | None

    @property
    def accesses(self) -> int:
        """Reads and writes."""
        return self.reads + self.writes


@dataclass(frozen=True)
class StructureKey:
    """Identifies a structure in several runs; `file` is without its folders."""

    name: str
    kind: str
    function: str
    file: str
    line: int


@dataclass(frozen=True)
class NodeAccesses:
    """remote_accesses and foreign_accesses of a trace."""

    remote: pl.DataFrame
    foreign: pl.DataFrame

    @classmethod
    def of(cls, trace: Trace) -> NodeAccesses:
        """Compute both, each with a pass over the trace's accesses."""
        return cls(remote_accesses(trace), foreign_accesses(trace))


def measure_run(trace: Trace, use: NodeAccesses) -> RunMeasures:
    """The run's numbers."""
    info, remote = trace.info, use.remote
    touched, foreign = float(use.foreign["accesses"].sum()), float(use.foreign["foreign"].sum())
    known, away = float(remote["accesses"].sum()), float(remote["remote"].sum())
    by_node = remote.group_by("node").agg(pl.col("accesses").sum()).sort("accesses", "node")
    accesses = int(trace.accesses.select((pl.col("reads") + pl.col("writes")).sum()).item() or 0)
    node, most = by_node.row(-1) if by_node.height else (None, 0)
    return RunMeasures(
        path=trace.path,
        program=info.program,
        arguments=info.arguments,
        machine=info.machine.name,
        started=info.started,
        threads=trace.threads.height,
        reads=int(trace.accesses["reads"].sum()),
        writes=int(trace.accesses["writes"].sum()),
        pages=info.totals.pages,
        counts=info.recorder.counts,
        counted_share=counted_share(trace),
        estimate_error=run_error(trace),
        known_share=known / accesses if accesses else 0.0,
        remote_share=away / known if known else None,
        foreign_share=foreign / touched if touched else None,
        busiest_node=node,
        busiest_node_share=most / known if known else None,
    )


def measure_structures(trace: Trace, use: NodeAccesses) -> dict[StructureKey, StructureMeasures]:
    """The measures of each structure by its site; structures at the same site are one."""
    remote = use.remote.group_by("structure").agg(pl.col("accesses", "remote").sum())
    away, foreign = (
        {
            int(number): (float(accesses), float(part))
            for number, accesses, part in frame.iter_rows()
        }
        for frame in (remote, use.foreign)
    )
    nodes: dict[int, dict[int, int]] = {}
    pages = trace.placement.filter(pl.col("node") >= 0).group_by("structure", "node").agg(pl.len())
    for number, node, count in pages.sort("structure", "node").iter_rows():
        nodes.setdefault(number, {})[node] = count
    sites: dict[StructureKey, list[dict[str, Any]]] = {}
    for row in structure_summary(trace).iter_rows(named=True):
        file = row["file"].rpartition("/")[2]
        site = StructureKey(row["name"], row["kind"], row["function"], file, row["line"])
        sites.setdefault(site, []).append(row)
    return {site: _together(rows, away, foreign, nodes) for site, rows in sites.items()}


def _together(
    rows: list[dict[str, Any]],
    away: dict[int, tuple[float, float]],
    foreign: dict[int, tuple[float, float]],
    nodes: dict[int, dict[int, int]],
) -> StructureMeasures:
    """Join rows of structure_summary; the first toucher is that of the first, most used row."""
    numbers = tuple(row["structure"] for row in rows)
    pages: dict[int, int] = {}
    for number in numbers:
        for node, count in nodes.get(number, {}).items():
            pages[node] = pages.get(node, 0) + count
    return StructureMeasures(
        structure=numbers,
        size=max(row["size"] for row in rows),
        instances=sum(row["instances"] for row in rows),
        reads=sum(row["reads"] for row in rows),
        writes=sum(row["writes"] for row in rows),
        share=sum(row["share"] for row in rows),
        threads=max(row["threads"] for row in rows),
        remote_share=_part(away, numbers),
        foreign_share=_part(foreign, numbers),
        first_toucher=rows[0]["first_touch_thread"],
        first_touch_share=rows[0]["first_touch_share"],
        nodes=dict(sorted(pages.items())),
    )


def _part(sums: dict[int, tuple[float, float]], numbers: tuple[int, ...]) -> float | None:
    """The quotient of the sums over these structures: part over whole."""
    whole = sum(sums.get(number, (0.0, 0.0))[0] for number in numbers)
    return sum(sums.get(number, (0.0, 0.0))[1] for number in numbers) / whole if whole else None
