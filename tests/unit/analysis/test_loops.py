# SPDX-License-Identifier: Apache-2.0
"""The innermost loop around a line, from its first line to its last."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape.analysis.loops import LoopsOfFile
from numascape.naming.sources import read_source


def loops(path: Path, text: str) -> LoopsOfFile:
    path.write_text(text)
    source = read_source(str(path))
    assert source is not None
    return LoopsOfFile(source)


def test_a_loop_is_around_its_first_and_its_last_line(tmp_path: Path) -> None:
    text = "void f() {\n  for (;;) {\n    while (a)\n      b();\n    do\n c(); while (d);\n  }\n}\n"
    found = loops(tmp_path / "a.c", text)
    outer, inner, last = (2, 7, "for"), (3, 4, "while"), (5, 6, "do")
    assert [found.around(line) for line in range(1, 9)] == [
        *(None, outer, inner, inner, last, last, outer, None)
    ]


def test_a_file_without_loops(tmp_path: Path) -> None:
    found = loops(tmp_path / "a.c", "int a;\n")
    assert found.around(1) is None
    assert not found.waits(1)


def test_loops_of_fortran_are_said_as_in_the_language(tmp_path: Path) -> None:
    text = (
        "program p\ndo i = 1, n\n a(i) = 0\nend do\ndo while (x)\n call f()\nend do\n"
        "do concurrent (i = 1:n)\n a(i) = 0\nend do\nend program\n"
    )
    found = loops(tmp_path / "a.f90", text)
    assert [found.around(line) for line in (1, 2, 3, 4, 5, 7, 8, 10, 11)] == [
        None,
        *[(2, 4, "do")] * 3,
        *[(5, 7, "do while")] * 2,
        *[(8, 10, "do concurrent")] * 2,
        None,
    ]


@pytest.mark.parametrize(
    ("loop", "waits"),
    [
        ("while (!ready) ;", True),
        ("while (!ready) { sched_yield(); /* a */ }", True),
        ("do { _mm_pause(); } while (!ready);", True),
        ("while (*text++) ;", False),
        ("while ((a = next())) ;", False),
        ("while (!ready) { a(); sched_yield(); }", False),
        ("for (; !ready; i++) ;", False),
        ("for (; !ready;) ;", True),
    ],
)
def test_a_loop_waits_if_it_only_reads_its_condition(
    tmp_path: Path, loop: str, waits: bool
) -> None:
    found = loops(tmp_path / "a.c", f"void f() {{\n{loop}\n}}\n")
    assert found.waits(2) is waits
    assert not found.waits(1)
    assert not found.waits(3)


def test_the_range_of_a_loop_can_depend_on_a_loop_around_it(tmp_path: Path) -> None:
    text = (
        "program p\ndo k = 1, n\n do j = k + 1, n\n  do i = 1, n\n   a(i, j) = a(i, k)\n"
        "  end do\n end do\nend do\ndo j = 1, k\n a(j, j) = 0\nend do\nend program\n"
    )
    found = loops(tmp_path / "a.f90", text)
    assert [found.moves_with(line) for line in (1, 3, 4, 5, 10)] == ["", "k", "", "", ""]
    text = (
        "void f() {\n  for (int b = 0; b < n; b++)\n    for (int i = b * 4; i < end(b); i++) g();\n"
    )
    again = "  while (b) for (int i = b; i < n; i++) g();\n}\n"
    found = loops(tmp_path / "a.c", text + again)
    assert [found.moves_with(line) for line in (1, 3, 4)] == ["", "b", ""]


CALLED = """\
static void update(double *a, int n, int k) {
  int first = k + 1;
  for (int i = first; i < n; i++) a[i] = 0;
}
static void all(double *a, int n) {
  for (int i = 0; i < n; i++) a[i] = 0;
}
static void step(double *a, int k) { update(a, 9, 2 * k); }
int main(void) {
  for (int k = 0, next; k < 9; k++) {
    next = %s;
    all(p, 9);
    step(p, next);
  }
}
"""


@pytest.mark.parametrize(
    ("start", "moves"), [("k + 2", "k"), ("max(k, 2)", "k"), ("4", ""), ("found(k)", "")]
)
def test_the_range_can_depend_on_an_argument_that_changes(
    tmp_path: Path, start: str, moves: str
) -> None:
    found = loops(tmp_path / "a.c", CALLED % start)
    assert [found.moves_with(line) for line in (3, 6)] == [moves, ""]


@pytest.mark.parametrize(
    ("end", "anew"),
    [("n", True), ("m", False), ("2 * n", True), ("end(i)", False), ("k", False), ("fixed", False)],
)
def test_a_loop_around_it_can_assign_the_end_of_a_range(
    tmp_path: Path, end: str, anew: bool
) -> None:
    text = (
        "void f(int n, int m) {\n  while (n) {\n    int k = 4, next = 0;\n    int fixed = m;\n"
        f"    for (int i = 0; i < {end}; i++) next += g(i);\n    n = next;\n  }}\n}}\n"
    )
    found = loops(tmp_path / "a.c", text)
    assert [found.is_set_anew(line) for line in (2, 5, 6)] == [False, anew, False]


def test_the_range_can_depend_on_an_argument_in_fortran(tmp_path: Path) -> None:
    text = (
        "program p\ndo k = 1, n, 8\n last = k + 7\n call update(a, n, last)\nend do\ncontains\n"
        "subroutine update(a, n, last)\n do j = last + 1, n\n  a(j, j) = 0\n end do\n"
        "end subroutine\nend program\n"
    )
    found = loops(tmp_path / "a.f90", text)
    assert [found.moves_with(line) for line in (2, 8)] == ["", "last"]


def test_the_range_can_depend_on_a_number_that_a_loop_halves(tmp_path: Path) -> None:
    loop = "    for (int i = 0; i < n; i++) g();\n"
    text = f"void f(int n) {{\n  while (n) {{\n{loop}    n /= 2;\n  }}\n}}\n"
    assert loops(tmp_path / "a.c", text).moves_with(3) == "n"
    assert loops(tmp_path / "b.c", text.replace("/= 2", "= next()")).moves_with(3) == ""
    member = "void S::run() {\n  for (int k = 0; k < 9; k++) s.part(k);\n}\n"
    part = "void S::part(int k) {\n  for (int i = k; i < 9; i++) g();\n}\n"
    assert loops(tmp_path / "a.cpp", member + part).moves_with(5) == "k"
