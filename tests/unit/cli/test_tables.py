# SPDX-License-Identifier: Apache-2.0
"""Tables in a terminal of 80 columns."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from numascape.console.tables import cut_apart, cut_between_words, table_of


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("variables under a page", 22, "variables under a page"),
        ("variables under a page", 20, "variables under a…"),
        ("variables under a page", 18, "variables under a…"),
        ("variables under a page", 17, "variables under…"),
        ("variables under a page", 8, "variabl…"),
        ("std::vector<double>", 9, "std::vec…"),
    ],
)
def test_a_text_is_cut_between_words(text: str, width: int, cut: str) -> None:
    assert cut_between_words(text, width) == cut


def lines_of(rows: list[list[str]], width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(table_of(["Structure", "Share", "Where"], rows, width, ["Structure", "Where"]))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_place_keeps_its_line_before_names_keep_their_last_words() -> None:
    rows = [["variables under a page", "99 %", "matmul.c:120 main"], ["A", "1 %", "matmul.c:7"]]
    assert lines_of(rows, 48)[1:] == [
        "variables under a page  99 % matmul.c:120 main",
        "A                        1 % matmul.c:7",
    ]
    assert lines_of(rows, 40)[1:] == [
        "variables under…  99 % matmul.c:120…",
        "A                  1 % matmul.c:7",
    ]
    assert lines_of(rows, 32)[1:] == [
        "variables…   99 % matmul.c:120…",
        "A             1 % matmul.c:7",
    ]


def test_words_are_cut_if_there_is_no_other_way() -> None:
    (_, row) = lines_of([["std::vector<double>", "99 %", "matmul.c:120 main"]], 26)
    assert row == "std::vec…  99 % matmul.c…"


@pytest.mark.parametrize(("width", "first"), [(22, "variables…librmpi.so"), (13, "var…ibrmpi.so")])
def test_names_that_would_look_the_same_keep_their_ends(width: int, first: str) -> None:
    names = ["variables under a page of librmpi.so", "variables under a page of libc.so"]
    shown = cut_apart([*names, names[0], "A"], width)
    assert shown[0] == shown[2] == first
    assert shown[1].endswith("libc.so")
    assert shown[3] == "A"
    assert max(map(len, shown)) <= width
