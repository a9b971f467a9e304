# SPDX-License-Identifier: Apache-2.0
"""Turns owners (what the recorder followed) into structures (with the programmer's names)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import polars as pl

from numascape.conversion.hot_variables import hot_variables
from numascape.conversion.module_pages import module_name
from numascape.conversion.names import Allocation, CallStack, Names
from numascape.conversion.shard_groups import Member, ShardGroup
from numascape.conversion.shards import (
    ASKS_FOR_HUGE_PAGES,
    BLOCK,
    FRAME_VARIABLE,
    MAP_BY_ALLOCATOR,
    MAP_HEAP,
    MAP_SHARED,
    MAPPING,
    MODULE,
    REFUSES_HUGE_PAGES,
    REGION,
    SCATTERED,
    SMALL,
    SMALL_REGIONS,
    STACK,
)
from numascape.naming.allocations import AllocationName
from numascape.trace.format import PAGE_BYTES

# Number of pages of a mapping with separate counters: counters take addresses modulo 2^40.
_WINDOW_PAGES = 1 << 28
_NO_NAME = AllocationName("", "", "", 0)
_NAMELESS = re.compile(r"/#[0-9]+ \(deleted\)")
"""The end of the path of a file that was opened without a name (O_TMPFILE)."""


@dataclass(frozen=True)
class StructureIdentity:
    """The identity of a structure in a process: owners with the same values are one structure."""

    process: int
    name: str
    kind: str
    module: str = ""
    function: str = ""
    file: str = ""
    line: int = 0
    named: bool = True
    call_stack: CallStack | None = field(default=None, compare=False)
    shared: bool = False
    """Whether it is a file mapped shared: other processes may use the same pages."""


@dataclass
class StructureTable:
    """The structures of all processes, numbered in the order in which they are found."""

    structures: list[StructureIdentity] = field(default_factory=list)
    _numbers: dict[StructureIdentity, int] = field(default_factory=dict)

    def number(self, structure: StructureIdentity) -> int:
        """The structure's number. Only the first of its call stacks is kept."""
        known = self._numbers.setdefault(structure, len(self.structures))
        if known == len(self.structures):
            self.structures.append(structure)
        return known


