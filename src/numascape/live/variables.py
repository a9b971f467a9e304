# SPDX-License-Identifier: Apache-2.0
"""The variables of a process' executable and libraries, by their symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numascape._native.symbols import Global, Module, Symbols
from numascape.elf_segments import PT_LOAD, Segments, read_segments
from numascape.live.mappings import Mapping, readable_path
from numascape.live.targets import TargetProcess
from numascape.trace.format import PAGE_BYTES

# Modules with fewer bytes of writable data are not read: debug information may be large.
_SMALLEST_DATA: Final = 16 * PAGE_BYTES
# Larger modules with little data are not read either.
_LARGEST_FILE: Final = 64 << 20
# Libraries here have no debug information with them.
_OF_THE_SYSTEM: Final = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
# User addresses are below it.
_LARGEST: Final = 1 << 57


@dataclass(frozen=True)
class Variable:
    """A variable: its addresses, and where it is declared (0, "": unknown)."""

    start: int
    end: int
    name: str
    module: str
    file: str
    line: int


@dataclass(frozen=True)
class Zeroed:
    """The addresses of the zeroed data (.bss) of a module that are not in the file's mappings."""

    start: int
    end: int
    path: str


@dataclass(frozen=True)
class ModuleData:
    """Variables of at least a page, and zeroed data; ascending, each without overlap.

    `pointers` are variables of any size whose first word is the address of their data.
    """

    variables: tuple[Variable, ...] = ()
    zeroed: tuple[Zeroed, ...] = ()
    pointers: tuple[Variable, ...] = ()


def read_module_data(target: TargetProcess, mappings: Sequence[Mapping]) -> ModuleData:
    """The data of all modules that have writable data."""
    modules: list[Module] = []
    paths: dict[str, str] = {}
    zeroed: list[Zeroed] = []
    for path, mapping in _first_parts(mappings).items():
        file = readable_path(target, mapping)
        segments = None if file is None else _segments(file)
        if file is None or segments is None:
            continue
        loaded = [segment for segment in segments.segments if segment.kind == PT_LOAD]
        if not loaded:
            continue
        lowest = min(segment.address for segment in loaded) // PAGE_BYTES * PAGE_BYTES
        bias = 0 if segments.fixed else mapping.start - lowest
        end = max(segment.address + segment.memory_bytes for segment in loaded) + bias
        if not 0 <= bias < end <= _LARGEST:
            continue
        own = [item for item in mappings if item.path == path]
        mapped_end = max(item.end for item in own)
        end_of_pages = -(-end // PAGE_BYTES) * PAGE_BYTES
        if mapped_end < end_of_pages:
            zeroed.append(Zeroed(mapped_end, end_of_pages, path))
        data = sum(item.end - item.start for item in own if "w" in item.permissions)
        if max(data, end_of_pages - mapped_end) >= _SMALLEST_DATA or _may_have_pointers(file, path):
            modules.append(Module(str(file), mapping.start, end, bias))
            paths[str(file)] = path
    every = [item for item in Symbols(modules).globals() if item.module in paths] if modules else []
    return ModuleData(
        tuple(_variable(item, paths) for item in every if item.size >= PAGE_BYTES),
        tuple(sorted(zeroed, key=lambda item: item.start)),
        tuple(_variable(item, paths) for item in every if item.points_to_data and item.line),
    )


def _may_have_pointers(file: Path, path: str) -> bool:
    """Whether it may have debug information about pointers, and can be read quickly."""
    try:
        is_small = file.stat().st_size <= _LARGEST_FILE
    except OSError:
        return False
    return is_small and not path.startswith(_OF_THE_SYSTEM)


def _variable(item: Global, paths: dict[str, str]) -> Variable:
    end = item.address + item.size
    return Variable(item.address, end, item.name, paths[item.module], item.file, item.line)


def _first_parts(mappings: Sequence[Mapping]) -> dict[str, Mapping]:
    """By path, the mapping of the beginning of each ELF file."""
    writable = {item.path for item in mappings if item.is_file and "w" in item.permissions}
    return {
        item.path: item
        for item in reversed(mappings)
        if item.is_file and item.offset == 0 and item.path in writable and not item.is_shared
    }


def _segments(path: Path) -> Segments | None:
    try:
        with path.open("rb") as file:
            return read_segments(file)
    except OSError:
        return None
