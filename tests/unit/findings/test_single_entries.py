# SPDX-License-Identifier: Apache-2.0
"""Each entry is used by one thread, which is chosen by chance."""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings import Kind
from synthetic.pattern import Pattern
from unit.findings.run_cases import kinds, run_of

PAGES = 128
ENTRIES = 256
"""Entries of a page; a thread makes four accesses to each of them."""


@pytest.mark.parametrize(
    ("written", "found"),
    [(0, Kind.SHARED_READ_MOSTLY), (2, Kind.PAGE_FALSE_SHARING)],
)
def test_entries_that_random_threads_read_once_are_no_parts(written: int, found: Kind) -> None:
    chosen = np.random.default_rng(7)
    pattern = Pattern("search", 5)
    edges = pattern.structure("edges", PAGES)
    used = chosen.multinomial(ENTRIES, [0.25] * 4, PAGES)
    for thread in range(4):
        counts = used[:, thread]
        pattern.access(
            edges, np.arange(PAGES), thread + 1, (4 - written) * counts, written * counts
        )
    pattern.touch(edges, np.arange(PAGES), 0)
    # Samples saw two threads in the same half of a page, but never in the same line.
    for page in range(16):
        pattern.see(edges, page, 1, 0x5555)
        pattern.see(edges, page, 2, 0xAAAA_AAAA_AAAA)
    assert kinds(run_of(pattern)) == {found}
