# SPDX-License-Identifier: Apache-2.0
"""Frames of call stacks as Python objects, for frames that are in many call stacks."""

from dataclasses import dataclass
from typing import Protocol

from numascape.naming.frames import CallFrame


class NativeFrame(CallFrame, Protocol):
    """A frame as the native library gives it; each use of a text copies the text."""

    @property
    def column(self) -> int:
        """Column in the line, 1-based, bytes; 0 if unknown."""

    @property
    def offset(self) -> int:
        """Bytes from the function's start."""

    @property
    def call_notes(self) -> str:
        """The notes of numascape-cc about the calls there."""


@dataclass(frozen=True, slots=True)
class KnownFrame:
    """A frame whose texts were copied once, because it is part of many call stacks."""

    function: str
    file: str
    line: int
    module: str
    column: int
    offset: int
    call_notes: str


def known_frame(frame: NativeFrame) -> KnownFrame:
    """Copy a frame of the native library."""
    return KnownFrame(
        frame.function,
        frame.file,
        frame.line,
        frame.module,
        frame.column,
        frame.offset,
        frame.call_notes,
    )
