# SPDX-License-Identifier: Apache-2.0
"""Matrices of pages and threads, in which a number is beside a threshold.

Each function takes that number, makes the smallest matrix in which nothing else decides, and
returns whether what the threshold decides holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from numascape.findings.page_use import PageUse, page_use
from numascape.findings.pattern import Pattern as Use
from numascape.findings.pattern import (
    accesses_in_turn,
    looked_up,
    parts_in_turn,
    parts_share_pages,
    pattern_of,
    randomness,
    users_change,
)


def use(counts: Any) -> PageUse:
    """A matrix of pages x threads."""
    matrix = np.asarray(counts, float)
    pages, threads = matrix.shape
    return PageUse(np.arange(threads), np.zeros(pages, np.int64), np.arange(pages), matrix)


def owned(pages: int, threads: int, share: float) -> Any:
    """Contiguous parts: the owner of a page makes `share` of its accesses, the others the rest."""
    counts = np.full((pages, threads), (1 - share) / (threads - 1))
    counts[np.arange(pages), np.arange(pages) * threads // pages] = share
    return counts


def is_split(share: float) -> bool:
    return pattern_of(use(owned(32, 4, share))) is Use.SPLIT


def is_shared_by_all(ratio: float) -> bool:
    return pattern_of(use(owned(32, 8, ratio / 8))) is Use.SHARED


def are_parts(accesses: float) -> bool:
    """Each page has one user, which makes this number of accesses to it."""
    return not looked_up(use(accesses * np.eye(4)))


def are_drawn(accesses: float) -> bool:
    """The matrix of `are_parts`, far below its threshold."""
    return looked_up(use(accesses * np.eye(4)))


def page_of_one_thread_counts(weight: float) -> bool:
    """Pages with random users, and one page with `weight` times their accesses, all of thread 0.

    Beyond the threshold, further accesses to this page change nothing.
    """
    shares = [[3, 5], [5, 3]] * 25

    def in_turn(heavy: float) -> float:
        return accesses_in_turn(use([*shares, [8 * heavy, 0], *shares]))

    return in_turn(weight) < in_turn(weight + 0.01)


def pages_between_ends_are_enough(share: float) -> bool:
    """Instances of three pages, of which only the middle one has random users."""
    middle = 2 * share / (1 - share)
    counts = [[1, 0], [middle / 2, middle / 2], [0, 1]] * 20
    used = use(np.asarray(counts) * 1000)
    instance, page = np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20)
    return accesses_in_turn(PageUse(used.threads, instance, page, used.counts)) == 0


def is_user(even_share: float) -> bool:
    part = even_share / 4
    return bool(use([[1 - part, 0, 0, part]]).users[0, 3])


def takes_part(ratio: float) -> bool:
    others = 1_000_000
    little = round(ratio * 3 * others / (4 - ratio))
    rows = pl.DataFrame(
        {"instance": [0] * 4, "page": [0] * 4, "thread": [0, 1, 2, 3], "reads": [others] * 4}
    ).with_columns(
        structure=pl.lit(0),
        reads=pl.when(pl.col("thread") == 3).then(little).otherwise("reads"),
        writes=pl.lit(0),
    )
    return 3 in page_use(rows).threads


def meeting(alone: int, weight: float) -> PageUse:
    """Each of eight threads has `alone` pages; a shared page is between two parts."""
    rows = []
    for thread in range(8):
        rows += [[float(t == thread) for t in range(8)]] * alone
        if thread < 7:
            rows.append([weight / 2 * (t in (thread, thread + 1)) for t in range(8)])
    return use(rows)


def boundaries_matter(share: float) -> bool:
    return parts_share_pages(meeting(1, 8 * share / (7 * (1 - share))))


def parts_are_short(moved_share: float) -> bool:
    alone = round((14 / moved_share - 6) / 8)
    return parts_share_pages(meeting(alone, 10.0 * alone))


def few_users_at_boundaries(users: float) -> bool:
    pages, threads = 36, 38
    wide = 4 if users > 3 else 2
    others = round(abs(users - 3) * pages)
    counts = np.zeros((pages, threads))
    for page in range(pages):
        counts[page, page : page + (wide if page < others else 3)] = 1
    return parts_share_pages(use(counts))


def order_is_known(pages: float) -> bool:
    return users_change(use(np.eye(4)[np.random.default_rng(3).integers(0, 4, int(pages))]))


def parts_come_in_turn(correlation: float) -> bool:
    """Pages with two users: with probability `correlation` the next two threads, else any two."""
    chosen = np.random.default_rng(4)
    first = np.arange(4096) % 4
    counts = np.zeros((4096, 4))
    counts[np.arange(4096), first] = counts[np.arange(4096), (first + 1) % 4] = 1
    drawn = chosen.random(4096) >= np.sqrt(correlation)
    counts[drawn] = [chosen.permutation([1, 1, 0, 0]) for _ in range(int(drawn.sum()))]
    return parts_in_turn(use(counts))


def centred(rows: int, seed: int) -> Any:
    values = np.random.default_rng(seed).uniform(-1, 1, (rows, 4))
    return values - values.mean(axis=1, keepdims=True)


def users_are_drawn(spread: float) -> bool:
    noise = centred(256, 1) * 0.01
    scale = np.sqrt(spread / randomness(use(0.25 + noise)))
    return users_change(use(0.25 + scale * noise))


def users_differ(difference: float) -> bool:
    at = np.arange(256)
    slow = 0.2 * np.sin(2 * np.pi * at / 256)
    sign = np.random.default_rng(2).choice([-1, 1], 256) * difference / 2
    return users_change(use(0.25 + np.stack([slow, -slow, sign, -sign], axis=1)))


def users_change_often(changes: float) -> bool:
    chosen = np.random.default_rng(5)
    at = np.sort(chosen.choice(np.arange(4, 252, 2), int(changes), replace=False))
    owner = (np.searchsorted(at, np.arange(256), side="right") * 7 // 3) % 4
    # Neighbouring runs have different owners.
    counts = np.full((256, 4), 0.1)
    counts[np.arange(256), owner] = 0.7
    return users_change(use(counts))


def users_follow_no_rule(correlation: float) -> bool:
    period = np.zeros((512, 4))
    period[np.arange(512), np.arange(512) % 4] = 1
    period -= 0.25
    noise = centred(512, 7)
    noise *= np.sqrt((period**2).sum() / (noise**2).sum())
    mixed = np.sqrt(correlation) * period + np.sqrt(1 - correlation) * noise
    return users_change(use(0.25 + 0.15 * mixed))


def one_thread_varies(threads: float) -> bool:
    """The users of pages differ only in the share of thread 0, which differs by chance."""
    counts = np.full((256, int(threads)), 100.0)
    counts[:, 0] = np.random.default_rng(2).choice([10.0, 400.0], 256)
    return users_change(use(counts))


def rows(counts: dict[tuple[int, int, int], tuple[int, int]]) -> pl.DataFrame:
    """Accesses to one structure: by phase, page and thread, the reads and writes."""
    return pl.DataFrame(
        [(0, 0, page, thread, phase, *made) for (phase, page, thread), made in counts.items()],
        schema=["structure", "instance", "page", "thread", "phase", "reads", "writes"],
        orient="row",
    )
