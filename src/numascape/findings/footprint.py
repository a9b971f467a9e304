# SPDX-License-Identifier: Apache-2.0
"""How much of a structure a thread uses, and how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from numascape.findings.page_use import PageUse
from numascape.findings.thresholds import MIN_USER_SHARE
from numascape.trace.format import PAGE_BYTES

WORD = 8


@dataclass(frozen=True)
class Footprint:
    """The part of a structure that a thread uses, and how often it uses it.

    `size` is the bytes, as a mean over the threads, weighted by their accesses. `reuse` is the
    number of accesses to each 8 bytes.
    """

    size: float = 0.0
    reuse: float = 0.0


def sampled_footprint(threads: int, each: float, accesses: float) -> Footprint:
    """The footprint if each of the threads uses `each` bytes, and they make so many accesses.

    Samples do not show which part of its bytes a thread uses: it may be smaller.
    """
    return Footprint(each, accesses / (max(1, threads) * max(WORD, each) / WORD))


def footprint_of(use: PageUse, touched_bytes: int) -> Footprint:
    """The footprint of a structure with this use, if `touched_bytes` of it are used at all."""
    by_thread = use.counts.sum(axis=0)
    used = use.counts > 0
    mean = by_thread / np.maximum(used.sum(axis=0), 1)
    # Pages that a thread reads once, such as results of others, do not stay in its cache.
    pages = (used & (use.counts >= MIN_USER_SHARE * mean)).sum(axis=0).astype(float)
    sizes = np.minimum(pages * PAGE_BYTES, max(WORD, touched_bytes))
    size = float(np.average(sizes, weights=by_thread))
    return Footprint(size, float(by_thread.sum() / (sizes.sum() / WORD)))
