# SPDX-License-Identifier: Apache-2.0
"""Short command lines stand for complete ones."""

from __future__ import annotations

import pytest

from numascape.cli.first_words import understood


@pytest.mark.parametrize(
    ("typed", "complete"),
    [
        ("help pages", "pages --help"),
        ("version", "--version"),
        ("pages --pid 1 --watch", "pages --pid 1 --watch 2"),
        ("pages --watch --pid 1", "pages --watch 2 --pid 1"),
        ("pages --watch -p 1", "pages --watch 2 -p 1"),
        ("pages --pid 1 --watch 5", "pages --pid 1 --watch 5"),
        ("pages --pid 1 --watch=5", "pages --pid 1 --watch=5"),
        ("pages --pid 1 --watch -5", "pages --pid 1 --watch -5"),
        ("host show --watch", "host show --watch 2"),
        ("record -- ./program --watch", "record -- ./program --watch"),
    ],
)
def test_a_short_line_stands_for_a_complete_one(typed: str, complete: str) -> None:
    assert understood(typed.split()) == complete.split()


def test_nothing_stands_for_nothing() -> None:
    assert understood([]) == []
