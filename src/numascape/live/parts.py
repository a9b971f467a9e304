# SPDX-License-Identifier: Apache-2.0
"""Divides mappings into named parts: variables, tensors, sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numascape.live.files.layout import FileLayout, read_layout
from numascape.live.mapping_names import (
    Name,
    data_name,
    file_name,
    name_mappings,
    stack_end,
    stack_name,
    threads_on,
)
from numascape.live.mappings import Mapping, readable_path
from numascape.live.pointers import Pointed, pointed_memory
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread, stack_bytes
from numascape.live.variables import ModuleData, Variable, read_module_data


@dataclass(frozen=True)
class Part:
    """Whole pages of one mapping (an index) that have one name.

    `file` is the path of the mapped file, `layer` that of a tensor, `source` the place where a
    variable is declared.
    """

    mapping: int
    start: int
    end: int
    page_bytes: int
    name: str
    kind: str
    file: str = ""
    layer: int | None = None
    source: str = ""


@dataclass(frozen=True)
class Item:
    """A named range of addresses inside a mapping, in bytes."""

    start: int
    end: int
    name: str
    kind: str
    layer: int | None = None
    source: str = ""


class Namer:
    """Names parts of one process' memory; keeps what it has read of files for the next time."""

    def __init__(self, target: TargetProcess) -> None:
        self._target = target
        self._layouts: dict[tuple[str, str, int], FileLayout] = {}
        self._modules: tuple[tuple[str, int], ...] | None = None
        self._data = ModuleData()

    def parts(self, mappings: Sequence[Mapping], threads: Sequence[Thread]) -> list[Part]:
        """The parts of all mappings, ascending; together they are all mappings."""
        data = self._module_data(mappings)
        found: list[Part] = []
        pointed = pointed_memory(self._target, mappings, data.pointers)
        stack = stack_bytes(self._target)
        names = name_mappings(mappings, threads, stack)
        for number, (mapping, name) in enumerate(zip(mappings, names, strict=True)):
            if mapping.is_file:
                items = self._file_items(mapping)
            else:
                items = stack_items(mapping, threads, stack)
            if "w" in mapping.permissions and not mapping.is_shared:
                items = _data_items(mapping, data) or items
            if not items and (name.kind == "mapping" or name.name.endswith(f"{mapping.start:#x}")):
                items = [_pointed_item(one, name) for one in pointed
                         if mapping.start <= one.start < mapping.end]  # fmt: skip
            found += divide_mapping(number, mapping, name, items)
        return found

    def _module_data(self, mappings: Sequence[Mapping]) -> ModuleData:
        modules = tuple(
            (item.path, item.start) for item in mappings if item.is_file and item.offset == 0
        )
        if modules != self._modules:
            self._modules, self._data = modules, read_module_data(self._target, mappings)
        return self._data

    def _file_items(self, mapping: Mapping) -> list[Item]:
        key = (mapping.path, mapping.device, mapping.inode)
        if key not in self._layouts:
            path = readable_path(self._target, mapping)
            self._layouts[key] = FileLayout("", ()) if path is None else read_layout(path)
        first, last = mapping.offset, mapping.offset + mapping.end - mapping.start
        shift = mapping.start - mapping.offset
        return [
            Item(item.start + shift, item.end + shift,
                 f"{file_name(mapping.path)} {item.name}" if item.kind == "section" else item.name,
                 item.kind, item.layer)
            for item in self._layouts[key].ranges
            if item.start < last and item.end > first
        ]  # fmt: skip


def stack_items(mapping: Mapping, threads: Sequence[Thread], size: int) -> list[Item]:
    """The stack at the beginning of a mapping that the kernel joined with it."""
    end = stack_end(mapping, size)
    if mapping.path or not end:
        return []
    on_it = [one for one in threads_on(mapping, threads) if one.stack_pointer < end]
    if not on_it:
        return []
    name = stack_name(on_it[0])
    return [Item(mapping.start, end, name.name, name.kind)]


def _item_of(variable: Variable) -> Item:
    place = f"{variable.file}:{variable.line}" if variable.file else file_name(variable.module)
    return Item(variable.start, variable.end, variable.name, "global", source=place)


def _pointed_item(pointed: Pointed, name: Name) -> Item:
    """Memory without a name of its own, called like the variable that points to it."""
    item = _item_of(pointed.variable)
    return replace(item, start=pointed.start, end=pointed.end, kind=name.kind)


def _data_items(mapping: Mapping, data: ModuleData) -> list[Item]:
    """The variables of a mapping, and between them the other zeroed data."""
    items = [
        _item_of(variable)
        for variable in data.variables
        if variable.start < mapping.end and variable.end > mapping.start
    ]
    for zeroed in data.zeroed:
        if zeroed.start < mapping.end and zeroed.end > mapping.start:
            at = zeroed.start
            for item in [item for item in items if zeroed.start <= item.start < zeroed.end]:
                if at < item.start:
                    items.append(Item(at, item.start, data_name(zeroed.path), "global"))
                at = max(at, item.end)
            if at < zeroed.end:
                items.append(Item(at, zeroed.end, data_name(zeroed.path), "global"))
    return sorted(items, key=lambda item: item.start)


def divide_mapping(number: int, mapping: Mapping, name: Name, items: Sequence[Item]) -> list[Part]:
    """The parts of a mapping: its items, and the rest under its own name.

    A page on which one item ends and the next one begins belongs to the one with more bytes on it;
    items of less than half a page may have none.
    """
    file = mapping.path if mapping.is_file else ""
    size = mapping.page_bytes
    parts: list[Part] = []

    def add(start: int, end: int, item: Item | None) -> None:
        if start >= end:
            return
        if item is None:
            parts.append(Part(number, start, end, size, name.name, name.kind, file))
        else:
            parts.append(Part(number, start, end, size, item.name, item.kind, file,
                              item.layer, item.source))  # fmt: skip

    at = mapping.start
    for item in items:
        start = min(max(at, _nearest(item.start, mapping)), mapping.end)
        end = min(max(start, _nearest(item.end, mapping)), mapping.end)
        add(at, start, None)
        add(start, end, item)
        at = end
    add(at, mapping.end, None)
    return parts


def _nearest(address: int, mapping: Mapping) -> int:
    """The boundary between two pages that is nearest to the address."""
    size = mapping.page_bytes
    return mapping.start + (address - mapping.start + size // 2) // size * size
