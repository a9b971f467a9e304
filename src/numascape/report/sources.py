# SPDX-License-Identifier: Apache-2.0
"""Source text and loops around the lines that a report names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

import polars as pl

from numascape.analysis.loops import Loop
from numascape.analysis.source_files import SourceFiles
from numascape.analysis.text import short_printable
from numascape.report.data import SourceWindow

AROUND = 6
"""Lines that are shown before and after a named line."""
TEXT = 400_000
"""Maximum number of characters of source text in a report."""


def ranked_lines(lines: pl.DataFrame, places: pl.DataFrame) -> list[tuple[str, int]]:
    """Files and lines of the places, the most used ones (by `lines`) first."""
    uses = lines.group_by("file", "line").agg(uses=(pl.col("reads") + pl.col("writes")).sum())
    return (
        places.filter((pl.col("file") != "") & (pl.col("line") > 0))
        .select("file", "line")
        .unique()
        .join(uses, on=["file", "line"], how="left")
        .sort(pl.col("uses").fill_null(0), "file", "line", descending=[True, False, False])
        .select("file", "line")
        .rows()
    )


def source_windows(ranked: list[tuple[str, int]], files: SourceFiles) -> tuple[SourceWindow, ...]:
    """The text around the lines, with at most TEXT characters; `ranked` is in order of priority."""
    shown: dict[str, set[int]] = defaultdict(set)
    room = TEXT
    for file, line in ranked:
        text = files.lines(file)
        if text is None or line > len(text):
            continue
        near = range(max(1, line - AROUND), min(len(text), line + AROUND) + 1)
        fresh = [number for number in near if number not in shown[file]]
        room -= sum(len(text[number - 1]) + 3 for number in fresh)
        if room < 0:
            break
        shown[file].update(fresh)
    return tuple(
        window for file in sorted(shown) for window in _windows(file, sorted(shown[file]), files)
    )


def _windows(file: str, numbers: list[int], files: SourceFiles) -> Iterator[SourceWindow]:
    """One window per run of consecutive `numbers`."""
    text = files.lines(file) or []
    for _, run in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
        shown = [number for _, number in run]
        yield SourceWindow(short_printable(file), shown[0], tuple(text[shown[0] - 1 : shown[-1]]))


def loops_around(
    places: Iterable[tuple[str, int]], files: SourceFiles
) -> tuple[tuple[int, ...], tuple[Loop, ...]]:
    """For each place (file, line), the index of the innermost loop, or -1; and the loops."""
    numbers: dict[Loop, int] = {}
    indices = []
    for file, line in places:
        loops = files.loops(file)
        found = loops.around(line) if loops else None
        if found is None:
            indices.append(-1)
        else:
            indices.append(numbers.setdefault(Loop(short_printable(file), *found), len(numbers)))
    return tuple(indices), tuple(numbers)
