# SPDX-License-Identifier: Apache-2.0
"""The pattern by which threads share a structure's pages, told from their accesses."""

from __future__ import annotations

from enum import Enum

import numpy as np

from numascape.findings.page_use import Floats, PageUse
from numascape.findings.thresholds import (
    BOUNDARY,
    ENDS,
    EVENLY_SHARED,
    FEW_USERS,
    ORDERLY,
    PERIODIC,
    RANDOM_OWNER,
    RUNS,
    SPLIT,
    VECTOR_STEP,
)


class Pattern(Enum):
    """How the threads that work on a structure share its pages."""

    ONE_THREAD = "one thread"
    SPLIT = "split"
    PARTS_MEET = "contiguous parts that meet inside pages"
    CHANGING = "owners change"
    SHARED = "shared by all"
    GROUPS = "shared by groups"


def pattern_of(use: PageUse) -> Pattern:
    """Tell the pattern; every page has the weight of its accesses."""
    if len(use.threads) == 1:
        return Pattern.ONE_THREAD
    if use.dominance >= SPLIT:
        return Pattern.SPLIT
    if parts_meet(use):
        return Pattern.PARTS_MEET
    if owners_change(use):
        return Pattern.CHANGING
    if use.dominance <= EVENLY_SHARED / len(use.threads):
        return Pattern.SHARED
    return Pattern.GROUPS


def parts_meet(use: PageUse) -> bool:
    """Whether each thread has a contiguous part, and most pages hold ends of several."""
    if len(use.page) < 2 or len(use.threads) < 3:
        return False
    first, last = _ends(use)
    steps = use.together
    if not steps.any():
        return False
    moved = (np.diff(first) != 0) | (np.diff(last) != 0)
    orderly = (np.diff(first) >= 0) & (np.diff(last) >= 0)
    dense = use.users.sum(axis=1) == last - first + 1
    return bool(
        np.mean(orderly[steps]) >= ORDERLY
        and np.mean(moved[steps]) >= ENDS
        and use.mean(dense) >= ORDERLY
        and use.users_per_page <= min(FEW_USERS, len(use.threads) / 2 + 0.5)
        and boundary_share(use) >= BOUNDARY
    )


def boundary_share(use: PageUse) -> float:
    """Share of the accesses that go to pages with several users."""
    return use.mean(use.users.sum(axis=1) > 1)


def _ends(use: PageUse) -> tuple[Floats, Floats]:
    """The first and last user of each page, when threads are put in the order of their parts."""
    position = np.arange(len(use.page))
    centre = (use.counts * position[:, None]).sum(axis=0) / use.counts.sum(axis=0)
    ordered = use.users[:, np.argsort(centre, kind="stable")]
    first = ordered.argmax(axis=1).astype(float)
    last = len(use.threads) - 1 - ordered[:, ::-1].argmax(axis=1).astype(float)
    return first, last


def owners_change(use: PageUse) -> bool:
    """Whether a page's users are drawn at random, as by a dynamic schedule that is repeated.

    If pages were shared evenly, or in blocks, a thread's share would be the same on many pages. If
    a page has one user at a time, drawn anew r times, shares vary as those of r draws do: their
    variance is 1/r of that for a page with a single user.
    """
    if len(use.page) < 16 * RUNS:
        return False
    return randomness(use) >= RANDOM_OWNER and _in_no_order(use)


def randomness(use: PageUse) -> float:
    """Variance over pages of the threads' shares, as a part of the greatest possible; 0..1."""
    mean = np.average(use.shares, axis=0, weights=use.weight)
    variance = np.average((use.shares - mean) ** 2, axis=0, weights=use.weight)
    return float(variance.sum() / (mean * (1 - mean)).sum())


def _in_no_order(use: PageUse) -> bool:
    step = np.abs(np.diff(use.shares, axis=0)).sum(axis=1) / 2
    runs = int((step[use.together] > VECTOR_STEP).sum())
    if runs <= RUNS * len(use.threads):
        return False
    centred = use.shares - use.shares.mean(axis=0)
    size = len(centred)
    transformed = np.fft.rfft(centred, 2 * size, axis=0)
    correlation = np.fft.irfft((np.abs(transformed) ** 2).sum(axis=1))[: size // 2]
    correlation /= correlation[0] * (size - np.arange(size // 2)) / size
    # Threads that take chunks in turn keep step for a while; only a rule lasts for the whole.
    return bool(correlation[size // 4 :].max() < PERIODIC)
