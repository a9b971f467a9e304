# SPDX-License-Identifier: Apache-2.0
"""Successive teams of threads: programs that create and join new threads again and again.

For example, a program divides each time step among four new threads. The second thread of each team
then does the work of the second thread of the previous team. Such threads have the same *place*,
and count as one thread where the division of work is judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import polars as pl

from numascape.trace.counting import count_columns
from numascape.trace.derived import DerivedTrace
from numascape.trace.once import kept_with
from numascape.trace.repeated_pages import by_pages, repeating, use_the_same_pages
from numascape.trace.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self


MIN_TEAMS: Final = 3
"""At or above this number of teams of equal size, they repeat the same work. Two teams may be two
stages, and then the pages show whether they divide the work alike."""


def first_in_places(trace: Trace) -> Mapping[int, int]:
    """For each thread of a repeated team, the thread that had its place in the first such team.

    The main thread of a process is in no team. Threads of teams that are not repeated are left out.
    """
    return kept_with(trace, "places in teams", lambda: _places(trace))


def _places(trace: Trace) -> dict[int, int]:
    lives = trace.threads.select("process", "created_ns", "thread", "ended_ns", "os_tid")
    found: dict[int, int] = {}
    for own in lives.sort("process", "thread").partition_by("process", maintain_order=True):
        created = own[1:]
        found |= (
            by_pages(trace, created)
            or by_lives(created, lambda teams: repeating(trace, teams))
            or with_the_same_pages(trace, created)
        )
    return found


Teams = list[list[int]]


def by_lives(
    created: pl.DataFrame, repeating: Callable[[Teams], Teams] = lambda teams: teams
) -> dict[int, int]:
    """The places in teams of one size, if most threads are in three or more such teams.

    `created` are rows of a trace's table, of one process without its main thread. `repeating`
    chooses the teams that repeat their work.
    """
    found: dict[int, int] = {}
    for size, teams in _by_size(created).items():
        if size > 1 and len(teams) >= MIN_TEAMS and 2 * size * len(teams) > created.height:
            same = repeating(teams)
            if len(same) < MIN_TEAMS:
                continue
            for team in same:
                found |= dict(zip(team, same[0], strict=True))
    return found


def with_the_same_pages(trace: Trace, created: pl.DataFrame) -> dict[int, int]:
    """The places in teams of a size that divide the same pages in the same way."""
    found: dict[int, int] = {}
    for size, teams in _by_size(created).items():
        if size > 1 and len(teams) > 1 and use_the_same_pages(trace, teams):
            for team in teams:
                found |= dict(zip(team, teams[0], strict=True))
    return found


def _by_size(created: pl.DataFrame) -> dict[int, list[list[int]]]:
    """The teams by their size; the threads of a team are in the order of their creation.

    The kernel counts `os_tid` up. A thread notes `created_ns` itself, when it first runs.
    """
    order = dict(created.select("thread", "os_tid").iter_rows())
    by_size: dict[int, list[list[int]]] = defaultdict(list)
    for team in teams_of(created):
        by_size[len(team)].append(sorted(team, key=lambda thread: order[thread]))
    return by_size


def teams_of(threads: pl.DataFrame) -> list[list[int]]:
    """Teams of threads that do not overlap in time: all end before the next team is created.

    `threads` are rows of a trace's table.
    """
    teams: list[list[int]] = []
    until = -1
    lives = threads.select("created_ns", "thread", "ended_ns").sort("created_ns", "thread")
    for created, thread, ended in lives.iter_rows():
        if created >= until:
            teams.append([])
        teams[-1].append(thread)
        until = max(until, ended)
    return teams


@dataclass(frozen=True)
class TraceOfTeams(DerivedTrace):
    """The trace `whole`, where the threads with the same place in repeated teams are one thread.

    It has the number of the first of them.
    """

    first: Mapping[int, int] = field(kw_only=True, hash=False)
    same_pages: ClassVar[bool] = False

    @classmethod
    def of(cls, trace: Trace) -> Trace | Self:
        """`trace` itself, if no team is repeated."""
        first = first_in_places(trace)
        return cls(trace.path, trace.info, whole=trace, first=first) if first else trace

    @cached_property
    def threads(self) -> pl.DataFrame:
        """One row per thread; the first thread in a place lives as in the longest team.

        The threads of a team that has little to do may live one after another.
        """
        table = self.whole.threads
        lives = dict(
            zip(table["thread"], table.select("created_ns", "ended_ns").rows(), strict=True)
        )
        places: dict[int, list[int]] = defaultdict(list)
        for thread, first in sorted(self.first.items()):
            places[first].append(thread)
        teams = list(zip(*places.values(), strict=False))
        longest = max(teams, key=lambda team: sum(lives[one][1] - lives[one][0] for one in team))
        lives |= {first: lives[one] for first, one in zip(places, longest, strict=True)}
        created, ended = zip(*(lives[thread] for thread in table["thread"]), strict=True)
        return table.with_columns(
            pl.Series("created_ns", created, pl.UInt64), pl.Series("ended_ns", ended, pl.UInt64)
        )

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """Reads and writes per page, place and phase."""
        table = self.whole.accesses
        keys = [name for name in table.columns if name not in count_columns(table)]
        sums = self._by_place(table).lazy().group_by(keys).agg(pl.col(count_columns(table)).sum())
        return sums.sort(keys).collect().select(table.columns)

    @cached_property
    def first_touch(self) -> pl.DataFrame:
        """For each page, the place whose thread touched it first."""
        return self._by_place(self.whole.first_touch)

    @cached_property
    def kernel_accesses(self) -> pl.DataFrame:
        """The bytes that system calls read and wrote for the threads of each place."""
        return self._by_place(self.whole.kernel_accesses)

    @cached_property
    def instructions(self) -> pl.DataFrame:
        """How many instructions the threads of each place executed, in rows of threads."""
        return self._by_place(self.whole.instructions)

    @cached_property
    def burst_groups(self) -> pl.DataFrame:
        """The accesses of each group of bursts, in rows of threads."""
        return self._by_place(self.whole.burst_groups)

    @cached_property
    def page_bursts(self) -> pl.DataFrame:
        """The accesses of each group of bursts to each page, in rows of threads."""
        return self._by_place(self.whole.page_bursts)

    @cached_property
    def seen_lines(self) -> pl.DataFrame:
        """The cache lines that samples saw the threads of each place use, in rows of threads."""
        return self._by_place(self.whole.seen_lines)

    @cached_property
    def path_accesses(self) -> pl.DataFrame:
        """The samples of the threads of each place with their call paths, in rows of threads."""
        return self._by_place(self.whole.path_accesses)

    def _by_place(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(pl.col("thread").replace(self.first))
