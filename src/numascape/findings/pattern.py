# SPDX-License-Identifier: Apache-2.0
"""Derives the pattern in which threads share a structure's pages from their accesses."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

from numascape.findings.page_use import Floats, Integers, PageUse
from numascape.findings.thresholds import (
    MAX_BLOCK_RUNS,
    MAX_BOUNDARY_USERS,
    MAX_EVEN_SHARE_RATIO,
    MAX_PAGE_WEIGHT,
    MIN_BOUNDARY_SHARE,
    MIN_CHANCE_ACCESSES,
    MIN_DOMINANT_SHARE,
    MIN_DRAWN_ACCESSES,
    MIN_INNER_SHARE,
    MIN_ORDERED_PAGES,
    MIN_ORDERED_SHARE,
    MIN_PART_ENDS,
    MIN_PERIODIC_CORRELATION,
    MIN_THREADS_OF_CHANCE,
    MIN_TURN_CORRELATION,
    MIN_USER_DIFFERENCE,
    MIN_USER_SPREAD,
)


class Pattern(Enum):
    """How the threads that work on a structure share its pages."""

    ONE_THREAD = "one thread"
    SPLIT = "split"
    PARTS_SHARE_PAGES = "contiguous parts that share pages at their ends"
    PARTS_IN_TURN = "parts in turn, shorter than a page"
    CHANGING = "pages change users"
    SHARED = "shared by all"
    GROUPS = "shared by groups"
    UNKNOWN = "unknown: there are too few samples"


def pattern_of(use: PageUse) -> Pattern:
    """Derive the pattern; each page is weighted by its accesses."""
    if len(use.threads) == 1:
        return Pattern.ONE_THREAD
    if use.dominance >= MIN_DOMINANT_SHARE:
        return Pattern.SPLIT
    if parts_share_pages(use):
        return Pattern.PARTS_SHARE_PAGES
    if users_change(use):
        return Pattern.CHANGING
    if use.evenness <= MAX_EVEN_SHARE_RATIO / len(use.threads):
        return Pattern.SHARED
    if parts_in_turn(use):
        return Pattern.PARTS_IN_TURN
    # If random threads look up entries of all pages, there are no groups, although each thread may
    # use a part more than the others do.
    common = use.users_per_page >= MIN_ORDERED_SHARE * len(use.threads)
    return Pattern.SHARED if common and not use.sampled and looked_up(use) else Pattern.GROUPS


def parts_share_pages(use: PageUse) -> bool:
    """Whether each thread has a contiguous part, and most pages contain a boundary of parts."""
    if len(use.threads) < 3:
        return False
    first, last = _ends(use)
    steps = use.together
    if not steps.any():
        return False
    moved = (np.diff(first) != 0) | (np.diff(last) != 0)
    orderly = (np.diff(first) >= 0) & (np.diff(last) >= 0)
    dense = use.users.sum(axis=1) == last - first + 1
    return bool(
        np.mean(orderly[steps]) >= MIN_ORDERED_SHARE
        and np.mean(moved[steps]) >= MIN_PART_ENDS
        and use.mean(dense) >= MIN_ORDERED_SHARE
        and use.users_per_page <= min(MAX_BOUNDARY_USERS, len(use.threads) / 2 + 0.5)
        and boundary_share(use) >= MIN_BOUNDARY_SHARE
    )


def parts_in_turn(use: PageUse) -> bool:
    """Whether parts are dealt out in turn, so that the next page has other users by a rule."""
    steps = use.together
    if len(use.page) < MIN_ORDERED_PAGES or not steps.any():
        return False
    moved = (use.users[1:] != use.users[:-1]).any(axis=1)
    return bool(
        np.mean(moved[steps]) >= MIN_PART_ENDS
        and use.users_per_page <= MAX_BOUNDARY_USERS
        and far_correlation(use) >= MIN_TURN_CORRELATION
    )


def boundary_share(use: PageUse) -> float:
    """Share of the accesses that go to pages with several users."""
    return use.mean(use.users.sum(axis=1) > 1)


def _ends(use: PageUse) -> tuple[Floats, Floats]:
    """The first and the last user of each page, with threads in the order of their parts."""
    position = np.arange(len(use.page))
    centre = (use.counts * position[:, None]).sum(axis=0) / use.counts.sum(axis=0)
    ordered = use.users[:, np.argsort(centre, kind="stable")]
    first = ordered.argmax(axis=1).astype(float)
    last = len(use.threads) - 1 - ordered[:, ::-1].argmax(axis=1).astype(float)
    return first, last


def users_change(use: PageUse) -> bool:
    """Whether pages have random users, as with a dynamic schedule that is repeated.

    If pages are shared evenly, or in blocks, a thread has the same share on many pages. If a page
    has one random user at a time, and r users in total, the variance of the shares is 1/r of the
    variance for pages with a single user.
    """
    if len(use.page) < MIN_ORDERED_PAGES:
        return False
    if randomness(use) < MIN_USER_SPREAD or not _in_no_order(use):
        return False
    # If chance decides who uses a page, it decides for all threads. If it does not, one thread may
    # still differ from the others, such as the only one that writes.
    return len(use.threads) < MIN_THREADS_OF_CHANCE or others_change(use)


def main_users_change(use: PageUse) -> bool:
    """Whether the busiest thread of a page changes more often than between contiguous parts."""
    changes = int((np.diff(use.owner) != 0)[use.together].sum())
    return changes > MAX_BLOCK_RUNS * len(use.threads)


def others_change(use: PageUse) -> bool:
    """Whether pages have random users also without the thread whose share varies most."""
    mean = np.average(use.shares, axis=0, weights=use.weight)
    variance = np.average((use.shares - mean) ** 2, axis=0, weights=use.weight)
    counts = np.delete(use.counts, variance.argmax(), axis=1)
    kept = counts.sum(axis=1) > 0
    threads = np.delete(use.threads, variance.argmax())
    rest = PageUse(threads, use.instance[kept], use.page[kept], counts[kept])
    return len(rest.page) > 0 and randomness(rest) >= MIN_USER_SPREAD


def randomness(use: PageUse) -> float:
    """Variance over pages of the threads' shares, relative to its maximum; 0..1."""
    mean = np.average(use.shares, axis=0, weights=use.weight)
    variance = np.average((use.shares - mean) ** 2, axis=0, weights=use.weight)
    return float(variance.sum() / (mean * (1 - mean)).sum())


