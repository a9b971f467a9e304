# SPDX-License-Identifier: Apache-2.0
"""Draws a structure's pages as a line of characters: their users and accesses.

With colours, the height of a character shows the accesses, and its colour shows the thread, or the
node, with most of them, as in the report. Without colours, the density of a character shows the
accesses, and a second line names the thread or node with most of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from rich.console import Console
from rich.text import Text

from numascape.analysis.traffic import thread_nodes
from numascape.appearance.palette import CATEGORIES, NO_THREAD, dominance, mixed, thread_colour
from numascape.trace import Trace

BLOCKS = "▁▂▃▄▅▆▇"
"""The full block is left out, because it would touch the strip above."""
DENSITIES = ".:-=+*#%@"
NAMES = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Symbols of threads or nodes on the second line of a strip without colours."""
NOBODY = "·"
_DECADES = 6

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Strip:
    """For each column: the mean accesses per page, the user with most of them, and its share.

    `who` is an index of a user, or -1 if none is known.
    """

    mean: Floats
    who: Indices
    share: Floats


@dataclass(frozen=True)
class Users:
    """The users that strips distinguish: threads, or the nodes that the threads stayed on."""

    what: str
    names: tuple[str, ...]
    of_thread: Indices
    """For each thread, the index of its user; -1 for a thread that was seen on several nodes."""


def users_of(trace: Trace) -> Users:
    """The nodes if the threads ran on more than one, or else the threads."""
    node = thread_nodes(trace)["thread_node"].to_numpy()
    nodes = sorted({int(number) for number in node if number >= 0})
    if len(nodes) > 1:
        of_thread = np.array([nodes.index(int(n)) if n >= 0 else -1 for n in node], np.intp)
        return Users("node", tuple(map(str, nodes)), of_thread)
    every = np.arange(trace.threads.height)
    return Users("thread", tuple(map(str, every)), every)


def strip_of(trace: Trace, structure: int, users: Users, columns: int) -> Strip:
    """Sum the instances of a structure and fold its pages into `columns` columns."""
    pages = max(1, int(trace.structures.item(structure, "pages")))
    bins = min(pages, columns)
    own = trace.accesses.lazy().filter(pl.col("structure") == structure).select(
        "instance", "page", "thread",
        column=(pl.col("page").cast(pl.UInt64) * bins // pages).cast(pl.UInt32),
        accesses=pl.col("reads") + pl.col("writes"),
    ).filter(pl.col("accesses") > 0)  # fmt: skip
    sums, touched = pl.collect_all(
        [
            own.group_by("column", "thread").agg(pl.col("accesses").sum()),
            own.group_by("column").agg(pages=pl.struct("instance", "page").n_unique()),
        ]
    )
    # The last row is for threads whose user is unknown: it counts, but never dominates.
    by_user = np.zeros((len(users.names) + 1, bins))
    user = users.of_thread[sums["thread"].to_numpy()]
    np.add.at(by_user, (user, sums["column"].to_numpy()), sums["accesses"].to_numpy())
    total = by_user.sum(axis=0)
    most = by_user[:-1].max(axis=0, initial=0)
    weight = np.ones(bins)
    weight[touched["column"].to_numpy()] = touched["pages"].to_numpy()
    # If a structure has fewer pages than columns, a page is several columns wide.
    shown = np.arange(columns) * bins // columns
    return Strip(
        (total / weight)[shown],
        np.where(most > 0, by_user[:-1].argmax(axis=0), -1)[shown],
        (most / np.maximum(total, 1))[shown],
    )


def strip_lines(strip: Strip, users: Users, console: Console) -> list[Text]:
    """The strip for this console: one coloured line, or up to two plain ones."""
    level = _levels(strip.mean)
    unicode = not console.options.ascii_only
    if unicode and console.color_system is not None and not console.no_color:
        return [_coloured(strip, users, level)]
    steps = len(DENSITIES)
    shown = (DENSITIES[math.ceil(part * steps) - 1] if part > 0 else " " for part in level)
    lines = [Text("".join(shown))]
    if 1 < len(users.names) <= len(NAMES):
        nobody = NOBODY if unicode else "-"
        lines.append(Text("".join(_name(strip, at, nobody) for at in range(len(level)))))
    return lines


def _levels(mean: Floats) -> list[float]:
    """0 for no accesses, otherwise 0 to 1 on a logarithmic scale over one to six decades."""
    largest = float(mean.max(initial=0))
    if largest <= 0:
        return [0.0] * len(mean)
    smallest = float(mean[mean > 0].min())
    low = min(max(smallest, largest / 10**_DECADES), largest / 10)
    span = math.log(largest / low)
    return [
        max(0.01, min(1.0, math.log(value / low) / span)) if value > 0 else 0.0 for value in mean
    ]


def _coloured(strip: Strip, users: Users, level: Sequence[float]) -> Text:
    text = Text()
    for height, who, share in zip(level, strip.who, strip.share, strict=True):
        if height <= 0:
            text.append(" ")
        else:
            own = user_colour(users, int(who)) if who >= 0 else NO_THREAD
            colour = mixed(NO_THREAD, own, dominance(float(share)))
            text.append(BLOCKS[math.ceil(height * len(BLOCKS)) - 1], style=colour)
    return text


def user_colour(users: Users, number: int) -> str:
    """Threads go from blue to yellow; nodes have categorical colours if there are enough."""
    if users.what == "node" and len(users.names) <= len(CATEGORIES):
        return CATEGORIES[number]
    return thread_colour(number, len(users.names))


def _name(strip: Strip, at: int, nobody: str) -> str:
    if strip.mean[at] <= 0:
        return " "
    return NAMES[strip.who[at]] if strip.who[at] >= 0 and strip.share[at] > 0.5 else nobody
