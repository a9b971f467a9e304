# SPDX-License-Identifier: Apache-2.0
"""Finds variables that are smaller than a page, and that the program uses often.

All other small variables of an executable or a library are one structure together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import polars as pl

from numascape._native.symbols import Global
from numascape.conversion.shard_groups import ShardGroup
from numascape.trace.format import LINE_BYTES, PAGE_BYTES, PAGE_LINES

_MIN_SHARE: Final = 0.005
"""At or above this share of the accesses, a small variable is a structure: half of what the
findings examine, because samples give estimates."""

_MIN_SHARED_SHARE: Final = 0.0005
"""The same for a variable in a cache line that several threads use and one of them writes. It is
the share from which the findings name such lines, because the line may travel each time."""

HOT: Final = pl.Schema(
    {"owner": pl.UInt32(), "page": pl.UInt32(), "address": pl.UInt64(), "seen_share": pl.Float64()}
)


def hot_variables(group: ShardGroup, variables: Sequence[Global]) -> pl.DataFrame:
    """owner, page, address, seen_share: the variables, and their part of the use of each page."""
    seen = group.seen_in_modules
    accesses = float(group.counts.select(pl.sum("reads") + pl.sum("writes")).item())
    seen = seen.with_columns(every=pl.col("times").sum().over("owner", "page"))
    seen = seen.filter(pl.col("every") >= _MIN_SHARED_SHARE * accesses)
    if seen.is_empty():
        return pl.DataFrame(schema=HOT)
    starts = {
        owner: group.members[member].shard.modules[module].start
        for owner, module, member in group.module_owners.iter_rows()
    }
    known = _Variables(variables)
    shared = _shared_lines(group, starts)
    rows = [
        (owner, page, address, times * share, every)
        for owner, page, lines, first, last, times, every in seen.select(
            "owner", "page", "lines", "first", "last", "times", "every"
        ).iter_rows()
        for address, share in known.shares(starts[owner] + page * PAGE_BYTES, lines, first, last)
    ]
    schema = {name: HOT[name] for name in ("owner", "page", "address")}
    in_shared = {
        address
        for _, _, address, _, _ in rows
        if not shared.isdisjoint(range(address // LINE_BYTES, known.last_line(address) + 1))
    }
    least = pl.when(pl.col("address").is_in(list(in_shared))).then(_MIN_SHARED_SHARE)
    found = pl.DataFrame(rows, {**schema, "times": pl.Float64, "every": pl.UInt64}, orient="row")
    return (
        found.group_by("owner", "page", "address", "every")
        .agg(pl.col("times").sum())
        .filter(pl.col("times").sum().over("address") >= accesses * least.otherwise(_MIN_SHARE))
        .select("owner", "page", "address", seen_share=pl.col("times") / pl.col("every"))
        .cast(HOT)
        .sort("owner", "page", "address")
    )


def _shared_lines(group: ShardGroup, starts: dict[int, int]) -> set[int]:
    """The numbers of the lines of modules that several threads use, and one of them writes."""
    lines = (
        group.seen_lines.filter(pl.col("owner").is_in(list(starts)), pl.col("line") < PAGE_LINES)
        .group_by("owner", "page", "line")
        .agg(pl.col("thread").n_unique(), pl.col("writing").sum())
        .filter(pl.col("thread") > 1, pl.col("writing") > 0)
    )
    return {
        (starts[owner] + page * PAGE_BYTES) // LINE_BYTES + line
        for owner, page, line in lines.select("owner", "page", "line").iter_rows()
    }


class _Variables:
    """Variables by address."""

    def __init__(self, variables: Sequence[Global]) -> None:
        ordered = sorted((item.address, item.size) for item in variables if item.size > 0)
        self._starts = [address for address, _ in ordered]
        self._sizes = [size for _, size in ordered]
        self._size_at = dict(ordered)
        # Variables may overlap. So this is the largest end of a variable and all earlier ones.
        self._ends = list(accumulate((address + size for address, size in ordered), max))

    def last_line(self, address: int) -> int:
        """The number of the last cache line of the variable that begins here."""
        return (address + self._size_at[address] - 1) // LINE_BYTES

    def shares(self, page: int, lines: int, first: int, last: int) -> Iterator[tuple[int, float]]:
        """The small variables in the used part of a page, with their shares in its bytes."""
        used = _used_parts(lines, first, last)
        every = sum(end - start for start, end in used)
        begin = bisect_right(self._ends, page + first)
        end = bisect_left(self._starts, page + last + 1)
        seen: set[int] = set()
        for address, size in zip(self._starts[begin:end], self._sizes[begin:end], strict=True):
            low, high = address - page, address + size - page
            common = sum(max(0, min(high, to) - max(low, start)) for start, to in used)
            if common and size < PAGE_BYTES and address not in seen:
                seen.add(address)
                yield address, common / every


def _used_parts(lines: int, first: int, last: int) -> list[tuple[int, int]]:
    """Begin and end of the used cache lines of a page, cut to the bytes from first to last."""
    parts = []
    while lines:
        start = ((lines & -lines).bit_length() - 1) * LINE_BYTES
        parts.append((max(start, first), min(start + LINE_BYTES, last + 1)))
        lines &= lines - 1
    return parts
