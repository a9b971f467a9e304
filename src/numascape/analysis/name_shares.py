# SPDX-License-Identifier: Apache-2.0
"""The share of the accesses to structures whose names the program's author would recognise."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import polars as pl

from numascape.analysis.ownership import Owner, is_of_small_variables, owner_of
from numascape.naming.python_objects import is_python_name
from numascape.quantities import share_text
from numascape.trace.trace import Trace

_NO_NAMES = frozenset({"unknown", "heap block of unknown origin", "heap", "anonymous mapping"})
_CODE_ADDRESS = re.compile(r"(?s)(.*\+)?0x[0-9a-f]+")
# Smallest share for which advice on missing names is printed. Findings do not depend on it.
_MIN_ADVISED_SHARE = 0.01


class Named(str, Enum):
    """The kind of thing that a structure's name refers to."""

    SOURCE = "source"
    """A variable, a field, a file, or a line of the program's or a library's source."""
    RUNTIME = "runtime"
    """Stacks, code, and the memory of language runtimes and the system."""
    NOTHING = "nothing"
    """No name, only the address of code, or small variables of the program together."""


@dataclass(frozen=True)
class NameShares:
    """Shares of all accesses, 0 to 1, by what the structures' names refer to; their sum is 1.

    `advice` says what would give names to the rest, most useful first.
    """

    source: float
    runtime: float
    nothing: float
    advice: tuple[str, ...]

    def text(self) -> str:
        """Say it in one phrase, as `71 % of them in structures named in the source, ...`."""
        others = (
            (self.runtime, "in stacks, runtimes and code"),
            (self.nothing, "in memory without a name"),
        )
        parts = [f"{share_text(self.source)} of them in structures named in the source"]
        parts += [f"{share_text(share)} {where}" for share, where in others if share > 0]
        return ", ".join(parts)


def named_in(row: dict[str, Any]) -> Named:
    """What a structure's name refers to; `row` is that of the trace's table."""
    name = str(row["name"])
    if row["kind"] == "region":
        return Named.SOURCE
    if row["kind"] == "unowned" or name in _NO_NAMES:
        return Named.NOTHING
    if owner_of(row) is not Owner.PROGRAM:
        return Named.RUNTIME
    if _CODE_ADDRESS.fullmatch(name) or is_of_small_variables(row):
        return Named.NOTHING
    return Named.RUNTIME if not row["named"] or is_python_name(name) else Named.SOURCE


def name_shares(trace: Trace) -> NameShares:
    """Sum the accesses of a trace; the first touches if it has no accesses."""
    only_touches = trace.info.recorder.counts == "first touches"
    counted = trace.first_touch if only_touches else trace.accesses
    count = pl.len() if only_touches else (pl.col("reads") + pl.col("writes")).sum()
    by_structure = counted.group_by("structure").agg(count.alias("accesses"))
    used = trace.structures.join(by_structure, on="structure")
    every = int(used["accesses"].sum())
    if every == 0:
        return NameShares(0.0, 0.0, 1.0, ())
    sums = dict.fromkeys(Named, 0)
    without_line: dict[str, int] = {}
    for row in used.iter_rows(named=True):
        named = named_in(row)
        sums[named] += row["accesses"]
        if named is Named.NOTHING and row["module"] and not is_of_small_variables(row):
            module = str(row["module"]).rpartition("/")[2]
            without_line[module] = without_line.get(module, 0) + row["accesses"]
    programs = (trace.info.program, *(process.program for process in trace.info.processes))
    own = {program.rpartition("/")[2] for program in programs}
    return NameShares(
        sums[Named.SOURCE] / every,
        sums[Named.RUNTIME] / every,
        sums[Named.NOTHING] / every,
        tuple(_advice(without_line, every, own)),
    )


def _advice(without_line: dict[str, int], every: int, own: set[str]) -> Iterable[str]:
    for module, accesses in sorted(without_line.items(), key=lambda item: (-item[1], item[0])):
        if accesses / every < _MIN_ADVISED_SHARE:
            continue
        what = f"compile {module} with -g"
        if module not in own:
            what = f"install the debug symbols of {module}, or compile it with -g"
        yield f"To name {share_text(accesses / every)} more: {what}."
