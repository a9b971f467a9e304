# SPDX-License-Identifier: Apache-2.0
"""Finds the names of functions, variables and call stacks in the files of a process's modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from numascape._native.symbols import Frame, Global, Symbols
from numascape._native.symbols import Module as NativeModule
from numascape.conversion.module_pages import (
    ModuleVariable,
    layers,
    module_name,
    variables_on_pages,
)
from numascape.conversion.shards import MappedModule, Shard
from numascape.naming.allocations import (
    AllocationName,
    AllocationSite,
    allocation_site,
    name_sites,
)
from numascape.naming.frames import is_library_frame, is_library_place, outside_marks
from numascape.naming.known_frames import KnownFrame, known_frame

if TYPE_CHECKING:
    from numascape.naming.python_statements import PythonFrame

_Caller = tuple[list[KnownFrame], tuple[str, ...]]
"""The functions that return to an address, innermost first; and as text."""


@dataclass(frozen=True, slots=True)
class CallStack:
    """A call stack: Python functions, and callers of the allocation function, innermost first."""

    python: tuple[PythonFrame, ...]
    callers: list[_Caller]

    def words(self) -> tuple[str, ...]:
        """The call stack as text, made only when needed: a structure shows one of its stacks."""
        return (
            *(f"{frame.function} ({frame.file}:{frame.line})" for frame in self.python),
            *(word for _, own in self.callers for word in own),
        )


Allocation = tuple[AllocationName, CallStack | None, str]
"""The allocation's name, its call stack, and the module of the name."""


@dataclass(frozen=True, slots=True)
class _Site:
    """The names found for a call stack; `module` is that of the frame that gives the name."""

    allocation: AllocationSite
    stack: CallStack
    module: str


def _symbols(modules: list[MappedModule], cache: Path | None) -> Symbols:
    """The symbols of the modules; if modules have the same addresses, those of the first."""
    return Symbols(
        [NativeModule(m.path, m.start, m.end, m.load_bias) for m in modules],
        "" if cache is None else str(cache),
    )


class Names:
    """Finds names in processes with the same modules, in the same order.

    Opens the modules' files; if one is unreadable, its names are hexadecimal addresses. What was
    read needs much memory, so it is freed when all shards have their names (`have_names`).
    """

    def __init__(self, shards: Sequence[Shard], cache: Path | None = None) -> None:
        self._modules = shards[0].modules
        self._opened: Symbols | None = None
        self._cache = cache
        self._without_names = len(shards)
        self._is_of_one_shard = len(shards) == 1
        self._places = {pc: place for shard in shards for pc, place in shard.places.items()}
        # Forked processes have their parents' call stacks, so each stack is unwound once. One
        # shard has each stack once, and their copies may have megabytes.
        self._unwound: dict[tuple[tuple[int, ...], bytes], tuple[int, ...]] = {}
        self._sites: dict[tuple[tuple[int, ...], tuple[PythonFrame, ...]], _Site] = {}
        # Keys are return addresses, because most call stacks have their outer callers in common.
        self._callers: dict[int, _Caller] = {}
        self._variables: dict[frozenset[int], tuple[list[ModuleVariable], pl.DataFrame]] = {}

    def allocations(self, shard: Shard) -> dict[int, Allocation]:
        """The allocation of each call stack, by the identifier of the call stack."""
        sites = {
            identifier: self._site(
                addresses or self._unwind(registers, copy),
                shard.python_stacks.get(identifier, ()),
            )
            for identifier, (addresses, registers, copy) in shard.call_stacks.items()
        }
        names = name_sites([site.allocation for site in sites.values()])
        return {
            identifier: (name, site.stack, site.module)
            for (identifier, site), name in zip(sites.items(), names, strict=True)
        }

    def calls(self, pc: int) -> list[KnownFrame]:
        """The functions that are active at a code address, innermost first."""
        return (self._callers.get(pc + 1) or self._caller(pc + 1))[0]

    def have_names(self, shards: int) -> None:
        """So many more shards have all their names. After the last one, free what was read.

        It is kept in the cache, if there is one. Names that are asked for later are read again.
        """
        self._without_names -= shards
        if self._without_names > 0 or self._opened is None:
            return
        self._opened.save()
        self._opened = None
        for known in (self._unwound, self._sites, self._callers, self._variables):
            known.clear()
        self.__dict__.pop("globals", None)

    @property
    def _symbols(self) -> Symbols:
        if self._opened is None:
            self._opened = _symbols(self._modules, self._cache)
        return self._opened

    def _site(self, addresses: tuple[int, ...], python: tuple[PythonFrame, ...]) -> _Site:
        """The site of a call stack: return addresses, and Python functions, innermost first."""
        key = (addresses, python)
        if key not in self._sites:
            known = self._callers
            callers = [known.get(address) or self._caller(address) for address in addresses]
            frames = list(chain.from_iterable(own for own, _ in callers))
            found = allocation_site(frames, python)
            function = found.name.function
            of = (f.module for f in frames if f.function == function) if function else ()
            module = next(iter(of), "")
            self._sites[key] = _Site(found, CallStack(python, callers), module_name(module))
        return self._sites[key]

    def _caller(self, address: int) -> _Caller:
        """Read the functions that return to `address`, with what was inlined there."""
        frames = [known_frame(frame) for frame in self._symbols.frames(address - 1)]
        caller = frames, tuple(_words(frame) for frame in frames)
        self._callers[address] = caller
        return caller

    def _unwind(self, registers: Sequence[int], stack: bytes) -> tuple[int, ...]:
        """The return addresses behind the allocation function, innermost first."""
        if not registers:
            return ()  # walked while it ran, and no caller was found: for example in _start
        if self._is_of_one_shard:
            return tuple(self._symbols.unwind(list(registers), registers[7], stack)[1:])
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
        frame = next((f for f in frames if f.line and not is_library_frame(f)), frames[0])
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
    def globals(self) -> list[Global]:
        """The variables with static storage."""
        later = [_symbols(layer, self._cache) for layer in layers(self._modules)[1:]]
        return [item for symbols in (self._symbols, *later) for item in symbols.globals()]

    def variables(self, own: frozenset[int]) -> tuple[list[ModuleVariable], pl.DataFrame]:
        """The variables of the modules and their pages; see variables_on_pages."""
        if own not in self._variables:
            self._variables[own] = variables_on_pages(self._modules, self.globals, own)
        return self._variables[own]


def _words(frame: KnownFrame) -> str:
    if frame.line:
        return f"{frame.function} ({frame.file}:{frame.line})"
    return f"{frame.function} ({module_name(frame.module)})" if frame.module else frame.function
