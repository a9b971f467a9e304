# SPDX-License-Identifier: Apache-2.0
"""Finds the rule of a plan for an allocation of a running program. Names are those of a trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from numascape._native.symbols import Frame, Global, Module, Symbols
from numascape.naming import AllocationSite, allocation_site
from numascape.naming.python_statements import PythonFrame
from numascape.plan.plan import StructureRule
from numascape.trace.format import PAGE_BYTES


@dataclass(frozen=True)
class LoadedModule:
    """An ELF file in a process, as `numascape._native.symbols.Module` needs it."""

    path: str
    start: int
    end: int
    load_bias: int

    @property
    def unloaded(self) -> LoadedModule:
        """The same file, loaded at 0."""
        bias = self.load_bias
        return LoadedModule(self.path, self.start - bias, self.end - bias, 0)


@dataclass(frozen=True)
class PlacedVariable:
    """A variable with a rule; the rule applies to pages [first, end)."""

    address: int
    size: int
    first: int
    end: int
    rule: int


class Resolver:
    """Finds the rules for all processes of a run. Not thread-safe."""

    def __init__(self, rules: Sequence[StructureRule]) -> None:
        self._rules = rules
        self._nowhere = Symbols([])
        # Each file is opened only once for all processes, as if it were loaded at address 0.
        self._symbols: dict[LoadedModule, Symbols] = {}
        self._globals: dict[LoadedModule, list[Global]] = {}
        # For statements that allocate several variables: the offsets of the calls so far.
        self._offsets: dict[AllocationSite, list[int]] = defaultdict(list)

    def stack(
        self,
        modules: tuple[LoadedModule, ...],
        addresses: Sequence[int],
        python: Sequence[PythonFrame] = (),
        *,
        is_mapping: bool,
    ) -> tuple[int | None, int]:
        """The rule for allocations with this call stack of return addresses, innermost first.

        `python` are the Python functions that are executed. Also returns how many of the addresses
        determine the rule; 0 if all do.
        """
        frames: list[Frame] = []
        ends = []  # the number of frames up to and including each address
        for address in addresses:
            frames.extend(self._frames(modules, address - 1))
            ends.append(len(frames))
        site = allocation_site(frames, python)
        name = self._one_of(site) if site.parts else site.name.name
        kind = "mapping" if is_mapping else "heap"
        rule = self._rule(name, kind, site.name.function, site.name.file, site.name.line)
        decided = next((k for k, end in enumerate(ends, 1) if 0 < site.decided <= end), 0)
        return rule, decided

    def variables(self, modules: tuple[LoadedModule, ...]) -> list[PlacedVariable]:
        """The variables of at least a page that have a rule, and their pages.

        A shared page belongs to a variable that covers at least half of it.
        """
        found = []
        for module in modules:
            for item in self._large_globals(module):
                rule = self._rule(item.name, "global", item.function, item.file, item.line)
                if rule is not None:
                    address = item.address + module.load_bias
                    first = (address + PAGE_BYTES // 2) // PAGE_BYTES * PAGE_BYTES
                    end = (address + item.size + PAGE_BYTES // 2) // PAGE_BYTES * PAGE_BYTES
                    found.append(PlacedVariable(address, item.size, first, end, rule))
        return found

    def _large_globals(self, module: LoadedModule) -> list[Global]:
        """The file's variables of at least a page; smaller ones form one structure per file."""
        file = module.unloaded
        if file not in self._globals:
            self._globals[file] = [g for g in self._opened(file).globals() if g.size >= PAGE_BYTES]
        return self._globals[file]

    def _frames(self, modules: tuple[LoadedModule, ...], address: int) -> list[Frame]:
        for module in modules:
            if module.start <= address < module.end:
                return self._opened(module.unloaded).frames(address - module.load_bias)
        return self._nowhere.frames(address)

    def _opened(self, file: LoadedModule) -> Symbols:
        if file not in self._symbols:
            self._symbols[file] = Symbols([Module(file.path, file.start, file.end, 0)])
        return self._symbols[file]

    def _one_of(self, site: AllocationSite) -> str:
        """The variable of the statement that this call allocates.

        The compiler keeps their order, so earlier calls are also earlier in the code.
        """
        offset, key = site.offset, AllocationSite(site.name, site.parts, 0, 0)
        offsets = self._offsets[key]
        if offset not in offsets:
            offsets.append(offset)
            offsets.sort()
        return site.parts[min(offsets.index(offset), len(site.parts) - 1)]

    def _rule(self, name: str, kind: str, function: str, file: str, line: int) -> int | None:
        for index, rule in enumerate(self._rules):
            if (
                rule.name == name
                and rule.kind in ("", kind)
                and rule.function in ("", function)
                and _is_file(rule.file, file)
                and rule.line in (0, line)
            ):
                return index
        return None


def _is_file(wanted: str, file: str) -> bool:
    """Whether a rule's file is this file or the end of its path, as build folders differ."""
    return wanted in ("", file) or file.endswith("/" + wanted.lstrip("/"))
