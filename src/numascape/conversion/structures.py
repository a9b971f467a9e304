# SPDX-License-Identifier: Apache-2.0
"""Turns owners (what the recorder followed) into structures (with the programmer's names)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from numascape._native.symbols import Frame, Symbols
from numascape._native.symbols import Module as NativeModule
from numascape.conversion import module_pages
from numascape.conversion.module_pages import Variable, layers, module_name, variables_on_pages
from numascape.conversion.shard_groups import Member, ShardGroup
from numascape.conversion.shards import (
    BLOCK,
    FRAME_VARIABLE,
    MAP_BY_ALLOCATOR,
    MAP_HEAP,
    MAP_SHARED,
    MAPPING,
    MODULE,
    REGION,
    SCATTERED,
    SMALL,
    SMALL_REGIONS,
    STACK,
    MappedModule,
    Shard,
)
from numascape.naming.allocations import (
    AllocationName,
    AllocationSite,
    allocation_site,
    name_sites,
)
from numascape.naming.frames import is_library, is_library_place, outside_marks
from numascape.naming.python_statements import PythonFrame

PAGE = module_pages.PAGE
# Pages of a mapping with separate counters, as addresses are counted modulo 2^40.
_WINDOW_PAGES = 1 << 28
_NO_NAME = AllocationName("", "", "", 0)


@dataclass(frozen=True)
class Structure:
    """The identity of a structure in a process: owners with the same values are one structure."""

    process: int
    name: str
    kind: str
    module: str = ""
    function: str = ""
    file: str = ""
    line: int = 0
    named: bool = True
    call_stack: tuple[str, ...] = field(default=(), compare=False)
    shared: bool = False
    """Whether it is a file mapped shared: other processes may use the same pages."""


@dataclass
class StructureTable:
    """The structures of all processes, numbered in the order in which they are found."""

    structures: list[Structure] = field(default_factory=list)
    _numbers: dict[Structure, int] = field(default_factory=dict)

    def number(self, structure: Structure) -> int:
        """The structure's number; of its call stacks, the first one is kept."""
        known = self._numbers.setdefault(structure, len(self.structures))
        if known == len(self.structures):
            self.structures.append(structure)
        return known


_CallStack = tuple[AllocationName, tuple[str, ...], str]


@dataclass(frozen=True)
class _Site:
    """What is known of a call stack; `module` is that of the frame that gives the name."""

    allocation: AllocationSite
    words: tuple[str, ...]
    module: str


def _symbols(modules: list[MappedModule], cache: Path | None) -> Symbols:
    """The symbols of the modules; if modules have the same addresses, those of the first."""
    return Symbols(
        [NativeModule(m.path, m.start, m.end, m.load_bias) for m in modules],
        "" if cache is None else str(cache),
    )


