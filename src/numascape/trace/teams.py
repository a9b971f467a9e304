# SPDX-License-Identifier: Apache-2.0
"""Successive teams of threads: programs that create and join new threads again and again.

For example, a program divides each time step among four new threads. The second thread of each team
then does the work of the second thread of the previous team. Such threads have the same *place*,
and count as one thread where the division of work is judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from numascape.trace.counting import count_columns
from numascape.trace.derived import DerivedTrace
from numascape.trace.once import kept_with
from numascape.trace.repeated_pages import MIN_TEAMS, places_by_pages
from numascape.trace.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self


def places(trace: Trace) -> Mapping[int, int]:
    """For each thread of a repeated team, the thread that had its place in the first such team.

    The lives of the threads tell their teams, or else the pages that they use.
    """
    return kept_with(
        trace,
        "places in teams",
        lambda: first_in_place(trace.threads) or places_by_pages(trace),
    )


def first_in_place(threads: pl.DataFrame) -> dict[int, int]:
    """For each thread of a repeated team, the thread that had its place in the first such team.

    `threads` is a trace's table. The main thread of a process is in no team. A team ends when all
    of its threads have ended. Threads of teams that are not repeated are left out.
    """
    found: dict[int, int] = {}
    rows = threads.select("process", "created_ns", "thread", "ended_ns").sort("process", "thread")
    for own in rows.partition_by("process", maintain_order=True):
        by_size: dict[int, list[list[int]]] = defaultdict(list)
        for team in teams_of(own[1:]):
            by_size[len(team)].append(team)
        for size, teams in by_size.items():
            if size > 1 and len(teams) >= MIN_TEAMS:
                for team in teams:
                    found |= dict(zip(team, teams[0], strict=True))
    return found


def teams_of(threads: pl.DataFrame) -> list[list[int]]:
    """The threads in the order of their creation, in teams that do not overlap in time.

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
        first = places(trace)
        return cls(trace.path, trace.info, whole=trace, first=first) if first else trace

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
    def seen_lines(self) -> pl.DataFrame:
        """The cache lines that samples saw the threads of each place use, in rows of threads."""
        return self._by_place(self.whole.seen_lines)

    def _by_place(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(pl.col("thread").replace(self.first))
