# SPDX-License-Identifier: Apache-2.0
"""Strings that are made from texts, as arguments of constructors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from numascape.naming import name_allocation


@dataclass(frozen=True)
class AnyFrame:
    function: str
    file: str = ""
    line: int = 0
    column: int = 0
    module: str = "/opt/program"


STRING = AnyFrame(
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string",
    "/usr/include/c++/12/bits/basic_string.h",
    642,
)


@pytest.mark.parametrize("column", ["start", "end", "unknown"])
@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ('App app(argc, argv, "betweenness-centrality", 1);', "App()"),
        ('App<int> app{argc, "single-source shortest path"};', "App<int>()"),
        ('app = new App(argc, "single-source shortest path");', "App()"),
        ('std::string text("a text of more than 15 bytes");', "text"),
        ('std::string text("a text of more than 15 bytes", 20);', "text"),
        ('MyString text("a text of more than 15 bytes", 20);', "text"),
        ('Text text("a text of more than 15 bytes");', "text"),
        ("App app(argc, argv, 1);", "app"),
    ],
)
def test_a_string_for_a_constructor_is_not_the_object(
    tmp_path: Path, statement: str, name: str, column: str
) -> None:
    file = tmp_path / "program.cpp"
    file.write_text(f"int main(int argc, char** argv) {{\n{statement}\n}}\n")
    columns = {"start": statement.find("("), "end": len(statement) - 1, "unknown": 0}
    if "{" in statement:
        columns["start"] = statement.index("{")
    place = columns[column] + (column == "start")
    frames = [STRING, AnyFrame("main", str(file), 2, place)]
    assert name_allocation(frames).name == name