class Names:
    """Finds names in processes with the same modules, in the same order.

    Opens the modules' files; if one is unreadable, its names are hexadecimal addresses.
    """

    def __init__(self, shards: Sequence[Shard], cache: Path | None = None) -> None:
        self._modules = shards[0].modules
        self._symbols = _symbols(self._modules, cache)
        self._cache = cache
        self._places = {pc: place for shard in shards for pc, place in shard.places.items()}
        # Forked processes have their parents' call stacks.
        self._unwound: dict[tuple[tuple[int, ...], bytes], tuple[int, ...]] = {}
        self._sites: dict[tuple[tuple[int, ...], tuple[PythonFrame, ...]], _Site] = {}
        # By return address; most call stacks have their outer callers in common.
        self._callers: dict[int, tuple[list[Frame], tuple[str, ...]]] = {}

    def allocations(self, shard: Shard) -> dict[int, _CallStack]:
        """By call stack: the allocation's name, the stack as text, and the module of the name."""
        sites = {
            identifier: self._site(
                tuple(addresses) or self._unwind(registers, copy),
                shard.python_stacks.get(identifier, ()),
            )
            for identifier, (addresses, registers, copy) in shard.call_stacks.items()
        }
        names = name_sites([site.allocation for site in sites.values()])
        return {
            identifier: (name, site.words, site.module)
            for (identifier, site), name in zip(sites.items(), names, strict=True)
        }

    def save(self) -> None:
        """Keep what was read from the files in the cache, if there is one."""
        self._symbols.save()

    def _site(self, addresses: tuple[int, ...], python: tuple[PythonFrame, ...]) -> _Site:
        """The site of a call stack: return addresses, and Python functions, innermost first."""
        key = (addresses, python)
        if key not in self._sites:
            callers = [self._caller(address) for address in addresses]
            frames = [frame for own, _ in callers for frame in own]
            found = allocation_site(frames, python)
            function = found.name.function
            of = (f.module for f in frames if f.function == function) if function else ()
            module = next(iter(of), "")
            words = (
                *(f"{frame.function} ({frame.file}:{frame.line})" for frame in python),
                *(word for _, own in callers for word in own),
            )
            self._sites[key] = _Site(found, words, module_name(module))
        return self._sites[key]

    def _caller(self, address: int) -> tuple[list[Frame], tuple[str, ...]]:
        """The functions that return to `address`, with what was inlined there; and as text."""
        if address not in self._callers:
            frames = self._symbols.frames(address - 1)
            self._callers[address] = frames, tuple(_words(frame) for frame in frames)
        return self._callers[address]

    def _unwind(self, registers: Sequence[int], stack: bytes) -> tuple[int, ...]:
        """The return addresses behind the allocation function, innermost first."""
        key = (tuple(registers), stack)
        if key not in self._unwound:
            addresses = self._symbols.unwind(list(registers), registers[7], stack)
            self._unwound[key] = tuple(addresses[1:])
        return self._unwound[key]

    def frames(self, address: int) -> list[Frame]:
        """The functions at a code address, innermost first."""
        return self._symbols.frames(address)

    def place(self, address: int) -> tuple[str, str, int]:
        """Function, file and line of a code address; the innermost that is not a library's."""
        frames = self.frames(address)
        # If a library's template was inlined, the program's own line is more useful.
        frame = next((f for f in frames if f.line and not is_library(f)), frames[0])
        return frame.function, frame.file, frame.line

    def mark(self, address: int) -> Frame:
        """The function in which the program marks a phase or a region of memory."""
        return outside_marks(self.frames(address))[0]

    def lines(self, addresses: pl.Series) -> tuple[pl.Series, pl.DataFrame]:
        """Number the places of the addresses; and the function, file and line of each number.

        Like `place`, but all unknown addresses are alike.
        """
        found = self._symbols.places(pl.DataFrame({"pc": addresses}), is_library_place)
        texts = pl.Series(found["texts"], dtype=pl.String())
        places = pl.DataFrame(found["places"])
        places = places.with_columns(
            texts.gather(places[name]).alias(name) for name in ("function", "file")
        )
        numbers = pl.DataFrame(found["numbers"])["place"]
        return self._as_compiled(addresses, numbers, places) if self._places else (numbers, places)

    def _as_compiled(
        self, addresses: pl.Series, numbers: pl.Series, places: pl.DataFrame
    ) -> tuple[pl.Series, pl.DataFrame]:
        """Replace the places of the addresses about which the compiler wrote a note."""
        noted = pl.DataFrame(list(self._places.values()), schema=places.schema, orient="row")
        further = pl.DataFrame(
            {"pc": list(self._places), "number": range(len(places), len(places) + len(noted))},
            schema={"pc": pl.UInt64(), "number": pl.UInt32()},
        )
        rows = pl.DataFrame({"pc": addresses, "place": numbers}).join(
            further, on="pc", how="left", maintain_order="left"
        )
        return rows.select(pl.coalesce("number", "place")).to_series(), pl.concat([places, noted])

    @cached_property
    def variables(self) -> tuple[list[Variable], pl.DataFrame]:
        """The variables of the modules and their pages; see variables_on_pages."""
        later = [_symbols(layer, self._cache) for layer in layers(self._modules)[1:]]
        items = [item for symbols in (self._symbols, *later) for item in symbols.globals()]
        return variables_on_pages(self._modules, items)


def _words(frame: Frame) -> str:
    if frame.line:
        return f"{frame.function} ({frame.file}:{frame.line})"
    return f"{frame.function} ({module_name(frame.module)})" if frame.module else frame.function


