# SPDX-License-Identifier: Apache-2.0
"""A place in the source as text."""

from __future__ import annotations

import pytest

from numascape.findings.finding import Place


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place("f", "/src/a.c", 3), "f (a.c:3)"),
        (Place("f", "/src/a.c", 0), "f"),
        (Place("f", "", 3), "f"),
        (Place("", "a.c", 3), "a.c:3"),
        (Place("", "/src/", 3), ""),
        (Place("", "", 0), ""),
        (Place("f", "/src/a.c", 3, loop=True), "the loop at a.c:3"),
    ],
)
def test_a_place_is_said_as_far_as_it_is_known(place: Place, text: str) -> None:
    assert str(place) == text


def test_a_name_has_at_most_sixty_characters() -> None:
    assert str(Place("f" * 60, "", 0)) == "f" * 60
    assert str(Place("f" * 61, "", 0)) == "f" * 59 + "…"
    assert str(Place("f" * 61, "a.c", 3)) == "f" * 59 + "… (a.c:3)"
