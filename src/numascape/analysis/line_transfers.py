# SPDX-License-Identifier: Apache-2.0
"""Sums of the cache lines that threads took from each other, and where in a line they met."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from numascape.trace.format import LINE_BYTES, PAGE_LINES

SUMS = ("transfers", "travelling", "judged", "true_sharing")
PAIR = ["from_thread", "thread"]
_PLACE = ["function", "file", "line"]
_MAX_LINES = 1000
"""Number of lines of a structure, the busiest ones, that show the layout of its parts."""


@dataclass(frozen=True)
class LineSums:
    """Numbers of transfers; `travelling` counts those of lines that threads take repeatedly.

    `judged` counts the transfers for which it is known whether both threads used the same bytes.
    `true_sharing` counts those in which they did.
    """

    transfers: int
    travelling: int
    judged: int
    true_sharing: int

    @property
    def false_sharing(self) -> float:
        """Share of the judged transfers, 0 without any."""
        return 1 - self.true_sharing / self.judged if self.judged else 0.0


def line_sums(transfers: pl.DataFrame) -> LineSums:
    """The sums of all rows of a table `transfers`."""
    return LineSums(*(int(transfers[name].sum()) for name in SUMS))


def between_threads(transfers: pl.DataFrame) -> pl.DataFrame:
    """from_thread, thread, and sums: most transfers first."""
    by_pair = transfers.group_by(PAIR).agg(pl.col(SUMS).sum())
    return by_pair.sort("transfers", *PAIR, descending=[True, False, False])


def between_places(transfers: pl.DataFrame) -> pl.DataFrame:
    """The source lines of both sides, of judged transfers, and sums: most of them first."""
    places = [*(f"from_{name}" for name in _PLACE), *_PLACE]
    known = transfers.filter(pl.col("judged") > 0)
    summed = known.group_by(places).agg(pl.col(SUMS).sum())
    return summed.sort("judged", *places, descending=[True, *(False for _ in places)])


@dataclass(frozen=True)
class PartsOfLines:
    """How threads divide the lines that they take from each other, in bytes.

    `part` is what one thread uses of a line. `step` is the distance from the beginning of one
    thread's part to that of the next one, or 0 if the parts continue in other lines. `users` is the
    number of threads of a line. All are medians over lines, weighted by transfers.
    """

    part: int
    step: int
    users: int


def parts_of_lines(transfers: pl.DataFrame) -> PartsOfLines | None:
    """The parts, if lines with different bytes of several threads are known."""
    rows = transfers.filter(
        (pl.col("cache_line") >= 0) & (pl.col("judged") > pl.col("true_sharing"))
    )
    key = ["structure", "instance", "page", "cache_line", "thread"]
    sums = (pl.col("bytes").bitwise_or(), pl.col("transfers").sum())
    takers = rows.group_by(key).agg(sums)
    # If a thread only writes the line, its bytes are known from the threads that take the line.
    writers = rows.with_columns(thread="from_thread", bytes="from_bytes")
    writers = writers.group_by(key).agg(sums).join(takers, on=key, how="anti")
    lines = pl.concat([takers, writers])
    busiest = lines.group_by(key[:-1]).agg(pl.col("transfers").sum())
    busiest = busiest.sort("transfers", *key[:-1], descending=[True, *(False for _ in key[:-1])])
    lines = lines.join(busiest.head(_MAX_LINES), on=key[:-1], how="semi")
    found: list[tuple[int, int, int, int]] = []
    for line in lines.partition_by(key[:-1]):
        masks = [mask for mask in line["bytes"].to_list() if mask]
        if len(masks) > 1:
            found.append((*part_and_step(masks), len(masks), int(line["transfers"].sum())))
    if not found:
        return None
    return PartsOfLines(*(_weighted_median(found, column) for column in range(3)))


def part_and_step(masks: list[int]) -> tuple[int, int]:
    """Bytes of the median part of a line, and of the median step to the next part.

    `masks` has the used bytes of each thread.
    """
    starts = sorted((mask & -mask).bit_length() - 1 for mask in masks)
    ends = [mask.bit_length() for mask in masks]
    parts = sorted(
        end - (mask & -mask).bit_length() + 1 for mask, end in zip(masks, ends, strict=True)
    )
    steps = sorted(b - a for a, b in pairwise(starts) if b > a)
    border = len(masks) == 2 and starts[0] == 0 and max(ends) == LINE_BYTES
    return parts[len(parts) // 2], 0 if border or not steps else steps[len(steps) // 2]


def _weighted_median(rows: list[tuple[int, int, int, int]], column: int) -> int:
    ordered = sorted((row[column], row[-1]) for row in rows)
    half = sum(weight for _, weight in ordered) / 2
    so_far = 0
    for value, weight in ordered:
        so_far += weight
        if so_far >= half:
            return value
    return ordered[-1][0]


def shared_lines_of_pages(transfers: pl.DataFrame) -> pl.DataFrame:
    """structure, instance, page, shared_lines: how many lines of the page several threads use.

    A line that goes once, from the thread that fills it to the thread that uses it, is not shared.
    So the first transfer of each line does not count. If the trace has only the sum of the lines of
    a page (cache_line -1), all of its lines count.
    """
    known = pl.col("cache_line") >= 0
    every = pl.lit(PAGE_LINES, dtype=pl.Int64)
    none = pl.lit(0, dtype=pl.Int64)
    once = (pl.col("transfers") - pl.col("travelling")).sum().cast(pl.Int64)
    counted = transfers.group_by("structure", "instance", "page").agg(
        lines=pl.col("cache_line").filter(known).n_unique().cast(pl.Int64),
        added_up=pl.col("travelling").filter(~known).sum() > 0,
        again=pl.max_horizontal(none, once - PAGE_LINES),
    )
    lines = pl.when("added_up").then(every).otherwise(pl.col("lines") + pl.col("again"))
    return counted.select(
        "structure", "instance", "page", shared_lines=pl.min_horizontal(every, lines)
    )


def by_structure(transfers: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each structure, by number."""
    for (structure,), rows in sorted(
        transfers.partition_by("structure", as_dict=True).items(), key=lambda item: item[0]
    ):
        yield int(structure), rows