def owner_structures(group: ShardGroup, names: Names, table: StructureTable) -> pl.DataFrame:
    """The structure and instance of every owner except modules, whose pages hold variables.

    Returns (owner, structure, instance, address, size, pages, object, object_page); the last two
    are those of the trace's instances. Instances of a structure are
    numbered in order of allocation. Scattered blocks have no address.
    """
    owners = group.owners.filter(pl.col("kind") != MODULE)
    allocations = [names.allocations(member.shard) for member in group.members]
    by_stack: dict[tuple[int, int, int], int] = {}  # programs allocate many blocks at few places

    def number(index: int, row: dict[str, int]) -> int:
        key = (index, row["kind"], row["stack_id"])
        if key in by_stack:
            return by_stack[key]
        member = group.members[index]
        if row["kind"] == FRAME_VARIABLE:
            found = table.number(_local(row, member))
        elif row["kind"] in (REGION, SMALL_REGIONS):
            found = table.number(_region(row, member, names))
        else:
            found = table.number(_structure(row, member, allocations[index]))
        if row["kind"] in (BLOCK, SMALL, REGION, SMALL_REGIONS, FRAME_VARIABLE):
            by_stack[key] = found
        return found

    rows = owners.iter_rows(named=True)
    members = group.member_of(owners).to_list()
    numbers = [number(index, row) for index, row in zip(members, rows, strict=True)]
    pages = (pl.col("start") % PAGE + pl.col("bytes") + PAGE - 1) // PAGE
    scattered = pl.col("kind").is_in(SCATTERED)
    pages = pages.clip(upper_bound=_WINDOW_PAGES)
    objects = [
        group.members[index].shard.paths[row["object"]]
        for index, row in zip(members, owners.iter_rows(named=True), strict=True)
    ]
    return owners.select(
        "owner",
        "kind",
        object=pl.Series(objects, dtype=pl.String()),
        # Both are modulo 2^64; a mapping begins within its object.
        object_page=pl.when(pl.col("object") != 0)
        .then((pl.col("start") - pl.col("object_start")) // PAGE)
        .otherwise(0)
        .cast(pl.UInt64()),
        structure=pl.Series(numbers, dtype=pl.UInt32()),
        address=pl.when(~scattered).then("start").cast(pl.UInt64()),
        size=pl.col("bytes"),
        pages=pl.when(scattered).then(0).otherwise(pages).cast(pl.UInt32()),
    ).with_columns(
        # All small blocks of a site are one instance: they share pages.
        instance=pl.when(scattered)
        .then(0)
        .otherwise(pl.int_range(pl.len()).over("structure"))
        .cast(pl.UInt32())
    )


def _region(row: dict[str, int], member: Member, names: Names) -> Structure:
    """The structure of a part of memory that the program named."""
    name, place = member.shard.region_names[row["stack_id"]]
    kind = "region" if row["kind"] == REGION else "small"
    mark = names.mark(place)
    module = module_name(mark.module)
    if module.startswith("_native."):
        return Structure(member.process, name, kind)  # told by Python
    return Structure(member.process, name, kind, module, mark.function, mark.file, mark.line)


def _local(row: dict[str, int], member: Member) -> Structure:
    """The structure of a variable in the frames of a function."""
    found = member.shard.local_variables[row["stack_id"]]
    return Structure(
        member.process,
        found.name,
        "local",
        module_name(found.module),
        found.function,
        found.file,
        found.line,
        named=found.named,
    )


def _structure(
    row: dict[str, int], member: Member, allocations: dict[int, _CallStack]
) -> Structure:
    kind, shard, process = row["kind"], member.shard, member.process
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
            f"Stack#{member.first_thread + shard.ranks.get(row['thread'], row['thread'])}",
            "stack",
        )
    if kind != MAPPING:
        return Structure(process, "memory outside all mappings seen", "unowned", named=False)
    path = shard.paths[row["path"]]
    if row["flags"] & (MAP_HEAP | MAP_BY_ALLOCATOR):
        return Structure(process, "allocator's own memory and free blocks", "heap", named=False)
    if path.startswith("["):
        return Structure(process, path, "mapping")
    if path:
        shared = bool(row["flags"] & MAP_SHARED)
        return Structure(process, module_name(path), "mapping", module=path, shared=shared)
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
    group: ShardGroup, names: Names, table: StructureTable
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The structures in executables and libraries whose pages were used.

    Returns (owner, page, variable, variable_page, is_large, bytes) like variables_on_pages, and
    (owner, variable, structure, address, size, pages). `variable` is null for memory that no
    variable covers.
    """
    variables, pages = names.variables
    used = pl.concat(
        frame.select("owner", "page")
        for frame in (group.counts, group.touches, group.placement, group.samples)
    ).unique()
    order = ["member", "order", "owner"]
    pages = (
        pages.with_row_index("order")
        .join(used.join(group.module_owners, on="owner"), on=["module", "page"])
        .sort(order)
    )
    rows: list[tuple[int, int | None, int, int | None, int, int]] = []
    found = pages.select("member", "variable", "owner").unique()
    for member, variable, owner in found.sort(found.columns).iter_rows():
        item = variables[variable]
        process = group.members[member].process
        number = table.number(
            Structure(
                process, item.name, "global", item.module, item.function, item.file, item.line
            )
        )
        extent = (item.address % PAGE + item.size + PAGE - 1) // PAGE
        rows.append((owner, variable, number, item.address or None, item.size, extent))
    for owner, index, member in group.module_owners.iter_rows():
        module = group.members[member].shard.modules[index]
        name = f"{module_name(module.path)} (code and unnamed data)"
        process = group.members[member].process
        number = table.number(Structure(process, name, "mapping", module=module.path))
        size = module.end - module.start
        rows.append((owner, None, number, module.start, size, size // PAGE))
    schema = {
        "owner": pl.UInt32(),
        "variable": pl.UInt32(),
        "structure": pl.UInt32(),
        "address": pl.UInt64(),
        "size": pl.UInt64(),
        "pages": pl.UInt32(),
    }
    columns = ["owner", "page", "variable", "variable_page", "is_large", "bytes"]
    return pages.select(columns), pl.DataFrame(rows, schema=schema, orient="row")
