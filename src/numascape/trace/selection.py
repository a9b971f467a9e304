# SPDX-License-Identifier: Apache-2.0
"""Finds a structure or a phase by its name or number."""

from __future__ import annotations

import difflib
import re

import polars as pl

from numascape.errors import NumascapeError
from numascape.terminal import printable
from numascape.trace import Trace

_LISTED = 5
_LISTED_PHASES = 8
_LONGEST = 60


def find_structure(trace: Trace, wanted: str) -> int:
    """Return the id of the structure with the name `wanted` or, if there is none, the number.

    Raises NumascapeError if there is none (with similar names), or if several have this name (with
    their numbers).
    """
    structures = trace.structures
    named = structures.filter(pl.col("name") == wanted)
    if named.height > 1:
        raise NumascapeError(_ambiguous(wanted, named))
    if named.height == 1:
        return int(named.item(0, "structure"))
    # Ids are 32-bit. The bound avoids int() on very long input.
    if re.fullmatch("[0-9]{1,10}", wanted) and int(wanted) < structures.height:
        return int(wanted)
    raise NumascapeError(_unknown(trace, wanted))


def find_phase(trace: Trace, wanted: str) -> int:
    """Return the number of the phase with the name `wanted` or, if there is none, the number.

    Raises NumascapeError, with the existing phases, if there is none or if several have this name.
    """
    named = trace.phases.filter(pl.col("name") == wanted)
    if named.height == 1:
        return int(named.item(0, "phase"))
    if named.height > 1:
        numbers = ", ".join(str(number) for number in named["phase"].head(_LISTED_PHASES))
        more = " ..." if named.height > _LISTED_PHASES else ""
        raise NumascapeError(
            f"{named.height} phases are called {_short(wanted)}: {numbers}"
            f"{more}; give the number of one instead of the name"
        )
    # Ids are 32-bit. The bound avoids int() on very long input.
    if re.fullmatch("[0-9]{1,10}", wanted) and int(wanted) < trace.phases.height:
        return int(wanted)
    if trace.phases.height == 1:
        raise NumascapeError(
            f"{trace.path} was recorded without phases; docs/record.md says how they are recorded"
        )
    names = [_short(name) for name in trace.phases["name"].unique(maintain_order=True)]
    near = (
        difflib.get_close_matches(_short(wanted), names, n=3, cutoff=0.5) or names[:_LISTED_PHASES]
    )
    more = " ..." if len(near) < len(names) else ""
    raise NumascapeError(
        f"{trace.path} has no phase {_short(wanted)}; there are {', '.join(near)}{more}"
    )


def _ambiguous(wanted: str, named: pl.DataFrame) -> str:
    listed = ", ".join(
        f"{row['structure']} ({_place(row['file'], row['line'], row['kind'])})"
        for row in named.head(_LISTED).iter_rows(named=True)
    )
    more = f" and {named.height - _LISTED} more" if named.height > _LISTED else ""
    return (
        f"{named.height} structures are called {_short(wanted)}: {listed}{more}; "
        "give the number of one instead of the name"
    )


def _place(file: str, line: int, kind: str) -> str:
    return f"{_short(file.rpartition('/')[2])}:{line}" if file else kind


def _unknown(trace: Trace, wanted: str) -> str:
    names = trace.structures["name"].unique(maintain_order=True).to_list()
    by_lower_case = {name.lower()[:_LONGEST]: name for name in reversed(names)}
    near = difflib.get_close_matches(wanted.lower()[:_LONGEST], by_lower_case, n=3, cutoff=0.5)
    hint = (
        f"similar names: {', '.join(_short(by_lower_case[name]) for name in near)}"
        if near
        else f"numascape show {trace.path} lists them"
    )
    return f"{trace.path} has no structure {_short(wanted)}; {hint}"


def _short(name: str) -> str:
    return printable(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…")
