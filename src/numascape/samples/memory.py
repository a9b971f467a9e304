# SPDX-License-Identifier: Apache-2.0
"""A process image's memory while it ran: which mapping, or variable, an address was in."""

from __future__ import annotations

import bisect
import struct
from dataclasses import dataclass, field
from pathlib import Path

from numascape._native.symbols import Global, Symbols
from numascape._native.symbols import Module as NativeModule
from numascape.samples.events import Mapping

_PT_LOAD = 1
_ET_EXEC = 2


class Memory:
    """Mappings by address; a later one replaces what it covers of earlier ones."""

    def __init__(self, mappings: list[Mapping] | None = None) -> None:
        self._starts: list[int] = []
        self._found: list[tuple[int, Mapping]] = []  # end of what is left, and the mapping
        for mapping in mappings or []:
            self.add(mapping)

    def add(self, mapping: Mapping) -> None:
        """Map memory."""
        if mapping.end <= mapping.start:
            return
        first = bisect.bisect_right(self._starts, mapping.start)
        if first > 0 and self._found[first - 1][0] > mapping.start:
            end, before = self._found[first - 1]
            self._found[first - 1] = (mapping.start, before)
            if end > mapping.end:
                self._insert(first, mapping.end, (end, before))
        while first < len(self._starts) and self._starts[first] < mapping.end:
            end, covered = self._found[first]
            del self._starts[first], self._found[first]
            if end > mapping.end:
                self._insert(first, mapping.end, (end, covered))
        at = bisect.bisect_left(self._starts, mapping.start)
        if at < len(self._starts) and self._starts[at] == mapping.start:  # nothing was left of it
            self._found[at] = (mapping.end, mapping)
        else:
            self._insert(at, mapping.start, (mapping.end, mapping))

    def _insert(self, at: int, start: int, found: tuple[int, Mapping]) -> None:
        self._starts.insert(at, start)
        self._found.insert(at, found)

    def at(self, address: int) -> Mapping | None:
        """The mapping that holds the address now."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._found[index][0]:
            return None
        return self._found[index][1]

    def copy(self) -> Memory:
        """The same, for a forked process."""
        other = Memory()
        other._starts, other._found = list(self._starts), list(self._found)
        return other


@dataclass(frozen=True)
class Module:
    """An ELF file in memory; `end` includes what it has no file content for."""

    path: str
    start: int
    end: int
    load_bias: int


@dataclass
class Modules:
    """The files that an image mapped from their beginning, with the variables in them."""

    modules: dict[str, Module] = field(default_factory=dict)

    def add(self, mapping: Mapping) -> None:
        """Note a mapping of a file's beginning."""
        if mapping.offset == 0 and mapping.path.startswith("/") and mapping.path[1:2] != "/":
            extent = _extent(Path(mapping.path))
            if extent is not None:
                fixed, low, high = extent
                bias = 0 if fixed else mapping.start - low
                end = max(mapping.end, high + bias)
                self.modules[mapping.path] = Module(mapping.path, mapping.start, end, bias)

    def symbols(self) -> Symbols:
        """Functions and variables, as far as the files are still there."""
        return Symbols(
            [NativeModule(m.path, m.start, m.end, m.load_bias) for m in self.modules.values()]
        )


def _extent(path: Path) -> tuple[bool, int, int] | None:
    """Of a 64-bit ELF file: whether its addresses are fixed, the lowest page, and the end."""
    try:
        with path.open("rb") as file:
            header = file.read(64)
            if header[:6] != b"\x7fELF\x02\x01":
                return None
            (kind,) = struct.unpack_from("<H", header, 16)
            (offset,) = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            file.seek(offset)
            table = file.read(size * count)
        spans = []
        for index in range(count):
            entry = struct.unpack_from("<IIQQQQQQ", table, index * size)
            if entry[0] == _PT_LOAD:
                spans.append((entry[3] & ~0xFFF, entry[3] + entry[6]))
    except (OSError, struct.error):
        return None
    if not spans:
        return None
    return kind == _ET_EXEC, min(low for low, _ in spans), max(high for _, high in spans)


class Variables:
    """Variables by address."""

    def __init__(self, variables: list[Global]) -> None:
        self._sorted = sorted(variables, key=lambda v: (v.address, v.size))
        self._starts = [v.address for v in self._sorted]

    def at(self, address: int) -> Global | None:
        """The variable that holds the address."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        found = self._sorted[index]
        return found if address < found.address + found.size else None
