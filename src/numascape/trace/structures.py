# SPDX-License-Identifier: Apache-2.0
"""From owners (what the recorder followed) to structures (what a programmer calls them)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from numascape._native.symbols import Frame, Symbols
from numascape._native.symbols import Module as NativeModule
from numascape.naming.allocations import AllocationName, name_allocations
from numascape.naming.frames import is_library
from numascape.trace import module_pages
from numascape.trace.module_pages import Variable, module_name, variables_on_pages
from numascape.trace.shards import (
    BLOCK,
    MAP_BY_ALLOCATOR,
    MAP_HEAP,
    MAPPING,
    MODULE,
    SMALL,
    STACK,
    Shard,
)

PAGE = module_pages.PAGE
_NO_NAME = AllocationName("", "", "", 0)


@dataclass(frozen=True)
class Structure:
    """What makes one structure of a process: everything with the same values is the same one."""

    process: int
    name: str
    kind: str
    module: str = ""
    function: str = ""
    file: str = ""
    line: int = 0
    named: bool = True
    call_stack: tuple[str, ...] = field(default=(), compare=False)


@dataclass
class StructureTable:
    """Structures numbered as they are met, over all processes."""

    structures: list[Structure] = field(default_factory=list)
    _numbers: dict[Structure, int] = field(default_factory=dict)

    def number(self, structure: Structure) -> int:
        """The structure's number; the first call stack met is kept."""
        known = self._numbers.setdefault(structure, len(self.structures))
        if known == len(self.structures):
            self.structures.append(structure)
        return known


class ProcessNames:
    """Names everything in one shard. Opens the modules' files; unreadable ones leave hex names."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._symbols = Symbols(
            [NativeModule(m.path, m.start, m.end, m.load_bias) for m in shard.modules]
        )
        self._allocations: dict[int, tuple[AllocationName, tuple[str, ...], str]] = {}

    def allocations(self) -> dict[int, tuple[AllocationName, tuple[str, ...], str]]:
        """By call stack: the allocation's name, the stack in words, the module of the name."""
        if not self._allocations:
            stacks = {
                identifier: self._frames(registers, stack)
                for identifier, (registers, stack) in self._shard.call_stacks.items()
            }
            names = name_allocations(list(stacks.values()))
            for (identifier, frames), name in zip(stacks.items(), names, strict=True):
                module = next((f.module for f in frames if f.function == name.function), "")
                words = tuple(_words(frame) for frame in frames)
                self._allocations[identifier] = (name, words, module_name(module))
        return self._allocations

    def _frames(self, registers: Sequence[int], stack: bytes) -> list[Frame]:
        """The allocation function's callers, innermost first."""
        stack_pointer = registers[7]
        addresses = self._symbols.unwind(list(registers), stack_pointer, stack)
        frames: list[Frame] = []
        for address in addresses[1:]:
            frames.extend(self._symbols.frames(address - 1))
        return frames

    def frames(self, address: int) -> list[Frame]:
        """The functions at a code address, innermost first."""
        return self._symbols.frames(address)

    def place(self, address: int) -> tuple[str, str, int]:
        """Function, file and line of a code address: the program's own, not a library's."""
        frames = self.frames(address)
        # Where a library's template was inlined, the program's own line says more.
        frame = next((f for f in frames if f.line and not is_library(f)), frames[0])
        return frame.function, frame.file, frame.line

    def line(self, address: int) -> tuple[str, str, int]:
        """As `place`, but the same for all addresses of which nothing is known."""
        if address in self._shard.places:
            return self._shard.places[address]
        return self.place(address) if self.frames(address)[0].module else ("", "", 0)

    def variables(self) -> tuple[list[Variable], pl.DataFrame]:
        """The modules' variables and their pages; see variables_on_pages."""
        return variables_on_pages(self._shard.modules, self._symbols.globals())


def _words(frame: Frame) -> str:
    if frame.line:
        return f"{frame.function} ({frame.file}:{frame.line})"
    return f"{frame.function} ({module_name(frame.module)})" if frame.module else frame.function


