# SPDX-License-Identifier: Apache-2.0
"""Shares of a whole, also of an empty one."""

from numascape.quantities import share_of


def test_a_share_of_nothing_is_zero() -> None:
    assert (share_of(1, 4), share_of(4, 4), share_of(0.5, 1)) == (0.25, 1.0, 0.5)
    assert (share_of(0, 0), share_of(3, 0)) == (0.0, 0.0)
