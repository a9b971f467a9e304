# SPDX-License-Identifier: Apache-2.0
"""Runs with two stages that use a structure in different ways."""

from __future__ import annotations

import numpy as np

from numascape.findings.pattern import Pattern as Sharing
from synthetic.pattern import Pattern
from unit.findings.run_cases import region, run_of, subject_of

PAGES = 200
LOOKED_UP = 2000
"""Mean number of entries of a page that one thread looks up."""


def is_shared_if_looked_up(share: float) -> bool:
    """In this share of the work, random threads look up entries; else each uses its own part."""
    pattern = Pattern("labels", 4)
    labels = pattern.structure("labels", PAGES)
    look_up, divided = region(pattern, "look_up", 3), region(pattern, "divided", 9)
    chance = np.random.default_rng(5)
    for thread, part in enumerate(np.array_split(np.arange(PAGES), 4)):
        reads = chance.poisson(LOOKED_UP, PAGES)
        pattern.access(labels, np.arange(PAGES), thread, reads, 0, phase=look_up)
        own = round(4 * LOOKED_UP * (1 - share) / share)
        pattern.access(labels, part, thread, own, 0, phase=divided)
    pattern.touch(labels, np.arange(PAGES), 0)
    return subject_of(run_of(pattern)).pattern is Sharing.SHARED
