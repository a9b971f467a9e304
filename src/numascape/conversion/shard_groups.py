# SPDX-License-Identifier: Apache-2.0
"""Joins the shards of processes that had the same modules.

A run may have thousands of processes, most of them small and with the same modules. The tables of
many processes are then converted at once, and debug information is read once for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.conversion.shards import MODULE, Columns, Shard

UNKNOWN_THREAD: Final = 0xFFFFFFFF
# Most rows of counts and owners in a group; a process with more is its own group.
_MAX_ROWS: Final = 1 << 20

_Module = tuple[str, int, int, int]


@dataclass(frozen=True)
class Member:
    """One process: its number in the trace, the number of its first thread there, and its shard."""

    process: int
    first_thread: int
    shard: Shard

    @property
    def rows(self) -> int:
        """The number of rows to convert."""
        columns = self.shard.columns
        return len(columns["counts"]["owner"]) + len(columns["owners"]["kind"])

    def threads(self, numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """The shard's threads in the trace; UNKNOWN_THREAD for a thread that never began."""
        ranks = self.shard.ranks
        known = np.full(max(ranks, default=0) + 1, UNKNOWN_THREAD, dtype=np.uint32)
        for thread, rank in ranks.items():
            known[thread] = self.first_thread + rank
        inside = known[np.minimum(numbers, len(known) - 1)]
        return np.where(numbers < len(known), inside, np.uint32(UNKNOWN_THREAD))


@dataclass(frozen=True)
class ShardGroup:
    """The tables of several processes with the same modules, in the same order.

    They are the tables of Shard, with other numbers: `owner` and `site` are numbered over all
    members (like `group`), `thread` is that of the trace, `phase` is still the process's own.
    `touches` also has `time_ns`, the time since the run's `begin`.
    """

    members: tuple[Member, ...]
    begin: int

    @cached_property
    def owners(self) -> pl.DataFrame:
        """All owners, numbered by their rows."""
        return pl.DataFrame(self._merged("owners")).with_row_index("owner")

    @cached_property
    def counts(self) -> pl.DataFrame:
        """The counts of known threads."""
        frame = pl.DataFrame(self._merged("counts")).rename(
            {"fetched_lines": "memory_lines", "dirtied_lines": "written_lines"}
        )
        return frame.filter(pl.col("thread") != UNKNOWN_THREAD)

    @cached_property
    def touches(self) -> pl.DataFrame:
        """The first touches of known threads."""
        times = [
            member.shard.times_ns(member.shard.columns["touches"]["time"], self.begin)
            for member in self.members
        ]
        frame = pl.DataFrame({**self._merged("touches"), "time_ns": _joined(times)})
        return frame.filter(pl.col("thread") != UNKNOWN_THREAD)

    @cached_property
    def placement(self) -> pl.DataFrame:
        """The nodes of pages."""
        return pl.DataFrame(self._merged("placement"))

    @cached_property
    def sites(self) -> pl.DataFrame:
        """How often each site's instructions accessed memory."""
        return pl.DataFrame(self._merged("sites"))

    @cached_property
    def samples(self) -> pl.DataFrame:
        """The pages that sites accessed, by samples."""
        return pl.DataFrame(self._merged("samples"))

    @cached_property
    def shared_samples(self) -> pl.DataFrame:
        """Samples on pages that the owners of a group share."""
        return pl.DataFrame(self._merged("shared_samples"))

    @cached_property
    def shares(self) -> pl.DataFrame:
        """The owners of each group."""
        return pl.DataFrame(self._merged("shares"))

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """The cache lines that known threads took from others."""
        frame = pl.DataFrame(self._merged("transfers"))
        return frame.filter(
            (pl.col("thread") != UNKNOWN_THREAD) & (pl.col("from_thread") != UNKNOWN_THREAD)
        )

    @cached_property
    def module_owners(self) -> pl.DataFrame:
        """(owner, module, member): `module` is an index in a shard's list of modules."""
        rows = [
            (first + module.owner, number, index)
            for index, (member, first) in enumerate(zip(self.members, self._firsts, strict=True))
            for number, module in enumerate(member.shard.modules)
        ]
        schema = {"owner": pl.UInt32(), "module": pl.UInt32(), "member": pl.UInt32()}
        return pl.DataFrame(rows, schema=schema, orient="row")

    @cached_property
    def owners_in_modules(self) -> pl.Series:
        """Which owners are modules."""
        return self.owners.filter(pl.col("kind") == MODULE)["owner"].implode()

    def member_of(self, owners: pl.DataFrame) -> npt.NDArray[np.int64]:
        """The member that each row of `owners` belongs to."""
        firsts = np.array(self._firsts[1:], dtype=np.uint64)
        return np.searchsorted(firsts, owners["owner"].to_numpy().astype(np.uint64), side="right")

    @cached_property
    def _firsts(self) -> list[int]:
        """The number of each member's first owner."""
        sizes = [len(member.shard.columns["owners"]["kind"]) for member in self.members]
        return [0, *np.cumsum(sizes[:-1]).tolist()]

    @cached_property
    def _first_groups(self) -> list[int]:
        """The number of each member's first group of owners."""
        sizes = [_groups(member.shard.columns["shares"]["group"]) for member in self.members]
        return [0, *np.cumsum(sizes[:-1]).tolist()]

    def _merged(self, table: str) -> Columns:
        parts = [self._renumbered(number, table) for number in range(len(self.members))]
        return {name: _joined([part[name] for part in parts]) for name in parts[0]}

    def _renumbered(self, number: int, table: str) -> Columns:
        member = self.members[number]
        columns = dict(member.shard.columns[table])
        if "owner" in columns and number > 0:
            columns["owner"] = columns["owner"] + np.uint32(self._firsts[number])
        if "thread" in columns and table != "owners":
            columns["thread"] = member.threads(columns["thread"])
        if "group" in columns and number > 0:
            columns["group"] = columns["group"] + np.uint32(self._first_groups[number])
        if "from_thread" in columns:
            columns["from_thread"] = member.threads(columns["from_thread"])
        if "site" in columns:
            columns["site"] = columns["site"].astype(np.uint64) + np.uint64(number << 32)
        return columns


def groups_of(members: Sequence[Member], begin: int) -> Iterator[list[ShardGroup]]:
    """Divide the members into groups; the groups of one list have the same modules."""
    alike: dict[tuple[_Module, ...], list[Member]] = {}
    for member in members:
        modules = tuple((m.path, m.start, m.end, m.load_bias) for m in member.shard.modules)
        alike.setdefault(modules, []).append(member)
    for same in alike.values():
        yield [ShardGroup(tuple(some), begin) for some in _limited(same)]


def _limited(members: list[Member]) -> Iterator[list[Member]]:
    some: list[Member] = []
    rows = 0
    for member in members:
        if some and rows + member.rows > _MAX_ROWS:
            yield some
            some, rows = [], 0
        some.append(member)
        rows += member.rows
    yield some


def _groups(numbers: npt.NDArray[np.uint32]) -> int:
    return int(numbers[-1]) + 1 if len(numbers) else 0


def _joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
