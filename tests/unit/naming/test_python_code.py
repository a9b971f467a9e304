# SPDX-License-Identifier: Apache-2.0
"""The places of instructions agree with those that CPython gives for its code objects."""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Iterator

import pytest

from numascape.naming.python_code import PythonCode, python_frame, python_stacks

SOURCE = """
def outer(n):
    values = [
        i * 2
        for i in range(n)
    ]

    def inner(x, *, y=1):
        try:
            return (values[x]
                    + y)
        except IndexError as error:
            raise ValueError("no") from error
    with open("f") as f:
        return inner(n, y=2), f"{n:>{n}}", lambda: (yield)


class Grid:
    cells: int = 0

    def __init__(self):
        self.cells = sum(
            x for x in (1, 2, 3) if
            x > 1
        )
"""


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def of(code: types.CodeType) -> PythonCode:
    return PythonCode(
        sys.version_info[0] << 8 | sys.version_info[1],
        code.co_firstlineno,
        (code.co_filename.encode("latin-1"), 1),
        (code.co_name.encode("utf-16-le"), 2),
        code.co_linetable,
    )


@pytest.mark.skipif(sys.version_info < (3, 11), reason="has no columns")
def test_each_instruction_has_the_place_that_cpython_gives():
    seen = 0
    for code in codes(compile(SOURCE, "/a/file.py", "exec")):
        for index, (line, end, column, end_column) in enumerate(code.co_positions()):
            frame = python_frame(of(code), 2 * index)
            assert (frame.function, frame.file) == (code.co_name, "/a/file.py")
            assert frame.line == (line or 0)
            if column is not None:
                assert (frame.column, frame.end_line, frame.end_column) == (column, end, end_column)
                seen += 1
    assert seen > 150


def test_each_instruction_has_the_line_that_cpython_gives():
    for code in codes(compile(SOURCE, "/a/file.py", "exec")):
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                assert python_frame(of(code), offset).line == (line or 0)


def test_tables_of_python_310():
    # PEP 626: bytes of instructions, and the difference of the line; -128 is no line.
    table = bytes([4, 1, 6, 0x80, 2, 0xFF])
    code = PythonCode(0x30A, 10, (b"/f.py", 1), (b"f", 1), table)
    lines = [python_frame(code, offset).line for offset in (0, 2, 4, 8, 10)]
    assert lines == [11, 11, 0, 0, 10]
    assert python_frame(code, 100).line == 10


def test_damaged_tables_give_some_place():
    chance = random.Random(1)
    for _ in range(2000):
        table = chance.randbytes(chance.randrange(12))
        for version in (0x30A, 0x30B):
            code = PythonCode(version, chance.randrange(100), (b"\xff", 4), (b"x", 7), table)
            frame = python_frame(code, chance.randrange(64))
            assert frame.line >= 0


def test_functions_that_were_not_recorded_are_left_out():
    code = PythonCode(0x30B, 3, (b"/f.py", 1), (b"f", 1), b"")
    stacks = python_stacks({7: [(1, 0), (2, 0)]}, {1: code})
    assert [frame.function for frame in stacks[7]] == ["f"]
