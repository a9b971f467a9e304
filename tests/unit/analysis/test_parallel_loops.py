# SPDX-License-Identifier: Apache-2.0
"""Only loops with independent iterations are called parallel."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape.analysis.iterations import ParallelLoop, parallel_loop
from numascape.naming.sources import read_source

INDEPENDENT = {
    "for (int i = 0; i < n; i++) a[i] = 0;": 1,
    "for (size_t i = n; i > 0; --i) { double x = 0.5 * i; a[i] = x * b[i - 1]; }": 1,
    "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\n    a[i * n + j] = i + j;": 1,
    "for (int i = 0; i < n; i++) { double *row = a + i * n; row[3] = sin(i); }": 1,
    "for (int t = 0; t < 9; t++)\n  for (int i = 0; i < n; i++)\n    a[i] += 1;": 2,
    "for (int i = 0; i < n; i++) { double x = 0.5 * i; a[i] = f(x); }": 1,
    "for (int i = 0; i < n; i++) { int k = (int)(2 * i + 1); a[k] = key[i]; }": 1,
    "for (int i = 0; i < n; i++) { double *row = rows[i]; row[0] = key[i]; }": 1,
    "for (int i = 0; i < n; i++)\n for (int k = start[i]; k < start[i + 1]; k++)\n  a[k] = i;": 1,
    "for (int i = 0; i < n; i++) { int k = key[i]; a[k][i] = 1; at(table, i, k) = 1; }": 1,
    "for (int i = 0; i < n; i++) *(a + 2 * i) = b[i];": 1,
    "for (int i = 0; i < n; i++) { x(i) = 1; y(i, 0) = x(i); }": 1,
    "for (int i = 0; i < n; i++) { switch (b[i]) { case 1: break; } a[i] = 1; }": 1,
    "for (int i = 0; i < n; i++) { int own[2]; own[0] = b[i]; a[i] = own[0]; }": 1,
    "for (int i = 0; i < n; i++) { int own[2]; own[1] = b[0]; a[i] = own[0] + own[1]; }": 1,
    "for (int i = 0; i < n; i++) { a[i][0] = 1; a[i][1] = b[i][1] + a[i][0]; }": 1,
    "for (int i = 0; i < n; i += 2) { a[i] = f(i); a[i + 1] = g(i, n); }": 1,
    "int k = 0; for (int i = 0; i < n; i++) a[i] = k; k = 1;": 1,
    "for (int i = 0; i < n; i++) { fill(&a[i], i); b[i] = f(*p, i); }": 1,
    "for (i = 0; i < n; i = i + 1) { grid[i].pressure = 1.0; grid[i].mass = mass(i); }": 1,
    "for (int i = 0; i < n; i++) { for (int k = 0; k < 3; k++) if (k > 1) break; a[i] = 1; }": 1,
}
DEPENDENT = {
    "for (int i = 1; i < n; i++) a[i] = a[i - 1] + b[i];": "reads `a[i - 1]`, which another",
    "for (int i = 0; i < n; i++) { s += b[i]; a[i] = s; }": "carries `s` from one iteration",
    "for (int i = 0; i < n; i++) { state = state * 5 + 1; a[i] = state; }": "carries `state`",
    "for (int i = 0; i < n; i++) a[i] = rand() % 7;": "takes random numbers in a fixed order",
    "for (int i = 0; i < n; i++) a[i] = next_value();": "may keep a value from one iteration",
    "for (int i = 0; i < n; i++) a[i] = draw(&state, i);": "may keep a value from one iteration",
    'for (int i = 0; i < n; i++) fscanf(file, "%d", &a[i]);': "reads or writes a file (`fscanf`)",
    "for (int i = 0; i < n; i++) a[i] = a[0] + b[i];": "reads `a[0]`, which another iteration",
    "for (int i = 0; i < n; i++) { int k = n / 2; a[i] = a[k]; }": "reads `a[k]`, which another",
    "for (int i = 0; i < n; i++) count[key[i]]++;": "which two iterations may write",
    "for (int i = 0; i < n; i++) { int k = key[i]; count[k]++; }": "which two iterations may write",
    "for (int i = 0; i < n; i++) { int k = hash(i), m = k + 1; count[m]++; }": "which two iterat",
    "for (int i = 0; i < n; i++) { int k = *(p + i); count[2 * k] = i; }": "which two iterations",
    "for (int i = 0; i < n; i++) { int k = 7 * i % m; count[k]++; }": "which two iterations may",
    "for (int i = 0; i < n; i++) count[i & 63]++;": "which two iterations may write",
    "for (int i = 0; i < n; i++) { int r = region(i); size(r)++; }": "`size(r)`, which two iterat",
    "for (int i = 0; i < n; i++) at(table, key[i]) = 1;": "which two iterations may write",
    "for (int i = 0; i < n; i++) { int k = key[i]; *(a + k) = 1; }": "which two iterations may",
    "for (int i = 0; i < n; i++) { if (b[i] < 0) goto out; a[i] = 1; out:; }": "early (goto)",
    "for (int i = 0; i < n; i++) a[i] = random_r(&state, i);": "takes random numbers",
    "for (int i = 0; i < n; i++) { int k = key[i]; a[k][i] = a[i][k]; }": "reads `a[i][k]`",
    "for (int i = 0; i < n; i++) (s) += b[i];": "carries `s`",
    "for (int i = 0; i < n; i++) (s /* all */) += b[i];": "carries `s`",
    "for (int i = 0; i < n; i++) a[f(i)] = 1;": "which two iterations may write",
    "for (i[0] = 0; i[0] < n; i[0]++) a[0] = 1;": "has no counter",
    "for (int i = 1; i < n; i *= 2) a[i] = 1;": "has no counter",
    "for (int i = 0; i < n; i++) { if (b[i] < 0) break; a[i] = 1; }": "can end early (break)",
    "for (int i = 0; i < n; i++) { if (b[i] < 0) return; a[i] = 1; }": "can end early (return)",
    "for (int i = 0; i < n; i++) *p++ = i;": "carries `p` from one iteration",
    "for (int i = 0; i < n; i++) total->sum = i;": "writes `total->sum` in every iteration",
    "for (node = head; node; node = node->next) a[node->id] = 0;": "has no counter",
    "while (i < n) a[i++] = 0;": "has no counter",
}
CPP = {
    "for (int i = 0; i < n; ++i) v.push_back(i);": "changes the size of a container (`push_back`)",
    "for (int i = 0; i < n; ++i) { std::cin >> v[i]; }": "reads or writes a stream",
    "for (int i = 0; i < n; ++i) v[i] = distribution(engine);": "may keep a value from one",
    "for (auto& x : v) x = engine();": "may keep a value from one iteration",
    "for (auto& x : v) x = 0;": "",
    "for (int i = 0; i < n; ++i) { auto& cell = cells[i]; cell.mass = 1.0; }": "",
}
FORTRAN = {
    "do i = 1, n\n a(i) = i * 0.5\nend do": "",
    "do j = 1, n\n do i = 1, n\n  w%v(i, j) = 0.0\n end do\nend do": "",
    "do concurrent (i = 1:n)\n a(i) = 0\nend do": "",
    "do i = 2, n\n a(i) = A(i - 1) + 1\nend do": "reads `A(i - 1)`, which another",
    "do i = 1, n\n s = s + b(i)\n a(i) = s\nend do": "carries `s` from one iteration",
    "do i = 1, n\n call random_number(a(i))\nend do": "takes random numbers",
    "do i = 1, n\n read (10, *) a(i)\nend do": "reads or writes a file",
    "do i = 1, n\n if (b(i) < 0) exit\n a(i) = 1\nend do": "can end early (exit)",
    "do i = 1, n\n count(key(i)) = count(key(i)) + 1\nend do": "which two iterations may write",
    "do i = 1, n\n if (b(i) < 0) return\n a(i) = 1\nend do": "can end early (return)",
    "do i = 1, n\n if (b(i) < 0) stop 'x'\n a(i) = 1\nend do": "can end early (stop)",
    "do i = 1, n\n if (b(i) < 0) cycle\n a(i) = 1\nend do": "",
    "do i = 1, n\n print *, a(i)\nend do": "reads or writes a file",
    "do i = 1, n\n call next(a(i))\nend do": "",
    "do i = 1, n\n call next(x)\n a(i) = x\nend do": "may keep a value from one iteration",
    "do i = 1, n\n a(1) = i\nend do": "writes `a(1)` in every iteration",
    "do i = 1, n\n a(i) = b(i - 1)\nend do": "",
    "do while (i < n)\n a(i) = 0\nend do": "has no counter",
}


def judged(tmp_path: Path, name: str, before: str, code: str, after: str) -> ParallelLoop:
    """The judgement about the last line of the code that is not the end of a block."""
    path = tmp_path / name
    path.write_text(f"{before}\n{code}\n{after}\n")
    source = read_source(str(path))
    assert source is not None
    lines = [line.strip() for line in code.splitlines()]
    deepest = max(at for at, line in enumerate(lines, 1) if not line.startswith("end do"))
    found = parallel_loop(source, 1 + deepest)
    assert found is not None
    return found


@pytest.mark.parametrize("code", INDEPENDENT)
def test_the_outermost_independent_loop_is_found(tmp_path: Path, code: str) -> None:
    found = judged(tmp_path, "a.c", "void f(void) {", code, "}")
    assert (found.line, found.reason) == (1 + INDEPENDENT[code], "")
    assert found.line in found.around


@pytest.mark.parametrize("code", DEPENDENT)
def test_a_dependent_loop_is_refused_with_its_reason(tmp_path: Path, code: str) -> None:
    found = judged(tmp_path, "a.c", "void f(void) {", code, "}")
    assert found.line == 0
    assert DEPENDENT[code] in found.reason


@pytest.mark.parametrize("code", CPP)
def test_containers_and_streams_of_cpp(tmp_path: Path, code: str) -> None:
    found = judged(tmp_path, "a.cpp", "void f() {", code, "}")
    assert bool(found.line) == (not CPP[code])
    assert CPP[code] in found.reason


@pytest.mark.parametrize("code", FORTRAN)
def test_loops_of_fortran(tmp_path: Path, code: str) -> None:
    found = judged(tmp_path, "a.f90", "subroutine f", code, "end subroutine")
    assert found.reason.startswith(FORTRAN[code]) or FORTRAN[code] in found.reason
    assert found.line == (0 if FORTRAN[code] else 2)


def test_no_loop_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text("void f(void) {\n  memset(a, 0, n);\n}\n")
    source = read_source(str(path))
    assert source is not None
    assert parallel_loop(source, 2) is None


@pytest.mark.parametrize(
    ("code", "line", "private"),
    [
        ("for (i = 0; i < n; i++)\n for (j = 0; j < n; j++)\n  a[i][j] = 1;", 2, ("j",)),
        ("for (i = 0; i < n; i++)\n for (int j = 0; j < n; j++)\n  a[i][j] = 1;", 2, ()),
        (
            "for (i = 0; i < n; i++)\n for (j = 0; j < n; j++)\n  for (k = 0; k < n; k++)\n"
            "   u[0][i][j][k] = 1.0;",
            2,
            ("j", "k"),
        ),
        ("for (i = 0; i < n; i++) { int j; for (j = 0; j < n; j++) a[i][j] = 1; }", 2, ()),
        ("for (i = 0; i < n; i++)\n for (; j < n; j++)\n  a[i][j] = 1;", 0, ()),
    ],
)
def test_counters_of_inner_loops_can_be_private(
    tmp_path: Path, code: str, line: int, private: tuple[str, ...]
) -> None:
    path = tmp_path / "a.c"
    path.write_text(f"void f(void) {{\n{code}\n}}\n")
    source = read_source(str(path))
    assert source is not None
    found = parallel_loop(source, 2 + code.count("\n"))
    assert found is not None
    assert (found.line, found.private) == (line, private)
