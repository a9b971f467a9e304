# SPDX-License-Identifier: Apache-2.0
"""Numbers of findings with their units."""

from __future__ import annotations

import pytest

from numascape.findings.wording import number_text, threads_text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.53, "share", "53 %"),
        (1536.9, "bytes", "1.5 KiB"),
        (1.75, "times", "1.8x"),
        (12, "count", "12"),
    ],
)
def test_a_number_has_its_unit(value: float, unit: str, text: str) -> None:
    assert number_text(value, unit) == text


def test_threads_are_ranges() -> None:
    assert threads_text([3]) == "thread 3"
    assert threads_text([9, 0, 1, 2]) == "threads 0-2, 9"
