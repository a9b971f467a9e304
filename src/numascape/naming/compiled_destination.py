# SPDX-License-Identifier: Apache-2.0
"""Finds where the result of a call goes, from the notes of numascape-cc, without a source file.

The compilers write the notes next to the debug information (src/native/llvm-pass/names.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from numascape.naming.destination import (
    TEMPORARY_NAME,
    Destination,
    DestinationKind,
    DestinationQuery,
    join_suffix,
    of_pointee,
    of_pointer,
    tidy,
)

_VALUE = "v"
_HANDED_ON = "h"
_OBJECT = "o"
_KINDS = {
    "v": DestinationKind.VARIABLE,
    "r": DestinationKind.RETURNED,
    "p": DestinationKind.PARAMETER,
    "m": DestinationKind.MEMBER,
}


@dataclass(frozen=True)
class _Note:
    slot: str
    kind: DestinationKind
    argument: int
    name: str


def find_destination(call_notes: str, wanted: DestinationQuery) -> Destination | None:
    """Find where `wanted` of the call with these notes goes; None if they do not say."""
    notes = _read(call_notes)
    if wanted.argument >= 0:
        return _only(notes, str(wanted.argument), of_pointee(wanted.suffix))
    if wanted.member:
        return _only(notes, _OBJECT, f".{wanted.member}{wanted.suffix}")
    if wanted.callee == "operator[]":
        return _only(notes, _OBJECT, wanted.suffix)  # of a map: it allocates a node
    values = [note for note in notes if note.slot == _VALUE]
    if len(values) > 1:
        return _one_of_several(values, wanted.suffix)
    handed_on = next((note for note in notes if note.slot == _HANDED_ON), None)
    if values and handed_on is not None and _is_handed_on(values[0].name, handed_on):
        found = _destination(handed_on, wanted.suffix)
        name = found.name or join_suffix(values[0].name, wanted.suffix)
        return Destination(found.kind, name, found.argument, found.member, found.suffix)
    return _destination(values[0], wanted.suffix) if values else None


def _read(call_notes: str) -> list[_Note]:
    notes = []
    for line in call_notes.splitlines():
        fields = line.split("\t")
        if len(fields) == 4 and fields[1] in _KINDS and fields[2].lstrip("-").isdecimal():
            notes.append(_Note(fields[0], _KINDS[fields[1]], int(fields[2]), fields[3]))
    return notes


def _only(notes: Sequence[_Note], slot: str, suffix: str) -> Destination | None:
    found = [note for note in notes if note.slot == slot]
    return _destination(found[0], suffix) if len(found) == 1 else None


def _one_of_several(values: Sequence[_Note], suffix: str) -> Destination | None:
    """The destination of calls that a macro makes at one place; their order distinguishes them."""
    if any(note.kind is not DestinationKind.VARIABLE for note in values):
        return None
    parts = tuple(join_suffix(note.name, suffix) for note in values)
    return Destination(DestinationKind.VARIABLE, ", ".join(parts), parts=parts)


def _is_handed_on(variable: str, to: _Note) -> bool:
    """Whether a local variable is only a temporary, as in c_destination."""
    return to.kind in (DestinationKind.RETURNED, DestinationKind.PARAMETER) or bool(
        TEMPORARY_NAME.fullmatch(variable)
    )


def _destination(note: _Note, suffix: str) -> Destination:
    if note.kind is DestinationKind.MEMBER:
        member = join_suffix(note.name, suffix) if note.name else suffix.removeprefix(".")
        return Destination(DestinationKind.MEMBER, tidy(member), member=member)
    name = join_suffix(note.name, suffix) if note.name else ""
    if note.kind is DestinationKind.PARAMETER:
        return Destination(
            DestinationKind.PARAMETER, name, note.argument, suffix=_in_caller(note.name, suffix)
        )
    if note.kind is DestinationKind.RETURNED:
        return Destination(DestinationKind.RETURNED, name, suffix=_in_caller(note.name, suffix))
    return Destination(DestinationKind.VARIABLE, name)


def _in_caller(name: str, suffix: str) -> str:
    """The suffix for the caller's variable: `->x.y` if `name` is `p->x` and `suffix` is `.y`."""
    if name.startswith("*("):  # `*(*p)`
        return of_pointer(of_pointer(suffix))
    if name.startswith("*"):
        return of_pointer(suffix)
    return re.sub(r"^\w+", "", name) + suffix