def looked_up(use: PageUse, touchers: Integers | None = None) -> bool:
    """Whether random threads use single entries of the pages, and not whole parts."""
    return MIN_CHANCE_ACCESSES <= accesses_in_turn(use, touchers) < MIN_DRAWN_ACCESSES


def accesses_in_turn(use: PageUse, touchers: Integers | None = None) -> float:
    """How many accesses a thread makes to a page before another one does, if chance decides.

    If each access to a page has a random user, a page with n accesses has n draws. The following
    accesses are no draws, and do not count:

    - the additional accesses of the thread that touched a page first, because it created the data.
      `touchers` are these threads;
    - the counts of pages with the ends of instances. A block may use a small part of them, and
      they are often estimated, because other blocks are on these pages, too;
    - most accesses to the few pages that are used far more than others, such as the page with the
      allocator's data.
    """
    inner = _between_ends(use)
    shares, weight = use.shares[inner], use.weight[inner]
    weight = np.minimum(weight, MAX_PAGE_WEIGHT * np.median(weight))
    mean = np.average(shares, axis=0, weights=weight)
    groups = np.zeros(len(weight), np.int64) if touchers is None else touchers[inner]
    _, group = np.unique(groups, return_inverse=True)
    size = np.bincount(group, weight)
    usual = np.stack([np.bincount(group, weight * column) / size for column in shares.T], axis=1)
    variance = np.average((shares - usual[group]) ** 2, axis=0, weights=weight)
    possible = float((mean * (1 - mean)).sum())
    return float(variance.sum() * weight.mean() / possible) if possible else 0.0


def _between_ends(use: PageUse) -> npt.NDArray[np.bool_]:
    """The pages that are not the first or the last of their instance; all if these are few."""
    inner = np.full(len(use.page), False)
    inner[1:-1] = use.together[1:] & use.together[:-1]
    return inner if use.mean(inner) >= MIN_INNER_SHARE else np.full(len(use.page), True)


def shared_by_a_rule(use: PageUse) -> bool:
    """Whether most pages have the same shares, more exactly than random users could have them."""
    if len(use.page) < MIN_ORDERED_PAGES or use.sampled:
        return False  # chance decides which accesses are sampled
    mean = np.average(use.shares, axis=0, weights=use.weight)
    difference = ((use.shares - mean) ** 2).sum(axis=1) / (mean * (1 - mean)).sum()
    return float(np.median(difference * use.weight)) < MIN_CHANCE_ACCESSES


def _in_no_order(use: PageUse) -> bool:
    step = np.abs(np.diff(use.shares, axis=0)).sum(axis=1) / 2
    runs = int((step[use.together] > MIN_USER_DIFFERENCE).sum())
    if runs <= MAX_BLOCK_RUNS * len(use.threads):
        return False
    # If threads take chunks in turn by chance, only near pages correlate; with a rule, far ones,
    # too.
    return far_correlation(use) < MIN_PERIODIC_CORRELATION


def far_correlation(use: PageUse) -> float:
    """The largest correlation of the users of pages that are at a fixed, large distance."""
    size = len(use.shares)
    far = size // 2
    # Zeros behind the pages, as many as the largest distance, keep the two ends apart. A transform
    # is quick if its length has small factors only.
    length = _without_large_factors(size + far)
    power = np.zeros(length // 2 + 1)
    for column in use.shares.T:
        transformed = np.fft.rfft(column - column.mean(), length)
        power += transformed.real**2 + transformed.imag**2
    correlation = np.fft.irfft(power, length)[:far]
    correlation /= correlation[0] * (size - np.arange(far)) / size
    return float(correlation[size // 4 :].max())


def _without_large_factors(least: int) -> int:
    """The smallest product of 2, 3 and 5 that is at least this."""
    odd = (1, 3, 5, 9, 15, 45)
    # Each of them times the smallest power of two that is enough.
    return min(one << ((least - 1) // one).bit_length() for one in odd)
