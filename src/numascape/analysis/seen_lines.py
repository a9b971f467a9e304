# SPDX-License-Identifier: Apache-2.0
"""Whether threads that use the same pages also use the same cache lines of them, from samples.

A sample shows a few lines of a page. If threads use the lines of a page independently of each
other, samples see two threads in the same line by chance. The expected number of these cases can be
computed. If each thread has its own parts of the page, samples never see two threads in the same
line. The same is true for lines that are close to each other.

There is one exception. At the border of two parts, two threads use different bytes of one line, and
code that runs once for each part is sampled more often there than elsewhere. So two threads in the
same line do not count if they never use the same bytes of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.trace.format import LINE_BYTES, PAGE_LINES

_DISTANCES = (0, 1, 2, 4)
"""If there are few samples, lines up to one of these distances count as the same. The last distance
is half of a part of 512 bytes."""
_WORD = 8
_LINE_WORDS = LINE_BYTES // _WORD
_MASKS = 1024
"""Maximum number of masks of bytes that are compared with each other: the most frequent ones."""
_ROWS = 1 << 16
"""Maximum number of rows of a table that are unpacked into bits at once."""


@dataclass(frozen=True)
class Overlap:
    """How often two threads were seen in the same line of a page, or in close lines.

    `by_chance` is how often this would be expected if each thread used all lines of the page alike.
    """

    seen: float = 0.0
    by_chance: float = 0.0

    @property
    def ratio(self) -> float:
        """1 if threads use lines independently of each other, 0 if they have no common line."""
        return self.seen / self.by_chance if self.by_chance else 0.0

    def __add__(self, other: Overlap) -> Overlap:
        return Overlap(self.seen + other.seen, self.by_chance + other.by_chance)


def overlap(
    seen_lines: pl.DataFrame,
    enough: float = 0.0,
    enough_bytes: float = 0.0,
    *,
    in_phases: bool = False,
) -> Overlap:
    """The overlap of threads on the pages of a table `seen_lines`, or in each phase by itself.

    Lines count as the same up to the smallest distance at which `by_chance` is `enough`. Bytes of
    lines are compared if chance gives at least `enough_bytes` pairs of threads on the same bytes.
    """
    if seen_lines.is_empty():
        return Overlap()
    key = [*PAGE, "phase"] if in_phases else PAGE
    masks = seen_lines.group_by(*key, "thread").agg(pl.col("lines").bitwise_or()).sort(key)
    page = masks.select(pl.struct(key).rle_id()).to_series().to_numpy()
    found = Overlap()
    for distance in range(_DISTANCES[-1] + 1):
        for start in range(0, masks.height, _ROWS):
            # A page that is in two such pieces counts as two pages.
            piece = slice(start, start + _ROWS)
            found += _at(distance, masks["lines"].to_numpy()[piece], page[piece])
        if distance == 0:
            same = _share_of_same_bytes(seen_lines, key, enough_bytes)
            found = Overlap(found.seen * same, found.by_chance)
        if distance in _DISTANCES and found.by_chance >= enough:
            break
    return found


def overlap_of_layout(seen_lines: pl.DataFrame) -> Overlap:
    """How often two threads were seen at the same position of any pages, in words of 8 bytes.

    Single accesses on many pages are compared, so few of them are enough. If threads have no common
    position, each has its own parts, in the same places of all pages, such as every fourth column
    of a matrix. If they have, their parts may still be in other places of other pages.
    """
    single = seen_lines.filter(pl.col("bytes") > 0, pl.col("lines").bitwise_count_ones() == 1)
    word = pl.col("lines").bitwise_trailing_zeros() * _LINE_WORDS + (
        pl.col("bytes").bitwise_trailing_zeros() // _WORD
    )
    counts = single.group_by(word.alias("word"), "thread").len().with_columns(pl.col("len") * 1.0)
    if counts.is_empty():
        return Overlap()

    def squares(*key: str) -> float:
        return float((counts.group_by(key).agg(pl.col("len").sum())["len"] ** 2).sum())

    seen = (squares("word") - squares("word", "thread")) / 2
    pairs = (float(counts["len"].sum()) ** 2 - squares("thread")) / 2
    return Overlap(seen, pairs / (_LINE_WORDS * PAGE_LINES))


def overlap_of_bytes(seen_lines: pl.DataFrame) -> Overlap:
    """How often two threads were seen to use a common byte position of any cache lines.

    Lines of all pages are compared, so few of them are enough. If threads have no common position,
    each has its own bytes in all lines. By chance, the larger of two aligned accesses contains the
    smaller one with a probability equal to its share of the line.
    """
    single = seen_lines.filter(pl.col("bytes") > 0, pl.col("lines").bitwise_count_ones() == 1)
    common = single.group_by("bytes").len().sort("len", "bytes", descending=True).head(_MASKS)
    counts = single.group_by("thread", "bytes").len().join(common.select("bytes"), on="bytes")
    if counts.is_empty():
        return Overlap()
    masks, mask = np.unique(counts["bytes"].to_numpy(), return_inverse=True)
    threads, thread = np.unique(counts["thread"].to_numpy(), return_inverse=True)
    seen_by = np.zeros((len(threads), len(masks)))
    seen_by[thread, mask] = counts["len"].to_numpy()
    together = seen_by.sum(axis=0)
    pairs = np.outer(together, together) - seen_by.T @ seen_by
    size = pl.Series(masks).bitwise_count_ones().to_numpy()
    by_chance = pairs * np.maximum.outer(size, size) / LINE_BYTES
    meet = np.bitwise_and.outer(masks, masks) != 0
    return Overlap(float(pairs[meet].sum()) / 2, float(by_chance.sum()) / 2)


def _share_of_same_bytes(seen_lines: pl.DataFrame, key: list[str], enough: float) -> float:
    """How often threads in the same line use the same bytes of it, relative to chance; at most 1.

    By chance, the larger of two aligned accesses contains the smaller one with a probability equal
    to its share of the line. The result is measured for pairs with known bytes, and used for all.
    """
    line = [*key, "cache_line"]
    known = (
        seen_lines.filter(pl.col("bytes") > 0, pl.col("lines").bitwise_count_ones() == 1)
        .with_columns(cache_line=pl.col("lines").bitwise_trailing_zeros().cast(pl.Int32))
        .group_by(*line, "thread")
        .agg(pl.col("bytes").bitwise_or())
    )
    pairs = known.join(known, on=line, suffix="_then").filter(
        pl.col("thread") < pl.col("thread_then")
    )
    size = pl.max_horizontal(pl.col(name).bitwise_count_ones() for name in ("bytes", "bytes_then"))
    by_chance = float(pairs.select(size.sum()).item()) / LINE_BYTES
    same = pairs.filter((pl.col("bytes") & pl.col("bytes_then")) != 0).height
    return min(1.0, same / by_chance) if by_chance and by_chance >= enough else 1.0


def _at(distance: int, masks: npt.NDArray[np.uint64], page: npt.NDArray[np.integer]) -> Overlap:
    """Pairs of lines of two threads at this distance."""
    unpacked = np.unpackbits(masks.astype("<u8").view(np.uint8), bitorder="little")
    bits = unpacked.reshape(-1, PAGE_LINES).astype(np.int64)
    first = np.flatnonzero(np.diff(page, prepend=-1))
    users = np.add.reduceat(bits, first, axis=0)
    lines = bits.sum(axis=1)
    pairs = int((np.add.reduceat(lines, first) ** 2).sum() - (lines**2).sum())
    seen = _products(users, distance) - _products(bits, distance)
    if distance == 0:  # each pair of threads once
        seen, pairs = seen // 2, pairs // 2
    return Overlap(float(seen), pairs * (PAGE_LINES - distance) / PAGE_LINES**2)


def _products(table: npt.NDArray[np.int64], distance: int) -> int:
    return int((table[:, : PAGE_LINES - distance] * table[:, distance:]).sum())
