# SPDX-License-Identifier: Apache-2.0
"""Constructed traces and machines, in the form that the functions of predictions read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl

from numascape.machine import Machine, MachineNode, Matrix, Provenance
from numascape.machine.description import Controllers, Curve
from numascape.trace import Trace
from numascape.trace.info import Times, Totals
from numascape.trace.schema import SCHEMAS

ASSUMED = Provenance("assumed", "chosen for a test")
Access = tuple[int, int, int, int]
"""Page, thread, reads, writes."""


def machine_of(
    nodes: int = 2,
    cpus: int = 2,
    *,
    local: float = 100.0,
    remote: float = 200.0,
    memory_gb_s: float = 10.0,
    link_gb_s: float = 5.0,
    memory_bytes: int = 1 << 30,
    first: int = 0,
    without_cpus: tuple[int, ...] = (),
) -> Machine:
    """Equal nodes numbered from `first`, with equal distances; latency does not grow under load."""
    places = range(nodes)

    def matrix(own: float, other: float) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(own if i == j else other for j in places) for i in places)

    return Machine(
        name="made up",
        nodes=tuple(
            MachineNode(
                first + i,
                () if i in without_cpus else tuple(range(i * cpus, (i + 1) * cpus)),
                memory_bytes,
            )
            for i in places
        ),
        latencies=(Matrix(matrix(local, remote), ASSUMED),),
        bandwidths=(Matrix(matrix(memory_gb_s, link_gb_s), ASSUMED),),
        controllers=(Controllers((memory_gb_s,) * nodes, ASSUMED),),
        loaded_latency=(Curve(((1.0, 100.0), (2.0, 100.0), (3.0, 100.0)), ASSUMED),),
    )


def trace_of(
    accesses: list[Access],
    threads: int,
    *,
    first_touch: list[tuple[int, int]] | None = None,
    lines: list[int] | None = None,
    placement: list[tuple[int, int]] = (),  # type: ignore[assignment]
    machine: Machine | None = None,
    repetitions: int = 1,
    cpu_s: float | None = None,
) -> Trace:
    """One structure in one phase; `lines` are per row of accesses, the others (page, thread)."""
    pages = 1 + max((row[0] for row in [*accesses, *(first_touch or [])]), default=0)
    if first_touch is None:
        touched = dict.fromkeys(row[0] for row in accesses)
        first_touch = [(page, next(r[1] for r in accesses if r[0] == page)) for page in touched]
    frame = pl.DataFrame(
        [(0, 0, page, thread, 0, reads, writes) for page, thread, reads, writes in accesses],
        schema=SCHEMAS["accesses"],
        orient="row",
    )
    if lines is not None:
        written = [0 if row[3] == 0 else n for row, n in zip(accesses, lines, strict=True)]
        frame = frame.with_columns(
            memory_lines=pl.Series(lines, dtype=pl.UInt64),
            written_lines=pl.Series(written, dtype=pl.UInt64),
        )
    fake = SimpleNamespace(
        accesses=frame,
        first_touch=pl.DataFrame(
            [
                (0, 0, page, thread, 0, order, 0, "", "", 0)
                for order, (page, thread) in enumerate(first_touch)
            ],
            schema=SCHEMAS["first_touch"],
            orient="row",
        ),
        placement=pl.DataFrame(
            [(0, 0, page, node) for page, node in placement],
            schema=SCHEMAS["placement"],
            orient="row",
        ),
        threads=pl.DataFrame(
            [(t, 0, t, f"t{t}", 0, 1, [t], [0]) for t in range(threads)],
            schema=SCHEMAS["threads"],
            orient="row",
        ),
        phases=pl.DataFrame(
            [(0, "run", "", 0, 0, 1, repetitions)], schema=SCHEMAS["phases"], orient="row"
        ),
        structures=pl.DataFrame(
            [(0, 0, "a", "heap", pages * 4096, pages, 1, "", "f", "f.c", 7, [], True)],
            schema=SCHEMAS["structures"],
            orient="row",
        ),
        instances=pl.DataFrame(schema=SCHEMAS["instances"]),
        instructions=pl.DataFrame(schema=SCHEMAS["instructions"]),
        info=SimpleNamespace(
            machine=machine or machine_of(1),
            times=Times(1.0, cpu_s),
            totals=Totals(int(frame["reads"].sum()), int(frame["writes"].sum()), pages, threads),
            recorder=SimpleNamespace(counts="accesses"),
            host=SimpleNamespace(huge_pages=""),
        ),
        path=Path("made-up.numascape"),
        _results={},
    )
    fake.table = lambda table: getattr(fake, table)
    return cast(Trace, fake)


def nodes(*numbers: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


def share_of(frame: pl.DataFrame, page: int) -> dict[int, float]:
    """The probability of each node for a page."""
    mine = frame.filter(pl.col("page") == page)
    return dict(zip(mine["node"].to_list(), mine["share"].to_list(), strict=True))
