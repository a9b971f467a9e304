# SPDX-License-Identifier: Apache-2.0
"""What else is known of a structure besides its counts: whose it is, where it is used from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from numascape.analysis.loops import Loop
from numascape.analysis.ownership import Owner, owner_of
from numascape.report.data import Lines, Places, Traffic


@dataclass(frozen=True)
class Setting:
    """A structure's surroundings; shares are 0..1.

    nodes: of the machine; remote: share of the accesses whose nodes are known that went to another
    node, or None when little is known; used_at: the place or loop that makes most accesses, in
    words, and its share.
    """

    owner: Owner = Owner.PROGRAM
    nodes: int = 2
    remote: float | None = None
    used_at: tuple[str, float] | None = None


_KNOWN = 0.9
"""Share of a structure's accesses whose nodes must be known to speak of what was remote."""


def settings_of(
    shown: pl.DataFrame,
    nodes: int,
    traffic: Traffic,
    lines: Lines,
    places: Places,
    loops: tuple[Loop, ...],
) -> list[Setting]:
    """The settings of the structures shown, in their order."""
    count = shown.height
    local = traffic.local.reshape(count, -1).sum(axis=1)
    remote = traffic.remote.reshape(count, -1).sum(axis=1)
    settings = []
    for position, row in enumerate(shown.iter_rows(named=True)):
        known = int(local[position] + remote[position])
        enough = known > 0 and known >= _KNOWN * row["accesses"]
        settings.append(
            Setting(
                owner=owner_of(row),
                nodes=nodes,
                remote=int(remote[position]) / known if enough else None,
                used_at=_most_used_at(position, lines, places, loops),
            )
        )
    return settings


def _most_used_at(
    position: int, lines: Lines, places: Places, loops: tuple[Loop, ...]
) -> tuple[str, float] | None:
    """The loop, or the place outside loops, that makes most of a structure's accesses."""
    rows = slice(int(lines.begin[position]), int(lines.begin[position + 1]))
    uses = (lines.reads[rows] + lines.writes[rows]).astype(np.float64)
    total = float(uses.sum())
    if total == 0:
        return None
    by_where: dict[tuple[int, int], float] = {}
    for place, count in zip(lines.place[rows].tolist(), uses.tolist(), strict=True):
        loop = places.loop[place]
        where = (loop, -1) if loop >= 0 else (-1, place)
        by_where[where] = by_where.get(where, 0.0) + count
    (loop, place), most = max(by_where.items(), key=lambda item: (item[1], item[0]))
    if loop >= 0:
        found = loops[loop]
        return f"the loop at {_base(found.file)}:{found.first}", most / total
    function, file, line = places.function[place], places.file[place], places.line[place]
    if not file or not line:
        return (function, most / total) if function else None
    where_ = f"{_base(file)}:{line}"
    return f"{function} ({where_})" if function else where_, most / total


def _base(file: str) -> str:
    return file.rsplit("/", 1)[-1]
