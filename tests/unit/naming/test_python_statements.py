# SPDX-License-Identifier: Apache-2.0
"""The variable to which a Python statement assigns its memory."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from numascape.naming.python_statements import PythonFrame, statement_name

LIBRARY = PythonFrame("linspace", "/usr/lib/python3/dist-packages/numpy/function_base.py", 12)


def frame_at(file: Path, text: str, function: str, source: str) -> PythonFrame:
    """A frame at the only expression with this text."""
    (node,) = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.expr) and ast.get_source_segment(source, node) == text
    )
    end_line, end_column = node.end_lineno or 0, node.end_col_offset or 0
    return PythonFrame(function, str(file), node.lineno, node.col_offset, end_line, end_column)


def name_in(tmp_path: Path, source: str, *at: tuple[str, str]) -> str | None:
    """The name for the frames (text of the expression, function), innermost first."""
    file = tmp_path / "program.py"
    file.write_text(source)
    found = statement_name([LIBRARY, *(frame_at(file, *where, source) for where in at)])
    return None if found is None else found.name


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("x = ALLOC", "x"),
        ("x: int = ALLOC", "x"),
        ("x, y = ALLOC, 1", "x"),
        ("y, x = 1, ALLOC", "x"),
        ("x, y = ALLOC", "x, y"),
        ("grid.cells = ALLOC", "grid.cells"),
        ("grids[3].cells = ALLOC", "grids.cells"),
        ("x[2] = y = ALLOC", "x"),
        ("x = ALLOC if y else None", "x"),
        ("x = [1, ALLOC]", "x"),
        ("x = {i: ALLOC for i in range(3)}", "x"),
        ("x = ALLOC.reshape(2, 3)", "x"),
        ("x = ALLOC[1:].T", "x"),
        ("print(x := ALLOC)", "x"),
        ("parts.append(ALLOC)", "parts"),
        ("parts[0].add(ALLOC)", "parts"),
        ("x = ALLOC + 1", "temporary of x"),
        ("x = -ALLOC", "temporary of x"),
        ("x = ALLOC.astype(int)", "temporary of x"),
        ("x = solve(ALLOC)", "temporary of x"),
        ("x = solve(a=ALLOC)", "temporary of x"),
        ("x += ALLOC", "temporary of x"),
        ("x[ALLOC] = 1", "temporary of x"),
        ("ALLOC", "program.py+1"),
        ("for x in ALLOC: pass", "program.py+1"),
        ("print(ALLOC)", "program.py+1"),
    ],
)
def test_destinations(tmp_path, statement, name):
    source = statement.replace("ALLOC", "zeros(n)")
    assert name_in(tmp_path, source, ("zeros(n)", "<module>")) == name


@pytest.mark.parametrize(
    ("callee", "caller", "name"),
    [
        ("return zeros(n)", "x = f(1)", "x"),
        ("return zeros(n)", "f(1)", "f+2"),
        ("v = zeros(n); return v", "x = f(1)", "x"),
        ("v = zeros(n); return v", "use(f(1))", "v"),
        ("v = zeros(n); return v.reshape(2, -1)", "x = f(1)", "x"),
        ("v = zeros(n); return u, v", "a, b = f(1)", "b"),
        ("return u, zeros(n)", "a, b = f(1)", "b"),
        ("v = zeros(n); return v.sum()", "x = f(1)", "v"),
        ("v = zeros(n) + 1; return v", "x = f(1)", "temporary of v"),
        ("return zeros(n) + 1", "x = f(1)", "temporary of x"),
        ("return [g(zeros(n)) for _ in a]", "x = f(1)", "temporary of x"),
        ("v = zeros(n); g = lambda: v", "x = f(1)", "v"),
    ],
)
def test_values_that_a_function_returns(tmp_path, callee, caller, name):
    source = f"def f(n):\n    {callee}\n{caller}\n"
    assert name_in(tmp_path, source, ("zeros(n)", "f"), ("f(1)", "<module>")) == name


def test_objects(tmp_path):
    source = (
        "class Base:\n    def __init__(self, n):\n        self.cells = zeros(n)\n"
        "class Grid(Base):\n    def __init__(self, n):\n        super().__init__(n)\n"
        "    def step(self):\n        self.flux = empty(n)\n"
        "mesh = Grid(1)\n"
    )
    inner = ("zeros(n)", "Base.__init__")
    outer = ("super().__init__(n)", "Grid.__init__")
    assert name_in(tmp_path, source, inner, outer, ("Grid(1)", "<module>")) == "mesh.cells"
    assert name_in(tmp_path, source, inner) == "self.cells"
    assert name_in(tmp_path, source, ("empty(n)", "Grid.step")) == "self.flux"


@pytest.mark.parametrize("has_own_frame", [True, False])
def test_comprehensions(tmp_path, has_own_frame):
    source = (
        "class Grid:\n    def __init__(self, n):\n"
        "        self.parts = [zeros(n) for _ in range(3)]\nmesh = Grid(1)\n"
    )
    whole = "[zeros(n) for _ in range(3)]"
    own = (("zeros(n)", "Grid.__init__.<locals>.<listcomp>"), (whole, "Grid.__init__"))
    frames = own if has_own_frame else (("zeros(n)", "Grid.__init__"),)
    assert name_in(tmp_path, source, *frames, ("Grid(1)", "<module>")) == "mesh.parts"


def test_a_call_over_several_lines_has_the_place_of_its_method(tmp_path):
    source = "x = (\n    rng\n    .random(n)\n)\n"
    file = tmp_path / "program.py"
    file.write_text(source)
    found = statement_name([PythonFrame("<module>", str(file), 3, 5, 3, 14)])
    assert found is not None
    assert found.name == "x"


def test_without_columns_the_statement_s_value_is_meant(tmp_path):
    file = tmp_path / "program.py"
    file.write_text("if n:\n    x = zeros(\n        n)\n")
    found = statement_name([PythonFrame("<module>", str(file), 3)])
    assert found is not None
    assert (found.name, found.frame.line) == ("x", 3)
    file.write_text("parts.append(f(n))\n")
    found = statement_name([PythonFrame("<module>", str(file), 1)])
    assert found is not None
    assert found.name == "parts"


def test_without_the_source(tmp_path):
    frames = [LIBRARY, PythonFrame("Grid.<locals>.f", "<string>", 3, 0, 3, 5)]
    found = statement_name(frames)
    assert found is not None
    assert found.name == "Grid.f+3"
    broken = tmp_path / "broken.py"
    broken.write_text("x = (\n")
    found = statement_name([PythonFrame("<module>", str(broken), 1, 0, 1, 5)])
    assert found is not None
    assert found.name == "broken.py+1"


def test_libraries_have_no_name(tmp_path):
    assert statement_name([]) is None
    assert statement_name([LIBRARY]) is None
    file = tmp_path / "program.py"
    file.write_text("import numpy\n")
    frozen = PythonFrame("_find_and_load", "<frozen importlib._bootstrap>", 1027)
    assert statement_name([frozen, PythonFrame("<module>", str(file), 1, 0, 1, 12)]) is None


LIBRARY_SOURCE = """\
def empty(n):
    block = ALLOC
    return block

