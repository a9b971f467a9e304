# SPDX-License-Identifier: Apache-2.0
"""The memory of a process image: finds the mapping or variable of an address."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from pathlib import Path

from numascape._native.symbols import Global, Symbols
from numascape._native.symbols import Module as NativeModule
from numascape.elf_segments import PT_LOAD, read_segments
from numascape.samples.events import RangeMapped
from numascape.trace.format import PAGE_BYTES


class Memory:
    """Mappings by address; a later mapping replaces the parts of earlier ones that it covers."""

    def __init__(self, mappings: list[RangeMapped] | None = None) -> None:
        self._starts: list[int] = []
        self._found: list[tuple[int, RangeMapped]] = []  # end of the remaining part, mapping
        for mapping in mappings or []:
            self.add(mapping)

    def add(self, mapping: RangeMapped) -> None:
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
        if at < len(self._starts) and self._starts[at] == mapping.start:  # nothing of it remains
            self._found[at] = (mapping.end, mapping)
        else:
            self._insert(at, mapping.start, (mapping.end, mapping))

    def _insert(self, at: int, start: int, found: tuple[int, RangeMapped]) -> None:
        self._starts.insert(at, start)
        self._found.insert(at, found)

    def at(self, address: int) -> RangeMapped | None:
        """The mapping that contains the address now."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._found[index][0]:
            return None
        return self._found[index][1]

    def copy(self) -> Memory:
        """A copy for a forked process."""
        other = Memory()
        other._starts, other._found = list(self._starts), list(self._found)
        return other


@dataclass(frozen=True)
class Module:
    """An ELF file in memory; `end` includes memory without file content (.bss)."""

    path: str
    start: int
    end: int
    load_bias: int


@dataclass
class Modules:
    """The ELF files whose first page an image mapped, with their variables."""

    modules: dict[str, Module] = field(default_factory=dict)

    def add(self, mapping: RangeMapped) -> None:
        """Note a mapping of a file's beginning."""
        if mapping.offset == 0 and mapping.path.startswith("/") and mapping.path[1:2] != "/":
            extent = _extent(Path(mapping.path))
            if extent is not None:
                fixed, low, high = extent
                bias = 0 if fixed else mapping.start - low
                end = max(mapping.end, high + bias)
                # Otherwise the file has changed since it was mapped.
                if bias >= 0 and end < 1 << 64:
                    self.modules[mapping.path] = Module(mapping.path, mapping.start, end, bias)

    def symbols(self) -> Symbols:
        """The functions and variables of the files that still exist."""
        return Symbols(
            [NativeModule(m.path, m.start, m.end, m.load_bias) for m in self.modules.values()]
        )


def _extent(path: Path) -> tuple[bool, int, int] | None:
    """For a 64-bit ELF file: whether its addresses are fixed, its lowest page, and its end."""
    try:
        with path.open("rb") as file:
            found = read_segments(file)
    except OSError:
        return None
    loaded = [segment for segment in found.segments if segment.kind == PT_LOAD] if found else []
    if found is None or not loaded:
        return None
    low = min(segment.address & -PAGE_BYTES for segment in loaded)
    high = max(segment.address + segment.memory_bytes for segment in loaded)
    # With larger addresses than any processor has, the file is damaged.
    return (found.fixed, low, high) if high < 1 << 56 else None


class Variables:
    """Variables by address."""

    def __init__(self, variables: list[Global]) -> None:
        self._sorted = sorted(variables, key=lambda v: (v.address, v.size))
        self._starts = [v.address for v in self._sorted]

    def at(self, address: int) -> Global | None:
        """The variable that contains the address."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        found = self._sorted[index]
        return found if address < found.address + found.size else None
