# SPDX-License-Identifier: Apache-2.0
"""Reads the usual command lines of `numascape record`.

Typer, with what it loads, takes longer to parse a command line than a small program takes to be
recorded. Typer parses all other command lines, and prints all errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from numascape.recording.option_fields import NamedOption, named_options
from numascape.recording.options import RecordOptions, record_options
from numascape.recording.request import RecordRequest

# Beside the options of a recording, only these are read here. Command lines with others are rare.
_SWITCHES: Final[Mapping[str, tuple[str, bool]]] = {
    "-q": ("quiet", True),
    "--quiet": ("quiet", True),
}
_READERS: Final[Mapping[str, tuple[str, Callable[[str], Any]]]] = {
    "-o": ("output", Path),
    "--output": ("output", Path),
    "--ranks": ("ranks", str),
}


def _switches(options: Iterable[NamedOption]) -> dict[str, tuple[str, bool]]:
    """The words that need no value: the name of the option, and the value that they set."""
    return {
        word: (one.name, value)
        for one in options
        for word, value in {**one.switches, **one.former_switches}.items()
    }


def _readers(options: Iterable[NamedOption]) -> dict[str, tuple[str, Callable[[str], Any]]]:
    """The words before a value: the name, and what reads it; ValueError leaves it to Typer."""
    return {one.flag: (one.name, one.read_word) for one in options if not one.switches}


def plainly_asked(arguments: Sequence[str]) -> RecordRequest | None:
    """The recording that a plain command line asks for; None: Typer must parse the line.

    Plain command lines are `numascape record OPTIONS -- PROGRAM ARGUMENTS`, and the same without
    `--`. Their values are not joined with the options.
    """
    if arguments[:1] != ["record"]:
        return None
    of_recording = named_options(RecordOptions)
    switches = {**_SWITCHES, **_switches(of_recording.values())}
    readers = {**_READERS, **_readers(of_recording.values())}
    asked: dict[str, Any] = {}
    rest = list(arguments[1:])
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word in switches:
            name, value = switches[word]
            asked[name] = value
        elif word in readers and rest and rest[0] and not rest[0].startswith("-"):
            name, read = readers[word]
            try:
                asked[name] = read(rest.pop(0))
            except ValueError:
                return None
        else:
            return None
    if not rest:
        return None
    options = record_options({name: asked.pop(name) for name in of_recording if name in asked})
    return RecordRequest(rest, options=options, **asked)
