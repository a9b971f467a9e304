# SPDX-License-Identifier: Apache-2.0
"""Joins the shards of processes that had the same modules.

A run may have thousands of processes, most of them small and with the same modules. The tables of
many processes are then converted at once, and debug information is read once for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

import polars as pl

from numascape.conversion.shards import MODULE, Shard

UNKNOWN_THREAD: Final = 0xFFFFFFFF
# Maximum number of rows of counts and owners in a group; a process with more is its own group.
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
        return self.shard.tables["counts"].height + self.shard.tables["owners"].height

    def threads(self, column: str) -> pl.Expr:
        """The shard's threads in the trace; UNKNOWN_THREAD for a thread that never began."""
        ranks = self.shard.ranks
        return pl.col(column).replace_strict(
            list(ranks),
            [self.first_thread + rank for rank in ranks.values()],
            default=UNKNOWN_THREAD,
            return_dtype=pl.UInt32(),
        )


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
        return self._merged("owners").with_row_index("owner")

    @cached_property
    def counts(self) -> pl.DataFrame:
        """The counts of known threads."""
        frame = self._merged("counts").rename(
            {"fetched_lines": "memory_lines", "dirtied_lines": "written_lines"}
        )
        return frame.filter(pl.col("thread") != UNKNOWN_THREAD)

    @cached_property
    def touches(self) -> pl.DataFrame:
        """The first touches of known threads."""
        return self._merged("touches").filter(pl.col("thread") != UNKNOWN_THREAD)

    @cached_property
    def placement(self) -> pl.DataFrame:
        """The nodes of pages."""
        return self._merged("placement")

    @cached_property
    def sites(self) -> pl.DataFrame:
        """How often each site's instructions accessed memory."""
        return self._merged("sites")

    @cached_property
    def samples(self) -> pl.DataFrame:
        """The pages that sites accessed, by samples."""
        return self._merged("samples")

    def free_samples(self) -> None:
        """Free the memory of the samples, the largest table of a large process.

        Groups of several processes are small. They keep the samples, to find out which shard is
        damaged.
        """
        if len(self.members) == 1:
            self.__dict__.pop("samples", None)
            self.members[0].shard.tables.pop("samples", None)

    def free_call_stacks(self) -> None:
        """Likewise those of the call stacks, when all allocations have their names."""
        if len(self.members) == 1:
            self.members[0].shard.call_stacks.clear()

    @cached_property
    def shared_samples(self) -> pl.DataFrame:
        """Samples on pages that the owners of a group share."""
        return self._merged("shared_samples")

    @cached_property
    def shares(self) -> pl.DataFrame:
        """The owners of each group."""
        return self._merged("shares")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """The cache lines that known threads took from others."""
        return self._merged("transfers").filter(
            (pl.col("thread") != UNKNOWN_THREAD) & (pl.col("from_thread") != UNKNOWN_THREAD)
        )

    @cached_property
    def kernel_accesses(self) -> pl.DataFrame:
        """The bytes that system calls read and wrote for known threads."""
        return self._merged("kernel_accesses").filter(pl.col("thread") != UNKNOWN_THREAD)

    @cached_property
    def bursts(self) -> pl.DataFrame:
        """The number of bursts of each thread (thread, bursts), if all stood for as much work.

        This is what those stand for that stand for most: the longest ones, or those of the smallest
        share.
        """
        stands_for = pl.col("burst_units").clip(lower_bound=1) / pl.col("share")
        whole = (
            self._merged("work")
            .group_by("thread")
            .agg(work=(pl.col("counted_units") / pl.col("share")).sum(), most=stands_for.max())
        )
        # Divisions may leave a number that is a little above a whole one.
        bursts = (pl.col("work") / pl.col("most") - 1e-6).ceil().clip(lower_bound=0)
        return whole.select("thread", bursts=bursts.cast(pl.UInt64))

    @cached_property
    def seen_lines(self) -> pl.DataFrame:
        """The cache lines that samples saw known threads use."""
        return self._merged("seen_lines").filter(pl.col("thread") != UNKNOWN_THREAD)

    @cached_property
    def seen_in_modules(self) -> pl.DataFrame:
        """The parts of the pages of modules that samples saw in use."""
        return self._merged("seen_in_modules")

    @cached_property
    def sampled_paths(self) -> pl.DataFrame:
        """The samples of known threads, with their callers."""
        return self._merged("sampled_paths").filter(pl.col("thread") != UNKNOWN_THREAD)

    @cached_property
    def calls(self) -> pl.DataFrame:
        """The calls that `callers` name, which one recorder numbered for all processes."""
        return pl.concat(member.shard.tables["calls"] for member in self.members)

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

    def member_of(self, owners: pl.DataFrame) -> pl.Series:
        """The member that each row of `owners` belongs to."""
        firsts = pl.Series(self._firsts[1:], dtype=pl.UInt32())
        return firsts.search_sorted(owners["owner"], side="right")

    @cached_property
    def _firsts(self) -> list[int]:
        """The number of each member's first owner."""
        sizes = [member.shard.tables["owners"].height for member in self.members]
        return list(accumulate(sizes[:-1], initial=0))

    @cached_property
    def _first_groups(self) -> list[int]:
        """The number of each member's first group of owners."""
        sizes = [_groups(member.shard.tables["shares"]["group"]) for member in self.members]
        return list(accumulate(sizes[:-1], initial=0))

    def _merged(self, table: str) -> pl.DataFrame:
        return pl.concat(self._renumbered(number, table) for number in range(len(self.members)))

    def _renumbered(self, number: int, table: str) -> pl.DataFrame:
        member = self.members[number]
        frame = member.shard.tables[table]
        changed = []
        if "owner" in frame.columns and number > 0:
            changed.append(pl.col("owner") + pl.lit(self._firsts[number], dtype=pl.UInt32()))
        if "group" in frame.columns and number > 0:
            changed.append(pl.col("group") + pl.lit(self._first_groups[number], dtype=pl.UInt32()))
        if table != "owners":
            threads = [name for name in ("thread", "from_thread") if name in frame.columns]
            changed += [member.threads(name) for name in threads]
        if "site" in frame.columns:
            changed.append(pl.col("site").cast(pl.UInt64()) + (number << 32))
        if table == "touches":
            times = member.shard.times_ns(pl.col("time"), self.begin)
            changed.append(times.alias("time_ns"))
        return frame.with_columns(changed)


def parents_of(members: Sequence[Member]) -> dict[int, int]:
    """For each forked process, the process that it was forked from."""
    named = {member.shard.path.stem: member.process for member in members}
    parents = {}
    for member in members:
        parent = member.shard.header["parent_shard"].decode(errors="replace")
        # A forged shard may name itself, or a later one.
        if named.get(parent, member.process) < member.process:
            parents[member.process] = named[parent]
    return parents


def shard_groups(members: Sequence[Member], begin: int) -> Iterator[list[ShardGroup]]:
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


def _groups(numbers: pl.Series) -> int:
    return int(numbers[-1]) + 1 if len(numbers) else 0
