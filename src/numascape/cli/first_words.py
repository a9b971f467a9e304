# SPDX-License-Identifier: Apache-2.0
"""Completes short command lines, and suggests what to type if one is not understood."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# Words of other tools, and words that people try, with the command that does it here.
_USUAL_WORDS: Final = {
    "attach": "record --pid PID",
    "bench": "machine bench",
    "check": "host check",
    "chrome": "export TRACE --format chrome -o run.trace.json",
    "cores": "machine cores",
    "diff": "compare BEFORE AFTER",
    "exec": "run --plan PLAN -- PROGRAM",
    "firefox": "export TRACE --format chrome -o run.trace.json",
    "flamegraph": "view TRACE, whose page has the call paths",
    "gui": "view TRACE",
    "heatmap": "view TRACE",
    "info": "show TRACE",
    "list": "show TRACE",
    "lstopo": "machine show",
    "machines": "machine show --list",
    "measure": "machine probe",
    "migrate": "move --pid PID --policy POLICY",
    "open": "view TRACE",
    "numastat": "pages --pid PID",
    "optimise": "advise TRACE --machine MACHINE -o plan.toml",
    "optimize": "advise TRACE --machine MACHINE -o plan.toml",
    "perfetto": "export TRACE --format chrome -o run.trace.json",
    "plan": "advise TRACE --machine MACHINE -o plan.toml",
    "probe": "machine probe",
    "profile": "record -- PROGRAM",
    "sarif": "advise TRACE --sarif run.sarif",
    "simulate": "predict TRACE --machine MACHINE",
    "stat": "show TRACE",
    "stats": "show TRACE",
    "summary": "show TRACE",
    "top": "pages --pid PID --watch",
    "topo": "machine show",
    "topology": "machine show",
    "trace": "record -- PROGRAM",
}
_OF_GROUPS: Final = {"machine": {"list": "machine show --list", "measure": "machine probe"}}
_USUAL_OPTIONS: Final = {"-V": "--version", "-v": "--version", "-version": "--version"}
_OTHER_FORMATS: Final = {
    "firefox": "export TRACE --format chrome -o run.trace.json, which the Firefox Profiler reads",
    "html": "report TRACE -o run.html",
    "json": "show TRACE --json",
    "perfetto": "export TRACE --format chrome -o run.trace.json",
    "sarif": "advise TRACE --sarif run.sarif",
}
_OF_MACHINES: Final = ("advise", "compare", "predict", "report")
_GROUPS: Final = ("machine", "host")


# Options whose value may be left out, by verb, with the value that they then have.
_WITHOUT_VALUE: Final = {"pages": {"--watch": "2"}, "host": {"--watch": "2"}}


def understood(arguments: list[str]) -> list[str]:
    """The complete command line for `help`, `help VERB`, `version`, `--watch` and groups alone.

    Others are unchanged.
    """
    if arguments[:1] == ["help"]:
        return [*arguments[1:], "--help"]
    if arguments == ["version"]:
        return ["--version"]
    if len(arguments) == 1 and arguments[0] in _GROUPS:
        return [*arguments, "--help"]
    usual = _WITHOUT_VALUE.get(arguments[0], {}) if arguments else {}
    return _with_values(arguments, usual) if usual else arguments


def _with_values(arguments: list[str], usual: Mapping[str, str]) -> list[str]:
    """The arguments with the usual value after each of these options that has none.

    Typer's options either always have a value, or never.
    """
    complete = []
    for word, following in zip(arguments, [*arguments[1:], "-"], strict=True):
        complete.append(word)
        is_option = following.startswith("-") and not following[1:2].isdigit()
        if word in usual and is_option:
            complete.append(usual[word])
    return complete


def typed_instead(arguments: list[str], reason: str) -> str | None:
    """The command that the user probably meant; `reason` says why the line is not understood."""
    if reason.startswith("No such command"):
        return _instead_of_word(arguments)
    if reason.startswith("No such option") and arguments[0] in _USUAL_OPTIONS:
        return _USUAL_OPTIONS[arguments[0]]
    if extra := re.fullmatch(r"Got unexpected extra argument(?:\(s\))? \((\S+)\)", reason):
        return _with_machine(arguments, extra[1])
    if wrong := re.match(r"Invalid value for '--format': '(\w+)' is not one of", reason):
        return _OTHER_FORMATS.get(wrong[1])
    return None


def _instead_of_word(arguments: list[str]) -> str | None:
    """The command for a line whose first word, or that after a group, is not a verb."""
    word, *rest = arguments
    if word in _OF_GROUPS and rest:
        known = _OF_GROUPS[word].get(rest[0])
        return known or (f"machine show {shlex.quote(rest[0])}" if _is_machine(rest[0]) else None)
    if word in _USUAL_WORDS:
        return _USUAL_WORDS[word]
    path = Path(word)
    if path.suffix == ".numascape":
        name = shlex.quote(word)
        return f"report {name}, or in the terminal: numascape show {name}"
    if path.suffix == ".toml" and path.is_file():
        return f"run --plan {shlex.quote(word)} -- PROGRAM"
    if "/" in word and not path.is_dir():
        return f"record -- {shlex.join(arguments)}"
    if "/" not in word and shutil.which(word):
        return f"record -- {shlex.join(arguments)}"
    return None


def _with_machine(arguments: list[str], name: str) -> str | None:
    """The line with `--machine` before the name of a machine."""
    if arguments[0] not in _OF_MACHINES or name not in arguments or not _is_machine(name):
        return None
    others = list(arguments)
    others.remove(name)
    return shlex.join([*others, "--machine", name])


def _is_machine(word: str) -> bool:
    """Whether a machine of this name is installed, or a file with its description exists."""
    # Imported here: the help and lines that are understood need no machines.
    from numascape.machine.sources import shipped_machines

    return word in shipped_machines() or Path(word).is_file()
