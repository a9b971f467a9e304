# SPDX-License-Identifier: Apache-2.0
"""Keeps a report below its size budget: folds the structures with most cells until it fits."""

from __future__ import annotations

import dataclasses
import heapq

import polars as pl

from numascape.analysis.folding import Folded, coarsen
from numascape.errors import NumascapeError
from numascape.report.build import Draft, ReportLimits, finish
from numascape.report.encode import encode_report

LEVELS = (
    ReportLimits(),
    ReportLimits(phases=32, fewest_columns=8),
    ReportLimits(phases=8, structures=1000, fewest_columns=4),
    ReportLimits(phases=1, structures=300, fewest_columns=1),
    ReportLimits(phases=1, structures=100, fewest_columns=1),
)
"""Limits to try, one after the other, if a report does not fit by folding pages alone."""
SHORT = 160
"""Length of names if even the coarsest figures leave too little space."""
MAX_CELLS = 2_000_000
"""Maximum number of cells, so that a browser unpacks and draws them without delay."""
INSTANCE = 8
"""An instance is folded like a structure with this many times its cells."""


def encode_within(started: Draft, budget: int) -> tuple[str, Draft]:
    """Return the encoded report, of at most ``budget`` characters, and its draft.

    If folding pages is not enough, the draft has other limits.
    """
    for limits in LEVELS:
        if limits != started.limits and started.again is not None:
            started = dataclasses.replace(started.again(limits), run=started.run)
        text = _fold_until_within(started, budget)
        if text is not None:
            return text, started
    raise NumascapeError(
        f"the report does not fit into {budget} bytes, although details were added up: "
        "the trace names too many threads or structures"
    )


def _fold_until_within(started: Draft, budget: int) -> str | None:
    """The encoded report, or None if folding pages and shortening names is not enough.

    Each round estimates the characters per cell from the last encoding, and halves the columns of
    the largest structures until the estimate fits.
    """
    started = fold_to_cells(started, MAX_CELLS)
    shortened = False
    while started.folded.cell_count() <= MAX_CELLS:
        text = encode_report(finish(started))
        if len(text) <= budget:
            return text
        coarser = _coarser(started, budget / len(text))
        if coarser is not None:
            started = coarser
        elif any(entry.parent >= 0 for entry in started.structures):
            started = _without_instances(started)
        elif not shortened:
            started = _with_short_names(started)
            shortened = True
        else:
            break
    return None


def fold_to_cells(started: Draft, most: int) -> Draft:
    """Fold until there are at most `most` cells, or folding no longer helps."""
    while (cells := started.folded.cell_count()) > most:
        coarser = _coarser(started, most / cells)
        if coarser is not None:
            started = coarser
        elif any(entry.parent >= 0 for entry in started.structures):
            started = _without_instances(started)
        else:
            break
    return started


def _coarser(started: Draft, fraction: float) -> Draft | None:
    counts = started.folded.cell_counts()
    total = sum(counts.values())
    weight = {
        position: INSTANCE if entry.parent >= 0 else 1
        for position, entry in enumerate(started.structures)
    }
    columns = dict(started.folded.touched.group_by("position").len().iter_rows())
    # Aim a little lower: coarser columns hold larger numbers, which compress less well.
    goal = 0.9 * fraction * total
    factors: dict[int, int] = {}
    largest_first = [(-cells * weight[position], position) for position, cells in counts.items()]
    heapq.heapify(largest_first)
    while total > goal and largest_first:
        _, position = heapq.heappop(largest_first)
        if columns[position] < 2 * started.limits.fewest_columns:
            continue
        total -= counts[position] - counts[position] // 2
        counts[position] //= 2
        heapq.heappush(largest_first, (-counts[position] * weight[position], position))
        columns[position] //= 2
        factors[position] = 2 * factors.get(position, 1)
    if not factors:
        return None
    table = pl.DataFrame(
        {"position": list(factors), "factor": list(factors.values())},
        schema={"position": pl.UInt32, "factor": pl.UInt32},
    )
    return dataclasses.replace(started, folded=coarsen(started.folded, table))


def _without_instances(started: Draft) -> Draft:
    whole = tuple(entry for entry in started.structures if entry.parent < 0)
    folded = started.folded
    kept = [
        table.filter(pl.col("position") < len(whole))
        for table in (folded.touched, folded.accesses, folded.first, folded.width)
    ]
    sentence = "Single instances of structures are left out: there was no room for them."
    return dataclasses.replace(
        started,
        structures=whole,
        folded=Folded(*kept),
        left_out=(*started.left_out, sentence),
    )


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
