# SPDX-License-Identifier: Apache-2.0
"""Finds the name with which a recorded program was started.

The kernel reports only the executable that runs. If a program is started through a link, the user
may not know the name of the executable: redis-server is a link to redis-check-rdb.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path


def executable_of(process: Path) -> str:
    """The path of the executable of the process with this folder; empty if it cannot be read."""
    try:
        return str((process / "exe").readlink())
    except OSError:
        return ""


def started_as(executable: str, word: str) -> str:
    """The path of the link through which `word` started the executable, or the executable."""
    path = shutil.which(word) if word else None
    if path is None or Path(path).name == Path(executable).name:
        return executable
    same = os.path.realpath(path) == os.path.realpath(executable)
    return str(Path(path).absolute()) if same else executable


def without_title(command: Sequence[str]) -> list[str]:
    """The command of a running process; servers replace it by a title, such as `nginx: worker`."""
    first = command[0]
    if " " not in first.strip() or Path(first).exists():
        return list(command)
    name, *rest = first.split()
    return [name.rstrip(":"), *rest]
