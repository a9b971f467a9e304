# SPDX-License-Identifier: Apache-2.0
"""The users of pages in a phase, and the common use of two phases."""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings.phase_use import PhaseUse


def use(*rows: tuple[int, int, int]) -> PhaseUse:
    """The use of pages below 4 from rows of a page, a thread and a count."""
    page, thread, count = np.array(rows, np.int64).T
    return PhaseUse.of(page, thread, count.astype(np.float64), 4)


def test_the_owner_of_a_page_uses_it_most() -> None:
    phase = use((0, 1, 5), (0, 0, 4), (0, 0, 2), (1, 2, 3), (1, 1, 3), (3, 0, 3))
    assert phase.owner.tolist() == [0, 1, -1, 0]
    assert phase.share == pytest.approx(np.array([11, 6, 0, 3]) / 20)


def test_what_changes_is_the_smaller_use_of_pages_with_another_owner() -> None:
    one = use((0, 0, 50), (1, 1, 30), (2, 0, 20))
    other = use((0, 1, 10), (1, 1, 70), (3, 1, 20))
    assert one.changed(other) == other.changed(one) == pytest.approx(0.1)


def test_what_others_use_is_at_most_what_the_owners_use() -> None:
    one = use((0, 0, 10), (1, 1, 90))
    walk = use((0, 0, 10), (0, 1, 40), (1, 0, 30), (2, 0, 20))
    # Another thread makes 0.4 of the walk's use of page 0, but the page has only 0.1 of the phase.
    assert one.by_others(walk) == pytest.approx(0.1 + 0.3)
