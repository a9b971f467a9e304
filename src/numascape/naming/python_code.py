# SPDX-License-Identifier: Apache-2.0
"""Reads what the recorder copied of CPython's code objects: which line an instruction belongs to.

The tables of source places are those of PEP 626 (CPython 3.10) and, from 3.11, those that CPython
describes in Objects/locations.md. They come from a shard, so they may be damaged.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from numascape.naming.python_statements import PythonFrame

_WITH_COLUMNS = 0x30B
_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
_UNIT = 2  # bytes of an instruction
_NO_LINE = -128


class _Place(NamedTuple):
    line: int
    column: int = -1  # in bytes, from 0; -1: unknown
    end_line: int = 0
    end_column: int = -1


@dataclass(frozen=True)
class PythonCode:
    """A code object of CPython; `version` is 0x30b for 3.11.

    `file` and `name` are pairs (characters, bytes of each). `lines` is the table of source places.
    """

    version: int
    first_line: int
    file: tuple[bytes, int]
    name: tuple[bytes, int]
    lines: bytes


def python_stacks(
    stacks: Mapping[int, Sequence[tuple[int, int]]], codes: Mapping[int, PythonCode]
) -> dict[int, tuple[PythonFrame, ...]]:
    """By call stack: its Python functions, innermost first.

    `stacks` has pairs (code object, offset of the instruction in bytes).
    """
    frames: dict[tuple[int, int], PythonFrame] = {}

    def frame(code: int, offset: int) -> PythonFrame:
        if (code, offset) not in frames:
            frames[code, offset] = python_frame(codes[code], offset)
        return frames[code, offset]

    return {
        stack: tuple(frame(code, offset) for code, offset in rows if code in codes)
        for stack, rows in stacks.items()
    }


def python_frame(code: PythonCode, offset: int) -> PythonFrame:
    """The function, and the place of its instruction at `offset` bytes."""
    place = _place_at(code, offset)
    return PythonFrame(
        _text(*code.name),
        _text(*code.file),
        max(0, place.line),
        place.column,
        place.end_line,
        place.end_column,
    )


def _text(characters: bytes, width: int) -> str:
    return characters.decode(_ENCODINGS.get(width, "latin-1"), "replace")


def _place_at(code: PythonCode, offset: int) -> _Place:
    ends, places = _places(code)
    number = bisect_right(ends, offset)
    return places[number] if number < len(places) else _Place(code.first_line)


@lru_cache(maxsize=256)
def _places(code: PythonCode) -> tuple[list[int], list[_Place]]:
    """The places of a function in their order, and after how many bytes each of them ends."""
    read = _entries if code.version >= _WITH_COLUMNS else _old_entries
    entries = list(read(code.lines, code.first_line))
    return list(accumulate(length for length, _ in entries)), [place for _, place in entries]


def _old_entries(table: bytes, line: int) -> Iterator[tuple[int, _Place]]:
    """Pairs (bytes of instructions, place)."""
    for at in range(0, len(table) - 1, 2):
        delta = int.from_bytes(table[at + 1 : at + 2], "little", signed=True)
        line += 0 if delta == _NO_LINE else delta
        yield table[at], _Place(0 if delta == _NO_LINE else line)


def _entries(table: bytes, line: int) -> Iterator[tuple[int, _Place]]:
    """Pairs (bytes of instructions, place)."""
    reader = iter(table)
    for head in reader:
        kind, length = head >> 3 & 15, ((head & 7) + 1) * _UNIT
        try:
            line, place = _place(kind, line, reader)
        except StopIteration:
            return
        yield length, place


def _place(kind: int, line: int, reader: Iterator[int]) -> tuple[int, _Place]:
    if kind == 15:
        return line, _Place(0)
    if kind == 14:
        line += _signed(reader)
        end_line = line + _number(reader)
        column, end_column = _number(reader) - 1, _number(reader) - 1
        return line, _Place(line, column, end_line, end_column)
    if kind == 13:
        line += _signed(reader)
        return line, _Place(line)
    if kind >= 10:
        line += kind - 10
        column, end_column = next(reader), next(reader)
        return line, _Place(line, column, line, end_column)
    second = next(reader)
    column = kind << 3 | second >> 4
    return line, _Place(line, column, line, column + (second & 15))


def _number(reader: Iterator[int]) -> int:
    value = shift = 0
    while True:
        part = next(reader)
        value |= (part & 63) << shift
        shift += 6
        if not part & 64:
            return value


def _signed(reader: Iterator[int]) -> int:
    value = _number(reader)
    return -(value >> 1) if value & 1 else value >> 1
