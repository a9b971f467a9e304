# SPDX-License-Identifier: Apache-2.0
"""Structures of which every node could have a copy: who reads them, and that nobody writes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from numascape.prediction.demand import PAGE, PAGE_BYTES, Demand
from numascape.prediction.speeds import CORE_GB_S, Speeds
from numascape.trace import Trace


def worth_copying(trace: Trace) -> list[int]:
    """The structures that several threads read and nobody writes once they are filled, by number.

    Filling is what each page's first toucher writes to it, in phases that ran once, byte by byte at
    most. Stacks are left out: their addresses are the threads' own. So is what has less than a
    hundredth of the accesses: where that lies changes nothing that the model could tell.
    """
    made = pl.col("reads") + pl.col("writes")
    least = 0.01 * float(trace.accesses.select(made.sum()).item() or 0)
    repeated = trace.phases.filter(pl.col("repetitions") > 1)["phase"]
    pages = (
        trace.accesses.lazy()
        .join(trace.first_touch.lazy().select(*PAGE, first="thread"), on=PAGE, how="left")
        .group_by(PAGE)
        .agg(
            filled=pl.col("writes").filter(pl.col("thread") == pl.col("first")).sum(),
            again=pl.col("writes").filter(pl.col("phase").is_in(repeated.implode())).sum(),
            writes=pl.col("writes").sum(),
            made=made.sum(),
            readers=pl.col("thread").filter(pl.col("reads") > 0).n_unique(),
        )
    )
    structures = (
        pages.group_by("structure")
        .agg(
            only_filled=(pl.col("writes") == pl.col("filled")).all()
            & (pl.col("filled") <= PAGE_BYTES).all()
            & (pl.col("again") == 0).all(),
            read_by_several=(pl.col("readers") > 1).any(),
            made=pl.col("made").sum(),
        )
        .join(trace.structures.lazy().select("structure", "kind"), on="structure")
        .filter(
            "only_filled", "read_by_several", pl.col("kind") != "stack", pl.col("made") >= least
        )
        .sort("structure")
        .collect()
    )
    return [int(number) for number in structures["structure"]]


def bytes_of_copy(demand: Demand, structures: Sequence[int]) -> int:
    """The memory of one copy: all pages of theirs that the run used."""
    return PAGE_BYTES * int(demand.pages["structure"].is_in(list(structures)).sum())


def seconds_to_copy(size: int, speeds: Speeds) -> float:
    """What it takes to make the copies: a thread of each other node reads all of it, and writes."""
    return 2.0 * size / (CORE_GB_S * 1e9) if len(speeds.cpu_nodes) > 1 else 0.0
