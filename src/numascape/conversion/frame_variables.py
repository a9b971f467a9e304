# SPDX-License-Identifier: Apache-2.0
"""The variables in large frames on stacks, which the replay needs to know beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from numascape._native import shard as native
from numascape._native.symbols import FrameVariable, Module, Symbols

# FramePlace::Base of src/native/replay/replay.h.
_WHOLE_FRAME = 3


@dataclass(frozen=True)
class LocalVariable:
    """A variable of a function; or, if not `named`, a whole frame whose variables are unknown."""

    name: str
    function: str
    file: str
    line: int
    module: str
    named: bool = True


@dataclass(frozen=True)
class FrameVariables:
    """The variables, numbered by their position, and where they are in frames.

    A place is (pc of the frame's site, number of the variable, base, offset, bytes).
    """

    variables: list[LocalVariable] = field(default_factory=list)
    places: list[tuple[int, int, int, int, int]] = field(default_factory=list)


def frame_variables(shard: Path) -> FrameVariables:
    """The variables in the frames of a shard. Raises ShardError."""
    found = FrameVariables()
    sites = native.frame_sites(str(shard))
    modules = [
        Module(path.decode(errors="surrogateescape"), start, end, bias)
        for path, start, end, bias, _ in sites["modules"]
    ]
    symbols = Symbols(modules)
    for pc, flags in sites["sites"]:
        of_data = bool(flags & native.FRAME_OF_DATA)
        _add(found, pc, symbols.frame_variables(pc, of_data) or _whole(symbols, pc))
    return found


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