def full(n):
    block = empty(n)
    fill(block)
    return wrap(block, out=block)

def train(n):
    buffer = empty(n)
    use(buffer)
    return 1

def warm_up(n):
    use(empty(n + 1))

def parts(n):
    yield empty(n + 2)
"""


@pytest.mark.parametrize(
    ("inside", "name"),
    [
        ([("ALLOC", "empty")], "x"),
        ([("ALLOC", "empty"), ("empty(n)", "full")], "x"),
        ([("ALLOC", "empty"), ("empty(n)", "train")], "lib.api.call()"),
        ([("ALLOC", "empty"), ("empty(n + 1)", "warm_up")], "lib.api.call()"),
        ([("ALLOC", "empty"), ("empty(n + 2)", "parts")], "x"),
    ],
)
def test_what_a_library_keeps_has_the_name_of_the_call(
    tmp_path: Path, inside: list[tuple[str, str]], name: str
) -> None:
    library = tmp_path / "site-packages" / "lib.py"
    library.parent.mkdir()
    program = tmp_path / "program.py"
    source = "x = lib.api.call(3)\n"
    program.write_text(source)
    frames = []
    for number, (text, function) in enumerate(inside):
        # The expression is in several functions: the other ones get another argument.
        lines = LIBRARY_SOURCE
        if number > 0:
            lines = "\n" * LIBRARY_SOURCE.split(f"def {function}(")[0].count("\n")
            lines += (
                f"def {function}(" + LIBRARY_SOURCE.split(f"def {function}(")[1].split("def ")[0]
            )
        frames.append(frame_at(library, text, function, lines))
    library.write_text(LIBRARY_SOURCE)
    frames.append(frame_at(program, "lib.api.call(3)", "<module>", source))
    found = statement_name(frames)
    assert found is not None
    assert (found.name, found.frame.file, found.frame.line) == (name, str(program), 1)


def test_a_library_that_imports_while_it_is_called(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    source = "x = lib.call(3)\n"
    program.write_text(source)
    importing = PythonFrame("_find_and_load", "<frozen importlib._bootstrap>", 1176)
    frame = frame_at(program, "lib.call(3)", "<module>", source)
    assert statement_name([LIBRARY, importing, LIBRARY, frame]) is None
