# SPDX-License-Identifier: Apache-2.0
"""Names an allocation by its call stack and the sources of the functions in it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from numascape.naming import compiled_destination, interpreters, python_objects, runtime_objects
from numascape.naming.destination import Destination, DestinationKind, DestinationQuery, tidy
from numascape.naming.frames import (
    CallFrame,
    base_name,
    frame_module,
    is_allocator,
    is_constructor,
    is_library_frame,
    is_library_module,
    source_function,
)
from numascape.naming.sources import Source, read_source

if TYPE_CHECKING:
    from numascape.naming.python_statements import PythonFrame, StatementName


@dataclass(frozen=True)
class AllocationName:
    """The name of a block of memory, and the place in the program that gives it.

    `name` is the variable or field that the block goes to. If this is unknown, it is
    `function+line`, or without debug information `function+0xoffset`. `function`, `file` and `line`
    are those of the frame in which the name was found, or, for a member of an object, in which the
    member was found. `line` is 0 if unknown.
    """

    name: str
    function: str
    file: str
    line: int


def name_allocation(
    frames: Sequence[CallFrame], python: Sequence[PythonFrame] = ()
) -> AllocationName:
    """The name of the memory allocated with the call stack `frames`.

    `python` are the Python functions that the interpreter executed.

    `frames` are innermost first and start with the caller of the allocation function. Functions of
    language libraries are skipped. If a function hands the block to its caller (by returning it,
    through an argument, or as a member of the caller's object), the caller is examined.
    """
    return _resolve(frames, python)[0]


@dataclass(frozen=True)
class AllocationSite:
    """The name, with data to distinguish the call stacks of one statement.

    If one statement allocates several variables, `parts` are their names; the call at the lowest
    `offset` allocates the first variable. `decided` is the number of innermost frames that
    determine the name, or 0 if all do.
    """

    name: AllocationName
    parts: tuple[str, ...]
    offset: int
    decided: int


def allocation_site(
    frames: Sequence[CallFrame], python: Sequence[PythonFrame] = ()
) -> AllocationSite:
    """Like `name_allocation`, for callers that get the call stacks of a program one by one."""
    name, parts, decided = _resolve(frames, python)
    return AllocationSite(name, parts, _offset_at(frames, name) if parts else 0, decided)


def name_allocations(stacks: Sequence[Sequence[CallFrame]]) -> list[AllocationName]:
    """The names of many allocations by `name_allocation`, in the same order.

    If one statement allocates several variables (Fortran's `allocate(u(n), v(n))`), all its call
    stacks together distinguish them, because the compiler keeps the order of the statement.
    """
    return name_sites([allocation_site(frames) for frames in stacks])


def name_sites(sites: Sequence[AllocationSite]) -> list[AllocationName]:
    """Like `name_allocations`, for the sites of the call stacks."""
    offsets: dict[tuple[AllocationName, tuple[str, ...]], set[int]] = defaultdict(set)
    for site in sites:
        if len(site.parts) > 1:
            offsets[site.name, site.parts].add(site.offset)
    names = []
    for site in sites:
        name = site.name
        known = sorted(offsets.get((name, site.parts), ()))
        if len(known) == len(site.parts) > 1:
            part = site.parts[known.index(site.offset)]
            name = AllocationName(part, name.function, name.file, name.line)
        names.append(name)
    return names


def _offset_at(frames: Sequence[CallFrame], name: AllocationName) -> int:
    """The offset of the code, within its function, in the frame that gave `name`."""
    for frame in frames:
        if (frame.function, frame.file, frame.line) == (name.function, name.file, name.line):
            return int(getattr(frame, "offset", 0))
    return 0


def _resolve(
    frames: Sequence[CallFrame], python: Sequence[PythonFrame]
) -> tuple[AllocationName, tuple[str, ...], int]:
    """The name, its parts, and how many frames determine it (0: all)."""
    runtime = runtime_objects.runtime_name(frames)
    if runtime is not None:
        # One structure, whichever statements caused its allocations.
        return AllocationName(runtime[0], "", "", 0), (), 0
    wanted = DestinationQuery()
    best: AllocationName | None = None  # a wrapper's own name, when no caller has a better one
    asking: tuple[CallFrame, DestinationQuery] | None = (
        None  # its caller decides the name, but may be missing in the stack
    )
    skipped: CallFrame | None = None  # the last frame without a source; the next frame called it
    for number, frame in enumerate(frames, start=1):
        if frame.file and frame.line and not is_library_frame(frame):
            if skipped is not None:
                wanted = DestinationQuery(callee=base_name(skipped.function), suffix=wanted.suffix)
                skipped = None
            destination = _destination(frame, wanted)
            if destination is None and base_name(frame.function) == wanted.callee:
                continue  # gcc may split a function and inline the rest into its start
            asking = None
            if destination is None:
                break
            name = _placed(destination.name, frame)
            if destination.kind is DestinationKind.VARIABLE:
                return _at_member(name, best), destination.parts, number
            if destination.name and best is None:
                best = name
            wanted = _asked_of_caller(destination, frame)
            asking = frame, wanted
        elif wanted.argument < 0 and not wanted.member:
            skipped = frame
    launched = None if asking is None else _launched(*asking)
    if launched is not None:
        return _at_member(launched, best), (), 0
    return best or _without_source(frames, python), (), 0


def _launched(frame: CallFrame, wanted: DestinationQuery) -> AllocationName | None:
    """The name by the calls of the frame's function in its file, if the stack has no caller.

    The caller may have ended with this call, or the function is that of a thread or a task.
    """
    source = read_source(frame.file)
    if source is None or source.language not in ("c", "cpp"):
        return None
    from numascape.naming import c_destination

    destination = c_destination.find_by_calls(source, wanted)
    if destination is None or not destination.name:
        return None
    return _placed(destination.name, frame)


def _at_member(found: AllocationName, inner: AllocationName | None) -> AllocationName:
    """Place a member of a caller's object, `grid.cells`, where it is allocated, as `g->cells`.

    Its caller only makes the object.
    """
    member = None if inner is None else re.match(r"\w+(->|\.)(.+)", inner.name)
    if inner is None or member is None or not found.name.endswith(member[2]):
        return found
    return replace(inner, name=found.name)


def _placed(name: str, frame: CallFrame) -> AllocationName:
    return AllocationName(name, frame.function, frame.file, frame.line)


def _asked_of_caller(destination: Destination, frame: CallFrame) -> DestinationQuery:
    return DestinationQuery(
        callee=base_name(frame.function),
        argument=destination.argument if destination.kind is DestinationKind.PARAMETER else -1,
        member=destination.member if destination.kind is DestinationKind.MEMBER else "",
        is_constructor=is_constructor(frame.function),
        suffix=destination.suffix,
    )


def _destination(frame: CallFrame, wanted: DestinationQuery) -> Destination | None:
    noted = str(getattr(frame, "call_notes", ""))
    if noted:
        found = compiled_destination.find_destination(noted, wanted)
        if found is not None:
            return found
    source = read_source(frame.file)
    if source is None:
        return None
    column = int(getattr(frame, "column", 0))
    return _find(source, frame.line, column, source_function(frame), wanted)


@lru_cache(maxsize=1 << 16)
def _find(
    source: Source, line: int, column: int, function: str | None, wanted: DestinationQuery
) -> Destination | None:
    # Imported here, because a program without source files needs none of them.
    if source.language == "fortran":
        from numascape.naming import fortran_destination

        return fortran_destination.find_destination(source, line, function, wanted)
    if source.language == "rust":
        from numascape.naming import rust_destination

        return rust_destination.find_destination(source, line, column, function, wanted)
    from numascape.naming import c_destination

    return c_destination.find_destination(source, line, column, function, wanted)


def _without_source(frames: Sequence[CallFrame], python: Sequence[PythonFrame]) -> AllocationName:
    """`function+line`, a name for a Python programmer, or a symbol of the user's innermost frame.

    Functions that are allocators by their name, and those without a name, are skipped if a caller
    has a name. Otherwise, all that a wrapper allocates for its callers would be one structure.
    """
    objects = python_objects.interpreters_name(frames) or interpreters.interpreter_name(frames)
    if objects is not None:
        return AllocationName(objects, "", "", 0)  # one structure for all of this type
    statement = _python_statement(python) if python else None
    if statement is not None:
        of = statement.frame
        return AllocationName(statement.name, of.function, of.file, of.line)
    numpys = python_objects.numpys_name(frames)
    if numpys is not None:
        return _placed(*numpys)
    if not frames:
        return AllocationName("unknown", "", "", 0)
    outside = next((frame for frame in frames if not is_library_frame(frame)), None)
    frame = next(filter(_has_own_name, frames), outside or _innermost_template(frames))
    function = tidy(frame.function)
    if frame.line:
        return _placed(f"{function}+{frame.line}", frame)
    if function.startswith("0x"):
        return _placed(f"{frame_module(frame)}+{function}".lstrip("+"), frame)
    return _placed(f"{function}+{getattr(frame, 'offset', 0):#x}", frame)


def _innermost_template(frames: Sequence[CallFrame]) -> CallFrame:
    """The innermost of these frames of libraries whose code is in a module of the program.

    A thread that a library starts may call only its templates, such as a parallel `std::sort`.
    """
    compiled = (f for f in frames if f.line and not is_library_module(frame_module(f)))
    return next(compiled, frames[0])


def _has_own_name(frame: CallFrame) -> bool:
    is_known = bool(frame.line) or not frame.function.startswith("0x")
    return is_known and not (is_library_frame(frame) or is_allocator(frame.function))


def _python_statement(frames: Sequence[PythonFrame]) -> StatementName | None:
    # Imported here, because programs that are not in Python do not need Python's parser.
    from numascape.naming.python_statements import statement_name

    return statement_name(frames)
