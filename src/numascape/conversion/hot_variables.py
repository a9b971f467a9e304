# SPDX-License-Identifier: Apache-2.0
"""Finds what samples saw in use on the pages of executables and libraries.

These are variables that are smaller than a page and often used. All other small variables of an
executable or a library are one structure together. And it is memory without a variable beside
variables: constants that the compiler made, and the addresses of functions of libraries.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import polars as pl

from numascape._native.symbols import Global
from numascape.conversion.shard_groups import ShardGroup
from numascape.conversion.shards import STACK
from numascape.naming.frames import is_library_module
from numascape.trace.format import LINE_BYTES, PAGE_BYTES, PAGE_LINES

_MIN_SHARE: Final = 0.005
"""At or above this share of the accesses, a small variable is a structure: half of what the
findings examine, because samples give estimates. Of a program's own variables, the rarest are one
structure as long as this is their share of the accesses outside stacks."""

_MIN_SHARED_SHARE: Final = 0.0005
"""The same for a variable in a cache line that several threads use and one of them writes. It is
the share from which the findings name such lines, because the line may travel each time."""

HOT: Final = pl.Schema(
    {"owner": pl.UInt32(), "page": pl.UInt32(), "address": pl.UInt64(), "seen_share": pl.Float64()}
)


def hot_variables(group: ShardGroup, variables: Sequence[Global]) -> pl.DataFrame:
    """owner, page, address, seen_share: the variables, and their part of the use of each page.

    Large variables are there, too. `address` is null for what no variable covers.
    """
    seen = group.seen_in_modules
    accesses, outside = _accesses(group)
    seen = seen.with_columns(every=pl.col("times").sum().over("owner", "page"))
    seen = seen.filter(pl.col("every") >= _MIN_SHARED_SHARE * outside)
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
    found = (
        pl.DataFrame(rows, {**schema, "times": pl.Float64, "every": pl.UInt64}, orient="row")
        .group_by("owner", "page", "address", "every")
        .agg(pl.col("times").sum())
    )
    rare = _rarely_used(found, known, shared, accesses, outside)
    return (
        found.filter(pl.col("address").is_null() | ~pl.col("address").is_in(rare))
        .select("owner", "page", "address", seen_share=pl.col("times") / pl.col("every"))
        .cast(HOT)
        .sort("owner", "page", "address")
    )


def _rarely_used(
    found: pl.DataFrame, known: _Variables, shared: set[int], accesses: float, outside: float
) -> list[int]:
    """The small variables that are no structures of their own; `shared` are numbers of lines."""
    by_address = found.group_by("address").agg(pl.col("times").sum()).sort("times", "address")
    rare = []
    rarest = 0.0
    for address, times in by_address.iter_rows():
        if address is None or not known.is_small(address):
            continue
        is_shared = not shared.isdisjoint(known.lines(address))
        least = (_MIN_SHARED_SHARE if is_shared else _MIN_SHARE) * accesses
        if not known.is_of_library(address):
            rarest += times
            if rarest >= _MIN_SHARE * outside:
                least = min(least, _MIN_SHARED_SHARE * outside)
        if times < least:
            rare.append(address)
    return rare


def _accesses(group: ShardGroup) -> tuple[float, float]:
    """The number of all accesses, and of those outside stacks."""
    stacks = group.owners.filter(pl.col("kind") == STACK)["owner"]
    counts = group.counts.select("owner", accesses=pl.col("reads") + pl.col("writes"))
    outside = counts.filter(~pl.col("owner").is_in(stacks.implode()))
    return float(counts["accesses"].sum()), float(outside["accesses"].sum())


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
        self._module_at = {item.address: item.module for item in variables}
        # Variables may overlap. So this is the largest end of a variable and all earlier ones.
        self._ends = list(accumulate((address + size for address, size in ordered), max))

    def lines(self, address: int) -> range:
        """The numbers of the cache lines of the variable that begins here."""
        last = address + self._size_at[address] - 1
        return range(address // LINE_BYTES, last // LINE_BYTES + 1)

    def is_small(self, address: int) -> bool:
        """Whether the variable that begins here is smaller than a page."""
        return self._size_at[address] < PAGE_BYTES

    def is_of_library(self, address: int) -> bool:
        """Whether the variable that begins here is that of a language's or the system's library."""
        return is_library_module(self._module_at[address].rpartition("/")[2])

    def shares(
        self, page: int, lines: int, first: int, last: int
    ) -> Iterator[tuple[int | None, float]]:
        """The variables in the used part of a page, with their shares in its bytes.

        The address is None for the cache lines in which no variable is. In the other lines, what is
        between variables is not in use.
        """
        used = _used_parts(lines, first, last)
        begin = bisect_right(self._ends, page + first)
        end = bisect_left(self._starts, page + last + 1)
        inside: dict[int, dict[int, int]] = {}
        for address, size in zip(self._starts[begin:end], self._sizes[begin:end], strict=True):
            low, high = max(address - page, first), min(address + size - page, last + 1)
            for line in range(low // LINE_BYTES, (high - 1) // LINE_BYTES + 1):
                if line in used:
                    start, to = used[line]
                    common = min(high, to) - max(low, start)
                    inside.setdefault(line, {})[address] = common
        every = sum(to - start for start, to in used.values())
        found: dict[int | None, float] = {}
        for line, (start, to) in used.items():
            part = (to - start) / every
            covered = inside.get(line)
            if covered is None:
                found[None] = found.get(None, 0.0) + part
                continue
            part /= sum(covered.values())
            for address, common in covered.items():
                found[address] = found.get(address, 0.0) + common * part
        yield from found.items()


def _used_parts(lines: int, first: int, last: int) -> dict[int, tuple[int, int]]:
    """Begin and end of the used cache lines of a page, cut to the bytes from first to last."""
    parts = {}
    while lines:
        line = (lines & -lines).bit_length() - 1
        start = line * LINE_BYTES
        parts[line] = (max(start, first), min(start + LINE_BYTES, last + 1))
        lines &= lines - 1
    return parts
