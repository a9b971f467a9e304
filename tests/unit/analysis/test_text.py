# SPDX-License-Identifier: Apache-2.0
"""Names of any length and with any characters become text that is safe to show."""

from __future__ import annotations

import pytest

from numascape.analysis.text import short_printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("grid->vx", "grid->vx"),
        ("größe", "größe"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
    ],
)
def test_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert short_printable(text) == shown


def test_a_long_name_ends_with_an_ellipsis() -> None:
    assert short_printable("x" * 12_000) == "x" * 12_000
    assert short_printable("x" * 12_001) == "x" * 11_999 + "…"
    assert short_printable("abcd", 4) == "abcd"
    assert short_printable("abcde", 4) == "abc…"
