# SPDX-License-Identifier: Apache-2.0
"""Messages and checks about the files that verbs write."""

from __future__ import annotations

from pathlib import Path

from numascape import terminal
from numascape.errors import NumascapeError


def say_written(file: Path, size: int, content: str = "") -> None:
    """Name the page and its size in bytes, and the command that opens it."""
    terminal.say(f"wrote {file} ({size / 1e6:.1f} MB){content}")
    terminal.say(f"look at it in a browser: xdg-open {file}")


def check_folders(*files: Path | None) -> None:
    """Raise NumascapeError, before work that takes long, if the folder of a file is missing."""
    for file in files:
        if file is not None and not file.parent.is_dir():
            raise NumascapeError(f"cannot write {file}: {file.parent} is not a folder")
