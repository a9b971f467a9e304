# SPDX-License-Identifier: Apache-2.0
"""Judges from samples, or from bursts, how threads divide the pages of a structure among them.

A page with one sample seems to have one user, whoever else uses it. Therefore, pages are not judged
one by one. Instead, pairs of samples on the same page are compared (sameness.py). If only bursts
were counted, accesses of different bursts take the place of samples.

If there are too few such pairs, blocks of neighbouring pages take the place of pages. Pages have at
most as many users as their blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from numascape.findings.page_use import Floats, Integers, PageUse
from numascape.findings.pattern import Pattern, far_correlation, pattern_of
from numascape.findings.sameness import Sameness, ratio_error
from numascape.findings.sample_sizes import (
    MIN_BLOCK_GROUPS,
    MIN_BLOCK_SAMPLES,
    MIN_SAMPLES_OF_STRUCTURE,
)
from numascape.findings.thresholds import (
    MAX_EVEN_SHARE_RATIO,
    MAX_SHARED_SHARE,
    MIN_DOMINANT_SHARE,
    MIN_DRAWN_ACCESSES,
    MIN_ORDERED_PAGES,
    MIN_ORDERED_SHARE,
    MIN_PERIODIC_CORRELATION,
)
from numascape.trace.counting import share_error


@dataclass(frozen=True, eq=False)
class SampledUse:
    """How threads use the blocks of a structure, with `span` pages in each block.

    The `pattern` is Pattern.UNKNOWN if the samples do not show it. `error` is that of the share of
    a block's main user, or of its even share. `in_turn` is the number of accesses that a burst
    makes to a page when it comes there; None: samples do not show it.
    """

    use: PageUse
    span: int
    pattern: Pattern
    error: float = 1.0
    in_turn: float | None = None

    @property
    def looks_up(self) -> bool:
        """Whether threads share its pages, and use single entries when they come there."""
        shares = self.pattern in (Pattern.SHARED, Pattern.CHANGING, Pattern.GROUPS)
        return shares and self.in_turn is not None and self.in_turn < MIN_DRAWN_ACCESSES


def in_blocks(rows: pl.DataFrame, span: int) -> pl.DataFrame:
    """The rows with numbers of blocks of `span` pages instead of pages."""
    return rows if span == 1 else rows.with_columns(pl.col("page") // span)


def in_blocks_of(rows: pl.DataFrame, spans: Mapping[int, int]) -> pl.DataFrame:
    """The same for rows of several structures, with the span of each structure."""
    return rows.with_columns(
        pl.col("page")
        // pl.col("structure").replace_strict(spans, default=1, return_dtype=pl.UInt32)
    )


def sampled_use(pages: PageUse, own_share: float, own_error: float | None = None) -> SampledUse:
    """Judge the samples of a structure; `pages` has those of the work on it.

    `own_share` is the share of the work by the threads that touched the pages first. The main user
    of a page has at least this share, and samples show it without bias, also if each page has one.
    `own_error` is its error; None: that of independent samples.
    """
    pages = replace(pages, sampled=True)
    samples, threads = float(samples_of(pages).sum()), len(pages.threads)
    if samples < MIN_SAMPLES_OF_STRUCTURE:
        return SampledUse(pages, 1, Pattern.UNKNOWN)
    if threads < 2:
        return SampledUse(pages, 1, Pattern.ONE_THREAD, 3 / samples)
    spans = _spans(pages)
    of_pages = Sameness.of(pages)
    every = ((length, Sameness.of(_blocks(pages, length))) for length in spans)
    fine = next((one for one in every if one[1].is_known), None)
    span = _shape_span(pages, spans)
    blocks = _blocks(pages, span)
    own_error = share_error(round(samples)) if own_error is None else own_error
    if own_share - own_error >= MIN_DOMINANT_SHARE:
        return SampledUse(blocks, span, Pattern.SPLIT, own_error)
    if fine is None:
        return SampledUse(blocks, span, Pattern.UNKNOWN)
    fine_span, same = fine
    main = same.error * threads / max(1, threads - 1)
    if _main_share(same.low, threads) >= MIN_DOMINANT_SHARE:
        found = Pattern.SPLIT if _is_split(blocks) else Pattern.UNKNOWN
        return SampledUse(_blocks(pages, fine_span), fine_span, found, main)
    # Blocks may have several users although pages have one each.
    on_pages = same if fine_span == 1 else of_pages
    if _is_shared(same, on_pages, pages):
        return SampledUse(_evened(blocks), span, Pattern.SHARED, main)
    return SampledUse(blocks, span, _shape(blocks, same), main)


def samples_of(use: PageUse) -> Floats:
    """The number of samples of each page; of bursts, those of a thread and group count as one."""
    return use.weight if use.by_group is None else (use.by_group > 0).sum(axis=(1, 2)).astype(float)


def own_share_error(use: PageUse, touchers: Integers | None) -> float:
    """The error (95 %) of the share of the work by the threads that touched the pages first.

    `touchers` are these threads, for each page of the use; only bursts were counted.
    """
    if use.by_group is None or touchers is None:
        return 1.0
    own = (use.threads[None, :] == touchers[:, None]) & (touchers >= 0)[:, None]
    sums = (use.by_group * own[:, :, None]).sum(axis=(0, 1))
    whole = (use.by_group * (touchers >= 0)[:, None, None]).sum(axis=(0, 1))
    return ratio_error(sums, whole)


def _spans(pages: PageUse) -> list[int]:
    """The lengths of blocks: 1, 2, 4, ... pages, until all pages are in one block."""
    longest = int(pages.page.max(initial=0)) + 1
    return [1 << power for power in range(longest.bit_length() + 1)]


def _blocks(pages: PageUse, span: int) -> PageUse:
    """The use of blocks of `span` pages."""
    if span == 1:
        return pages
    block = pages.page // span
    starts = np.flatnonzero(
        (np.diff(pages.instance, prepend=-1) != 0) | (np.diff(block, prepend=-1) != 0)
    )
    by_group = pages.by_group
    return replace(
        pages,
        instance=pages.instance[starts],
        page=block[starts],
        counts=np.add.reduceat(pages.counts, starts, axis=0),
        by_group=None if by_group is None else np.add.reduceat(by_group, starts, axis=0),
    )


def accesses_in_turn(use: PageUse, weight: float) -> float | None:
    """How many accesses a burst makes to a page when it comes there; see SampledUse.

    If each visit makes n accesses, the variance of a thread's accesses to a page among the groups
    of bursts is n times their mean. This depends neither on the number of bursts, nor on how often
    each page is used. Each counted access stands for `weight` of them.
    """
    if use.by_group is None or not use.by_group.size:
        return None
    counted = use.by_group / weight
    return float(counted.var(axis=2, ddof=1).sum() / counted.mean(axis=2).sum())


def least_of_block(use: PageUse) -> int:
    """The mean number of samples in a block of pages that shows which threads use it."""
    enough = MIN_BLOCK_SAMPLES * len(use.threads)
    # A block with one user has at most one sample of each group of bursts.
    return enough if use.by_group is None else min(enough, MIN_BLOCK_GROUPS)


def _shape_span(pages: PageUse, spans: list[int]) -> int:
    """The smallest length of blocks with enough samples to see which threads use each of them."""
    enough = least_of_block(pages)
    blocks = ((span, _blocks(pages, span)) for span in spans)
    return next(
        (span for span, use in blocks if samples_of(use).mean() >= enough),
        spans[-1],
    )


def _main_share(sameness: float, threads: int) -> float:
    """The share of a block's main user, if all others use it alike."""
    spread = max(0.0, threads * sameness - 1) * (threads - 1)
    return (1 + math.sqrt(spread)) / threads


