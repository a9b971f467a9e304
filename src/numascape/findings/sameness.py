# SPDX-License-Identifier: Apache-2.0
"""The share of the pairs of accesses to the same page that are by the same thread, with its error.

It is 1 if each page has one user, and 1/k if k threads use each page alike. Few accesses are known
if they were sampled, or if only bursts were counted; the share has no bias, however few they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from numascape.findings.page_use import Floats, PageUse
from numascape.findings.sample_sizes import MAX_PAIR_ERROR, MIN_COMPARISONS
from numascape.trace.counting import T_OF_GROUPS

_SIGMAS = 1.96
"""Standard deviations around the mean that contain 95 % of all samplings."""


@dataclass(frozen=True)
class Sameness:
    """The share of the pairs of samples in the same block that are by the same thread.

    `error` is for 95 % confidence. `comparisons` is the number of independent pairs: of samples
    after the first one of their block, or of groups of bursts that meet another one in a block.
    """

    share: float = 1.0
    error: float = 1.0
    comparisons: int = 0
    is_known: bool = False

    @property
    def low(self) -> float:
        """The smallest share that explains the samples."""
        return max(0.0, self.share - self.error)

    @property
    def high(self) -> float:
        """The largest share that explains the samples."""
        return min(1.0, self.share + self.error)

    @classmethod
    def of(cls, use: PageUse) -> Sameness:
        """The sameness of samples, or of bursts, in these blocks."""
        return cls._of_samples(use.counts) if use.by_group is None else cls._of_bursts(use.by_group)

    @classmethod
    def _of_samples(cls, counts: Floats) -> Sameness:
        samples = counts.sum(axis=1)
        known = samples > 1
        if not known.any():
            return cls()
        counts, samples = counts[known], samples[known]
        same = (counts * (counts - 1)).sum(axis=1) / samples
        compared = samples - 1
        whole = float(compared.sum())
        share = float(same.sum()) / whole
        # The blocks are independent of each other. If all pairs are alike, up to 3 of `whole` could
        # have been different (the rule of three).
        spread = math.sqrt(float(((same - share * compared) ** 2).sum())) / whole
        error = min(1.0, _SIGMAS * spread + 3 / whole)
        return cls(share, error, round(whole), round(whole) >= MIN_COMPARISONS)

    @classmethod
    def _of_bursts(cls, by_group: Floats) -> Sameness:
        """Compare accesses of different groups of bursts: those of one burst are by one thread."""
        groups = by_group.shape[2]
        of_groups = by_group.sum(axis=1)
        others = of_groups.sum(axis=1, keepdims=True) - of_groups
        meets = ((by_group > 0) & (others[:, None, :] > 0)).any(axis=0)
        comparisons = int(meets.sum())
        if comparisons < 2:
            return cls()
        share = _share_of_pairs(by_group)
        left = [_share_of_pairs(np.delete(by_group, group, axis=2)) for group in range(groups)]
        error = min(1.0, _jackknife_error(np.array(left)) + 3 / comparisons)
        return cls(share, error, comparisons, error <= MAX_PAIR_ERROR)


def _share_of_pairs(by_group: Floats) -> float:
    """The share of pairs of accesses, of different groups to one block, that are by one thread."""
    by_thread, by_time = by_group.sum(axis=2), by_group.sum(axis=1)
    weight = by_thread.sum(axis=1)
    known = weight > 0
    same = (by_thread**2).sum(axis=1) - (by_group**2).sum(axis=(1, 2))
    every = weight**2 - (by_time**2).sum(axis=1)
    # A block counts as its accesses, not as its pairs.
    total = float((every[known] / weight[known]).sum())
    return float((same[known] / weight[known]).sum()) / total if total else 1.0


def ratio_error(parts: Floats, wholes: Floats) -> float:
    """The error (95 %) of the ratio of two sums, from the terms of each group of bursts."""
    rest = wholes.sum() - wholes
    if (rest <= 0).any():
        return 1.0
    return _jackknife_error((parts.sum() - parts) / rest)


def _jackknife_error(left: Floats) -> float:
    """The error (95 %) of an estimate, from the estimates that leave out one group each.

    Source: J. W. Tukey, "Bias and Confidence in Not-Quite Large Samples", Annals of Mathematical
    Statistics 29, 1958.
    """
    groups = len(left)
    return T_OF_GROUPS * math.sqrt(float(((left - left.mean()) ** 2).sum()) * (groups - 1) / groups)
