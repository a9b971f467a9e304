# SPDX-License-Identifier: Apache-2.0
"""Estimates the median of repeated measurements and its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A median with the bounds of its confidence interval."""

    median: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the confidence interval, in the unit of the median."""
        return (self.high - self.low) / 2

    @property
    def spread(self) -> float:
        """The half width as a share of the median."""
        return self.half_width / self.median if self.median else math.inf


def estimate(samples: Sequence[float]) -> Estimate:
    """The median, and its interval with a confidence of at least 95 %.

    The interval is between two samples, which are chosen by the binomial distribution of the number
    of samples below the median (order statistics; H. A. David, "Order Statistics", 1970). It
    assumes nothing about the distribution of the samples. With fewer than six samples, no two
    suffice; the interval is then their range.
    """
    ordered = sorted(samples)
    count = len(ordered)
    if not count:
        raise ValueError("an estimate needs a sample")
    middle = ordered[count // 2]
    if count % 2 == 0:
        middle = (middle + ordered[count // 2 - 1]) / 2
    outside = _samples_outside(count)
    return Estimate(middle, ordered[outside], ordered[count - 1 - outside])


def _samples_outside(count: int) -> int:
    """The number of samples that may be left out at each end at this confidence."""
    tail, below = 0.0, 0
    while below < count // 2:
        tail += math.comb(count, below) / 2**count
        if 2 * tail > 1 - CONFIDENCE:
            break
        below += 1
    return max(below - 1, 0)