def _sameness_of(main: float, threads: int) -> float:
    """The sameness, if the main user has this share and all others use the block alike."""
    return main**2 + (1 - main) ** 2 / (threads - 1)


def _is_split(blocks: PageUse) -> bool:
    """Whether blocks with several samples have one main user each, as pairs of samples show.

    Two samples of a page may depend on each other: a thread stays there for long, or the address of
    one sample counts for others. Among many samples of a block, few pairs are of this kind.
    """
    threads = len(blocks.threads)
    share = Sameness.of(blocks).high
    return len(blocks.page) >= 2 * threads and _main_share(share, threads) >= MIN_DOMINANT_SHARE


def _is_shared(same: Sameness, on_pages: Sameness, pages: PageUse) -> bool:
    """Whether all threads use all blocks alike, and pages do not have one user each.

    Two groups of threads, each with pages of its own, must be impossible.
    """
    threads = len(pages.threads)
    split = _sameness_of(MIN_DOMINANT_SHARE, threads)
    grouped = min(2 / threads, split)
    even = _sameness_of(min(1.0, MAX_EVEN_SHARE_RATIO / threads), threads)
    return (
        _of_equal_work(same.high, pages) < grouped
        and _of_equal_work(same.low, pages) <= even
        and on_pages.high < split
    )


