# SPDX-License-Identifier: Apache-2.0
"""Suggests what to type if the first word of a command line is not a verb."""

from __future__ import annotations

import os
import shlex
import shutil
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
    "top": "pages --pid PID --watch 2",
    "topo": "machine show",
    "topology": "machine show",
    "trace": "record -- PROGRAM",
}
_OF_GROUPS: Final = {"machine": {"list": "machine show --list", "measure": "machine probe"}}


def understood(arguments: list[str]) -> list[str]:
    """The command line that `help`, `help VERB` and `version` stand for; others unchanged."""
    if arguments[:1] == ["help"]:
        return [*arguments[1:], "--help"]
    if arguments == ["version"]:
        return ["--version"]
    return arguments


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
