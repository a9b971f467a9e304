# SPDX-License-Identifier: Apache-2.0
"""Completes short command lines, and suggests what to type if the first word is not a verb."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# Words of other tools, and words that people try, with the command that does it here.
_USUAL_WORDS: Final = {
    "attach": "record --pid PID",
    "diff": "compare BEFORE AFTER",
    "exec": "run --plan PLAN -- PROGRAM",
    "gui": "view TRACE",
    "info": "show TRACE",
    "list": "show TRACE",
    "lstopo": "machine show",
    "machines": "machine show --list",
    "migrate": "move --pid PID --policy POLICY",
    "open": "view TRACE",
    "optimise": "advise TRACE --machine MACHINE -o plan.toml",
    "optimize": "advise TRACE --machine MACHINE -o plan.toml",
    "plan": "advise TRACE --machine MACHINE -o plan.toml",
    "profile": "record -- PROGRAM",
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


# Options whose value may be left out, by verb, with the value that they then have.
_WITHOUT_VALUE: Final = {"pages": {"--watch": "2"}, "host": {"--watch": "2"}}


def understood(arguments: list[str]) -> list[str]:
    """The complete command line for `help`, `help VERB`, `version` and `--watch`.

    Others are unchanged.
    """
    if arguments[:1] == ["help"]:
        return [*arguments[1:], "--help"]
    if arguments == ["version"]:
        return ["--version"]
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


def typed_instead(arguments: list[str]) -> str | None:
    """The command that the user probably meant by a line that begins with no verb."""
    word, *rest = arguments
    if word in _OF_GROUPS and rest:
        return _OF_GROUPS[word].get(rest[0])
    if word in _USUAL_WORDS:
        return _USUAL_WORDS[word]
    path = Path(word)
    if path.suffix == ".numascape":
        name = shlex.quote(word)
        return f"report {name}, or in the terminal: numascape show {name}"
    if path.suffix == ".toml" and path.is_file():
        return f"run --plan {shlex.quote(word)} -- PROGRAM"
    if "/" in word and path.is_file() and os.access(path, os.X_OK):
        return f"record -- {shlex.join(arguments)}"
    if "/" not in word and shutil.which(word):
        return f"record -- {shlex.join(arguments)}"
    return None