def owner_structures(group: ShardGroup, names: Names, table: StructureTable) -> pl.DataFrame:
    """The structure and instance of every owner except modules, whose pages hold variables.

    Returns (owner, structure, instance, address, size, pages, object, object_page, huge); the last
    ones are those of the trace's instances and of huge_page_advice (null: no advice). Instances of
    a structure are numbered in order of allocation. Scattered blocks have no address.
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
    pages = (pl.col("start") % PAGE_BYTES + pl.col("bytes") + PAGE_BYTES - 1) // PAGE_BYTES
    scattered = pl.col("kind").is_in(SCATTERED)
    pages = pages.clip(upper_bound=_WINDOW_PAGES)
    objects = [
        group.members[index].shard.paths[path]
        for index, path in zip(members, owners["object"], strict=True)
    ]
    return owners.select(
        "owner",
        "kind",
        object=pl.Series(objects, dtype=pl.String()),
        # Both starts are modulo 2^64. The difference is right, as mappings begin in their objects.
        object_page=pl.when(pl.col("object") != 0)
        .then((pl.col("start") - pl.col("object_start")) // PAGE_BYTES)
        .otherwise(0)
        .cast(pl.UInt64()),
        structure=pl.Series(numbers, dtype=pl.UInt32()),
        address=pl.when(~scattered).then("start").cast(pl.UInt64()),
        size=pl.col("bytes"),
        pages=pl.when(scattered).then(0).otherwise(pages).cast(pl.UInt32()),
        huge=pl.when(pl.col("flags") & (ASKS_FOR_HUGE_PAGES | REFUSES_HUGE_PAGES) != 0).then(
            pl.col("flags") & ASKS_FOR_HUGE_PAGES != 0
        ),
    ).with_columns(
        # All small blocks of a site are one instance: they share pages.
        instance=pl.when(scattered)
        .then(0)
        .otherwise(pl.int_range(pl.len()).over("structure"))
        .cast(pl.UInt32())
    )


def _region(row: dict[str, int], member: Member, names: Names) -> StructureIdentity:
    """The structure of a part of memory that the program named."""
    name, place = member.shard.region_names[row["stack_id"]]
    kind = "region" if row["kind"] == REGION else "small"
    mark = names.mark(place)
    module = module_name(mark.module)
    if module.startswith("_native."):
        # Named in Python code, by numascape.region.
        return StructureIdentity(member.process, name, kind)
    return StructureIdentity(
        member.process, name, kind, module, mark.function, mark.file, mark.line
    )


def _local(row: dict[str, int], member: Member) -> StructureIdentity:
    """The structure of a variable in the frames of a function."""
    found = member.shard.local_variables[row["stack_id"]]
    return StructureIdentity(
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
    row: dict[str, int], member: Member, allocations: dict[int, Allocation]
) -> StructureIdentity:
    kind, shard, process = row["kind"], member.shard, member.process
    name, call_stack, module = allocations.get(row["stack_id"], (_NO_NAME, None, ""))
    if kind in (BLOCK, SMALL):
        return StructureIdentity(
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
        return StructureIdentity(
            process,
            f"Stack#{member.first_thread + shard.ranks.get(row['thread'], row['thread'])}",
            "stack",
        )
    if kind != MAPPING:
        return StructureIdentity(
            process, "memory outside all mappings seen", "unowned", named=False
        )
    path = shard.paths[row["path"]]
    if row["flags"] & (MAP_HEAP | MAP_BY_ALLOCATOR):
        return StructureIdentity(
            process, "allocator's own memory and free blocks", "heap", named=False
        )
    if path.startswith("["):
        return StructureIdentity(process, path, "mapping")
    shared = bool(path and row["flags"] & MAP_SHARED)
    if name.name and (not path or _NAMELESS.search(path)):
        return StructureIdentity(
            process,
            name.name,
            "mapping",
            path or module,
            name.function,
            name.file,
            name.line,
            call_stack=call_stack,
            shared=shared,
        )
    if path:
        return StructureIdentity(process, module_name(path), "mapping", module=path, shared=shared)
    return StructureIdentity(process, "anonymous mapping", "mapping", named=False)


def module_structures(
    group: ShardGroup, names: Names, table: StructureTable
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The structures in executables and libraries whose pages were used.

    Returns (owner, page, variable, variable_page, is_large, bytes, seen_share), which
    `divide_among_variables` needs, and (owner, variable, structure, address, size, pages,
    instance). `variable` is null for memory that no variable covers: constants and code.
    """
    hot = hot_variables(group, names.globals)
    variables, pages = names.variables(frozenset(hot["address"].to_list()))
    in_module = pl.col("owner").is_in(group.owners_in_modules)
    tables = (group.counts, group.touches, group.placement, group.samples)
    used = (
        pl.concat(table.lazy().select("owner", "page").filter(in_module) for table in tables)
        .unique()
        .collect()
    )
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
            StructureIdentity(
                process, item.name, "global", item.module, item.function, item.file, item.line
            )
        )
        extent = (item.address % PAGE_BYTES + item.size + PAGE_BYTES - 1) // PAGE_BYTES
        rows.append((owner, variable, number, item.address or None, item.size, extent))
    for owner, index, member in group.module_owners.iter_rows():
        module = group.members[member].shard.modules[index]
        name = f"{module_name(module.path)} (code and unnamed data)"
        process = group.members[member].process
        number = table.number(StructureIdentity(process, name, "mapping", module=module.path))
        size = module.end - module.start
        rows.append((owner, None, number, module.start, size, size // PAGE_BYTES))
    schema = {
        "owner": pl.UInt32(),
        "variable": pl.UInt32(),
        "structure": pl.UInt32(),
        "address": pl.UInt64(),
        "size": pl.UInt64(),
        "pages": pl.UInt32(),
    }
    of_variable = pl.Series([item.address for item in variables], dtype=pl.UInt64)
    pages = pages.with_columns(address=of_variable.gather(pages["variable"])).join(
        hot, on=["owner", "page", "address"], how="left", maintain_order="left"
    )
    places = pl.DataFrame(rows, schema=schema, orient="row")
    return _with_unnamed(pages, hot), places.with_columns(instance=_instances_of_variables())


def _instances_of_variables() -> pl.Expr:
    """The instance of each variable: several places of one structure are several instances.

    For example, what is left of a structure between its large members may be in several places.
    """
    known = pl.col("variable").is_not_null() & pl.col("address").is_not_null()
    turn = pl.when(known).then("address").rank("dense").over("structure") - 1
    return pl.when(known).then(turn).otherwise(0).cast(pl.UInt32())


def _with_unnamed(pages: pl.DataFrame, hot: pl.DataFrame) -> pl.DataFrame:
    """Add a row without a variable to the pages on which samples saw memory between variables."""
    columns = ["owner", "page", "variable", "variable_page", "is_large", "bytes", "seen_share"]
    known = pages.select(columns)
    unnamed = hot.filter(pl.col("address").is_null()).join(known, on=["owner", "page"], how="semi")
    rows = unnamed.with_columns(is_large=pl.lit(value=False), bytes=pl.lit(0, dtype=pl.UInt64))
    return pl.concat([known, rows.drop("address")], how="diagonal")