def owner_structures(
    shard: Shard, process: int, first_thread: int, names: ProcessNames, table: StructureTable
) -> pl.DataFrame:
    """The structure and instance of every owner but modules (their pages hold variables).

    Returns (owner, structure, instance, address, size, pages); instances of a structure are
    numbered in the order of their allocation. What lies scattered has no address.
    """
    allocations = names.allocations()
    owners = shard.owners.filter(pl.col("kind") != MODULE)
    by_stack: dict[tuple[int, int], int] = {}  # programs make millions of blocks at few places

    def number(row: dict[str, int]) -> int:
        key = (row["kind"], row["stack_id"])
        if key in by_stack:
            return by_stack[key]
        found = table.number(_structure(row, shard, process, first_thread, allocations))
        if row["kind"] in (BLOCK, SMALL):
            by_stack[key] = found
        return found

    numbers = [number(row) for row in owners.iter_rows(named=True)]
    pages = (pl.col("start") % PAGE + pl.col("bytes") + PAGE - 1) // PAGE
    return owners.select(
        "owner",
        "kind",
        structure=pl.Series(numbers, dtype=pl.UInt32()),
        address=pl.when(pl.col("kind") != SMALL).then("start").cast(pl.UInt64()),
        size=pl.col("bytes"),
        pages=pl.when(pl.col("kind") == SMALL).then(0).otherwise(pages).cast(pl.UInt32()),
    ).with_columns(
        # All small blocks of a site are one instance: they share pages.
        instance=pl.when(pl.col("kind") == SMALL)
        .then(0)
        .otherwise(pl.int_range(pl.len()).over("structure"))
        .cast(pl.UInt32())
    )


def _structure(
    row: dict[str, int],
    shard: Shard,
    process: int,
    first_thread: int,
    allocations: dict[int, tuple[AllocationName, tuple[str, ...], str]],
) -> Structure:
    kind = row["kind"]
    name, call_stack, module = allocations.get(row["stack_id"], (_NO_NAME, (), ""))
    if kind in (BLOCK, SMALL):
        return Structure(
            process,
            name.name or "heap block of unknown origin",
            "heap" if kind == BLOCK else "small",
            module,
            name.function,
            name.file,
            name.line,
            named=bool(name.name),
            call_stack=call_stack,
        )
    if kind == STACK:
        return Structure(
            process,
            f"Stack#{first_thread + shard.ranks.get(row['thread'], row['thread'])}",
            "stack",
        )
    if kind != MAPPING:
        return Structure(process, "memory outside all mappings seen", "mapping", named=False)
    path = shard.paths[row["path"]]
    if row["flags"] & (MAP_HEAP | MAP_BY_ALLOCATOR):
        return Structure(process, "allocator's own memory and free blocks", "heap", named=False)
    if path.startswith("["):
        return Structure(process, path, "mapping")
    if path:
        return Structure(process, module_name(path), "mapping", module=path)
    if name.name:
        return Structure(
            process,
            name.name,
            "mapping",
            module,
            name.function,
            name.file,
            name.line,
            call_stack=call_stack,
        )
    return Structure(process, "anonymous mapping", "mapping", named=False)


def module_structures(
    shard: Shard, process: int, names: ProcessNames, table: StructureTable
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The structures in executables and libraries.

    Returns (owner, page, variable, variable_page, bytes) as variables_on_pages does, and
    (owner, variable, structure, address, size, pages), with a null variable for what no variable
    covers.
    """
    variables, pages = names.variables()
    rows: list[tuple[int, int | None, int, int | None, int, int]] = []
    used = pages.select("owner", "variable").unique(maintain_order=True)
    for owner, variable in used.iter_rows():
        item = variables[variable]
        number = table.number(
            Structure(
                process, item.name, "global", item.module, item.function, item.file, item.line
            )
        )
        extent = (item.address % PAGE + item.size + PAGE - 1) // PAGE
        rows.append((owner, variable, number, item.address or None, item.size, extent))
    for module in shard.modules:
        name = f"{module_name(module.path)} (code and unnamed data)"
        number = table.number(Structure(process, name, "mapping", module=module.path))
        size = module.end - module.start
        rows.append((module.owner, None, number, module.start, size, size // PAGE))
    schema = {
        "owner": pl.UInt32(),
        "variable": pl.UInt32(),
        "structure": pl.UInt32(),
        "address": pl.UInt64(),
        "size": pl.UInt64(),
        "pages": pl.UInt32(),
    }
    return pages, pl.DataFrame(rows, schema=schema, orient="row")
