# SPDX-License-Identifier: Apache-2.0
"""Keep a report below its size budget: fold the structures with most cells until it fits."""

from __future__ import annotations

import dataclasses

import polars as pl

from numascape.errors import NumascapeError
from numascape.report.build import Draft, finish
from numascape.report.encode import encode_report
from numascape.report.folding import coarsen

SHORT = 160
"""Length of names when even the coarsest figures leave too little room."""
FEWEST = 64
"""Cells below which folding a structure gains nothing worth its detail."""


def encode_within(started: Draft, budget: int) -> str:
    """Return the encoded report, at most ``budget`` characters long.

    Each round estimates the characters a cell costs from the last encoding and halves the
    columns of the largest structures until the estimate fits.
    """
    shortened = False
    while True:
        text = encode_report(finish(started))
        if len(text) <= budget:
            return text
        coarser = _coarser(started, budget / len(text))
        if coarser is not None:
            started = coarser
        elif not shortened:
            started = _with_short_names(started)
            shortened = True
        else:
            raise NumascapeError(
                f"the report does not fit into {budget} bytes even when folded: "
                "the trace names too many threads or structures"
            )


def _coarser(started: Draft, fraction: float) -> Draft | None:
    counts = started.folded.cell_counts()
    # Aim a little lower: coarser columns hold larger numbers, which compress less well.
    goal = 0.9 * fraction * sum(counts.values())
    factors: dict[int, int] = {}
    while sum(counts.values()) > goal:
        largest = max(counts, key=lambda position: counts[position], default=-1)
        if largest < 0 or counts[largest] < FEWEST or factors.get(largest, 1) >= 1 << 16:
            break
        counts[largest] //= 2
        factors[largest] = 2 * factors.get(largest, 1)
    if not factors:
        return None
    table = pl.DataFrame(
        {"position": list(factors), "factor": list(factors.values())},
        schema={"position": pl.UInt32, "factor": pl.UInt32},
    )
    return dataclasses.replace(started, folded=coarsen(started.folded, table))


def _with_short_names(started: Draft) -> Draft:
    def short(text: str) -> str:
        return text if len(text) <= SHORT else text[: SHORT - 1] + "…"

    entries = tuple(
        dataclasses.replace(
            entry,
            name=short(entry.name),
            module=short(entry.module),
            function=short(entry.function),
            file=short(entry.file),
            call_stack=tuple(short(frame) for frame in entry.call_stack[:8]),
        )
        for entry in started.structures
    )
    places = dataclasses.replace(
        started.places,
        function=tuple(map(short, started.places.function)),
        file=tuple(map(short, started.places.file)),
    )
    threads = [{**thread, "cpus": thread["cpus"][:8]} for thread in started.threads]
    return dataclasses.replace(started, structures=entries, places=places, threads=threads)
