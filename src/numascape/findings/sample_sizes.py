# SPDX-License-Identifier: Apache-2.0
"""The numbers of samples that a finding needs, each with its reason; see thresholds.py."""

from __future__ import annotations

MIN_SAMPLES_OF_STRUCTURE = 30
"""At or above this number of samples of a structure, they show which threads use it: a thread with
a tenth of the accesses is then seen in 96 % of all cases."""

MIN_COMPARISONS = 60
"""At or above this number of samples on pages (or blocks of pages) that have another sample
already, samples show how many threads use a page. The share of pairs by the same thread then has an
error of at most 13 percentage points (95 %), which distinguishes one user from two, or two from
four."""

MIN_BLOCK_SAMPLES = 4
"""Mean number of samples in a block of pages, for each thread that uses the structure, to see which
threads use the block. A thread with an even share is then missed in at most 2 % of all cases."""

MIN_BLOCK_GROUPS = 6
"""Mean number of threads' groups of bursts in a block of pages, to see which threads use the block.
A block of one thread has at most 8."""

MAX_PAIR_ERROR = 0.3
"""Largest error (95 %) of the share of pairs by the same thread, if only bursts were counted. One
user is then distinguished from two in most cases."""

MIN_LINE_SAMPLES = 30
"""At or above this number of samples of a thread in a structure, they show which cache lines the
thread uses most: the share of a line then has an error of at most 18 percentage points (95 %)."""

ACCESS_NS = 4.0
"""The mean time of an access to estimate from CPU time how often data is used. Most labelled
programs take 1 to 5 ns, and a lower estimate of the number of accesses is the careful one."""

MAX_SAMPLED_CONFIDENCE = 0.95
"""The confidence of a finding from samples that are clear: their errors hold in 95 % of cases."""

SAMPLED_PART = 16
"""Pages of a part of the memory that counts as used if one sample is in it. Where a page has a
sample of a thread in 20 % of all cases, such a part has one in 97 %."""
