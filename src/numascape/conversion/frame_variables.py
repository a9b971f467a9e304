# SPDX-License-Identifier: Apache-2.0
"""The variables in large frames and of threads, which the replay needs to know beforehand."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numascape._native import shard as native
from numascape._native.symbols import FrameVariable, Module, Symbols
from numascape.elf_segments import PT_TLS, read_segments

# FramePlace::Base of src/native/replay/replay.h.
_WHOLE_FRAME = 3
# Thread-local variables have this number instead of the pc of a site.
_EACH_THREAD = 0
# numascape-cc puts variables with this prefix into a program.
_OF_RECORDER = "__numascape_"


@dataclass(frozen=True)
class LocalVariable:
    """A variable of a function, or a thread-local one.

    If it is not `named`, it stands for a whole frame whose variables are unknown.
    """

    name: str
    function: str
    file: str
    line: int
    module: str
    named: bool = True


@dataclass(frozen=True)
class FrameVariables:
    """The variables, numbered by their position, and where they are in frames.

    A place is (pc of the frame's site, number of the variable, base, offset, bytes). The pc is 0
    for thread-local variables.
    """

    variables: list[LocalVariable] = field(default_factory=list)
    places: list[tuple[int, int, int, int, int]] = field(default_factory=list)


def frame_variables(shard: Path, header: Mapping[str, Any], cache: Path | None) -> FrameVariables:
    """The variables in the frames of a shard, and those that each thread has. Raises ShardError.

    Thread-local variables are those of the executable. `cache` is that of symbols.
    """
    found = FrameVariables()
    program = header["program"]
    has_thread_variables = _has_thread_variables(program)
    if not has_thread_variables and not header["flags"] & native.FLAG_FRAMES:
        return found
    sites = native.frame_sites(str(shard))
    modules = [
        Module(path.decode(errors="surrogateescape"), start, end, bias)
        for path, start, end, bias, _ in sites["modules"]
    ]
    if has_thread_variables:
        rows = zip(modules, sites["modules"], strict=True)
        executable = [module for module, (path, *_) in rows if path == program]
        _add(found, _EACH_THREAD, _thread_variables(executable, cache))
    symbols = Symbols(modules if sites["sites"] else [])
    for pc, flags in sites["sites"]:
        of_data = bool(flags & native.FRAME_OF_DATA)
        _add(found, pc, symbols.frame_variables(pc, of_data) or _whole(symbols, pc))
    return found


def _thread_variables(executable: list[Module], cache: Path | None) -> list[FrameVariable]:
    """The thread-local variables of the executable with these mappings, not the recorder's."""
    if not executable:
        return []
    symbols = Symbols(executable, "" if cache is None else str(cache))
    found = symbols.thread_variables(executable[0].start)
    symbols.save()
    return [one for one in found if not one.name.startswith(_OF_RECORDER)]


def _has_thread_variables(program: bytes) -> bool:
    path = Path(os.fsdecode(program))
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            found = read_segments(file)
    except (OSError, ValueError):
        return False
    return found is not None and any(segment.kind == PT_TLS for segment in found.segments)


def _add(
    found: FrameVariables, pc: int, variables: Iterable[FrameVariable | LocalVariable]
) -> None:
    for variable in variables:
        number = len(found.variables)
        if isinstance(variable, LocalVariable):
            found.variables.append(variable)
            found.places.append((pc, number, _WHOLE_FRAME, 0, 0))
        else:
            found.variables.append(
                LocalVariable(
                    variable.name,
                    variable.function,
                    variable.file,
                    variable.line,
                    variable.module,
                )
            )
            found.places.append((pc, number, variable.base, variable.offset, variable.size))


def _whole(symbols: Symbols, pc: int) -> list[LocalVariable]:
    """The frame of a function whose variables are unknown, if at least the function is known."""
    frame = symbols.frames(pc)[-1]
    if frame.function.startswith("0x"):
        return []
    name = f"frame of {frame.function}()"
    return [LocalVariable(name, frame.function, "", 0, frame.module, named=False)]
