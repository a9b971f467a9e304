# SPDX-License-Identifier: Apache-2.0
"""The sample of names that a reader compares with sources (bench/names)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bench.names import (
    DOCUMENT,
    NamedStructure,
    chosen,
    judgements,
    renewed,
    source_text,
    structures_of,
)

from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern

A, B, C = (NamedStructure("app", name, "heap", "main", "/s/app.c", 7) for name in ("a", "b", "c|d"))
TEXT = "before\n<!-- names: begin -->\nold\n<!-- names: end -->\nafter\n"


def test_judgements_stay_with_their_names() -> None:
    first = renewed(TEXT, [A, C], {A.cells(): "right", C.cells(): "poor: it is e"})
    again = renewed(first, [A, B, C], judgements(first))
    assert judgements(again) == {
        A.cells(): "right",
        B.cells(): "not compared",
        C.cells(): "poor: it is e",
    }
    assert again.startswith("before\n")
    assert again.endswith("\nafter\n")
    assert "old" not in again


def test_the_sample_depends_only_on_the_seed() -> None:
    many = [NamedStructure("app", f"v{number}", "heap", "", "a.c", 1) for number in range(50)]
    sample = chosen(many, 10, "1")
    assert sample == chosen([*reversed(many), *many], 10, "1")
    assert sample != chosen(many, 10, "2")
    # Each name that is left out makes room for one other name.
    assert len(set(sample) & set(chosen(many[1:], 10, "1"))) >= 9


def test_each_name_is_chosen_once_and_each_program_has_its_part() -> None:
    small = [NamedStructure("b", f"v{number}", "heap", "", "b.c", 1) for number in range(3)]
    many = [
        NamedStructure("a", f"v{number}", "heap", "", "a.c", line)
        for number in range(50)
        for line in (1, 2)
    ]
    sample = chosen(many + small, 10, "1")
    assert [one.program for one in sample] == ["a"] * 7 + ["b"] * 3
    assert len({(one.program, one.name) for one in sample}) == 10


def test_only_names_of_the_source_with_a_line_are_chosen() -> None:
    program = Pattern("app", 1)
    for name, columns in (
        ("grid", {}),
        ("step+0x1b", {}),
        ("no_line", {"line": 0}),
        ("OpenMP runtime", {"module": "libgomp.so.1"}),
    ):
        number = program.structure(name, 1, **columns)
        program.access(number, np.arange(1), 0, 1, 0)
        program.touch(number, np.arange(1), 0)
    found = [(one.program, one.name, one.place) for one in structures_of(trace_of(program))]
    assert found == [("app", "grid", "app.c:40 (main)")]


def test_the_source_is_found_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.c").write_text("".join(f"line {n}\n" for n in range(1, 9)))
    assert source_text(A, [tmp_path]) == [
        "        6  line 6",
        "        7> line 7",
        "        8  line 8",
    ]
    assert source_text(A, []) == []


def test_all_names_in_the_document_were_compared() -> None:
    judged = judgements(DOCUMENT.read_text())
    assert len(judged) >= 200
    assert [row for row, said in judged.items() if not said.startswith(("right", "poor: "))] == []
