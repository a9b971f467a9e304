# SPDX-License-Identifier: Apache-2.0
"""Reads the usual command lines of `numascape record`.

Typer, with what it loads, takes longer to parse a command line than a small program takes to be
recorded. Typer parses all other command lines, and prints all errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from numascape.commands._recording import AskedRecording
from numascape.recording.options import PhaseKind, RecorderName

_SWITCHES: Final[Mapping[str, tuple[str, bool]]] = {
    "-q": ("quiet", True),
    "--quiet": ("quiet", True),
    "--stack": ("stack", True),
    "--no-stack": ("stack", False),
    "--lines": ("lines", True),
    "--no-lines": ("lines", False),
    "--traffic": ("traffic", True),
}


def _one_of(*words: str) -> Callable[[str], str]:
    def read(word: str) -> str:
        if word not in words:
            raise ValueError(word)
        return word

    return read


# How the value of an option is read; a ValueError leaves the command line to Typer.
_VALUES: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "-o": ("output", Path),
    "--output": ("output", Path),
    "--ranks": ("ranks", str),
    "--phases": ("phases", _one_of(*get_args(PhaseKind))),
    "--every": ("every", float),
    "--recorder": ("recorder", _one_of(*get_args(RecorderName))),
    "--event": ("event", str),
    "--frequency": ("frequency", int),
    "--cache": ("cache", str),
}


def plainly_asked(arguments: Sequence[str]) -> AskedRecording | None:
    """What a command line asks for, if it is a plain one of `record`; None: Typer must parse it.

    Plain are `numascape record OPTIONS -- PROGRAM ARGUMENTS` and the same without `--`, with values
    that are not joined with their options.
    """
    if arguments[:1] != ["record"]:
        return None
    asked: dict[str, Any] = {}
    rest = list(arguments[1:])
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word in _SWITCHES:
            name, value = _SWITCHES[word]
            asked[name] = value
        elif word in _VALUES and rest and rest[0] and not rest[0].startswith("-"):
            name, read = _VALUES[word]
            try:
                asked[name] = read(rest.pop(0))
            except ValueError:
                return None
        else:
            return None
    return AskedRecording(rest, **asked) if rest else None