def _of_equal_work(sameness: float, pages: PageUse) -> float:
    """The sameness if all threads had equal work: with chance, it is 1 / threads."""
    chance, threads = _by_chance(pages), len(pages.threads)
    if chance >= 1:
        return 1.0
    rest = (sameness - chance) / (1 - chance)
    return rest + (1 - rest) / threads


def _by_chance(pages: PageUse) -> float:
    """The share of all pairs of samples, on any pages, that are by the same thread."""
    by_thread = pages.counts.sum(axis=0)
    samples = by_thread.sum()
    return float((by_thread * (by_thread - 1)).sum() / (samples * (samples - 1)))


def _shape(blocks: PageUse, same: Sameness) -> Pattern:
    """The pattern by the users of each block; unknown if blocks mix pages of different users."""
    if len(blocks.page) < MIN_ORDERED_PAGES or same.low > Sameness.of(blocks).high:
        return Pattern.UNKNOWN
    found = pattern_of(blocks)
    # With few bursts, most accesses to a block may be those of one burst, whoever else uses it.
    main = _main_share(same.share, len(blocks.threads))
    one_burst = found is Pattern.SPLIT and main < MIN_DOMINANT_SHARE
    if found is Pattern.CHANGING or one_burst:
        # The samples of a block differ by chance from those of the next, also in a regular pattern.
        return _in_order(blocks, same)
    return found


def _in_order(blocks: PageUse, same: Sameness) -> Pattern:
    """Groups if neighbouring blocks have the same users, changing users if chance decides.

    If the users change by a rule, such as in turn, they are in no order of groups either.
    """
    chance = _by_chance(blocks)
    near = (_same_as_next(blocks) - chance) / (same.share - chance)
    if near >= MIN_ORDERED_SHARE - same.error:
        return Pattern.GROUPS
    periodic = far_correlation(blocks) >= MIN_PERIODIC_CORRELATION * _reliability(blocks)
    return Pattern.UNKNOWN if periodic or near > MAX_SHARED_SHARE else Pattern.CHANGING


def _same_as_next(blocks: PageUse) -> float:
    """The share of the pairs of samples of neighbouring blocks that are by the same thread."""
    pairs = blocks.weight[1:] * blocks.weight[:-1]
    same = (blocks.counts[1:] * blocks.counts[:-1]).sum(axis=1)
    if blocks.by_group is not None:
        # A burst goes over neighbouring blocks, and is of one thread.
        by_time = blocks.by_group.sum(axis=1)
        pairs = pairs - (by_time[1:] * by_time[:-1]).sum(axis=1)
        same = same - (blocks.by_group[1:] * blocks.by_group[:-1]).sum(axis=(1, 2))
    pairs, same = pairs[blocks.together], same[blocks.together]
    return float(same.sum() / pairs.sum()) if pairs.sum() else 0.0


def _reliability(blocks: PageUse) -> float:
    """The part of the variance of the blocks' shares that is not by the chance of sampling."""
    same, chance = Sameness.of(blocks).share, _by_chance(blocks)
    spread = (same - chance) / (1 - chance)
    return spread / (spread + (1 - spread) / float(blocks.weight.mean()))


def _evened(blocks: PageUse) -> PageUse:
    """The blocks with the same shares of threads in each: samples show no other difference."""
    mean = blocks.counts.sum(axis=0) / blocks.counts.sum()
    return replace(blocks, counts=blocks.weight[:, None] * mean[None, :])
