# SPDX-License-Identifier: Apache-2.0
"""Each thread has its own bytes of all cache lines of a structure, as in `counts[cell][thread]`."""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings import Kind, findings_of
from numascape.findings.parts_in_pages import has_own_bytes
from numascape.findings.subject import Run
from unit.findings.line_cases import used_by_all
from unit.findings.run_cases import run_of, subject_of

_PAGES = 256


def seen_run(step: int, pages: int = _PAGES, writers: int = 4) -> Run:
    """Samples saw one thread on each of these pages. Its shares of the pages are irregular.

    It used 8 bytes of a line, `step` bytes behind those of the thread before it.
    """
    pattern, s = used_by_all(_PAGES, writers)
    page = np.arange(_PAGES)
    more = np.where(page % 4 < writers, 9_000 * (page // 4 % 3), 0)
    pattern.access(s, page, page % 4, 0, more)
    for number in range(pages):
        mask = 0xFF << (step * (number % 4))
        pattern.see(s, number, number % 4, 1, line=0, bytes_=mask, times=100, writing=100)
    return run_of(pattern)


def test_elements_of_threads_lie_side_by_side() -> None:
    (finding,) = findings_of(seen_run(8))
    assert finding.kind is Kind.PAGE_FALSE_SHARING
    assert "each of them uses its own bytes of the cache lines" in finding.why
    assert "at the same position of a line 0 times" in finding.why
    assert "side by side. A page can be local to only one of the threads" in finding.why
    assert finding.advice[0].startswith("Put the parts of one thread together")


def test_threads_that_use_all_bytes_share_the_pages() -> None:
    (finding,) = findings_of(seen_run(0))
    assert finding.kind is Kind.SHARED_WRITTEN


@pytest.mark.parametrize(
    ("step", "pages", "writers", "own"),
    [
        (0, _PAGES, 4, False),  # all of them use the same bytes
        (8, 16, 4, False),  # by chance, 12 pairs would be seen together
        (8, 20, 4, True),  # 19 pairs
        (8, _PAGES, 1, False),  # who only reads takes no line from others
        (8, _PAGES, 2, True),
    ],
)
def test_enough_samples_of_several_writers_must_show_it(
    step: int, pages: int, writers: int, own: bool
) -> None:
    assert has_own_bytes(subject_of(seen_run(step, pages, writers))) is own
