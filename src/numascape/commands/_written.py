# SPDX-License-Identifier: Apache-2.0
"""What the verbs that write a page print at the end."""

from __future__ import annotations

from pathlib import Path

from numascape import terminal


def say_written(file: Path, size: int, content: str = "") -> None:
    """Name the page and its size in bytes, and the command that opens it."""
    terminal.say(f"wrote {file} ({size / 1e6:.1f} MB){content}")
    terminal.say(f"look at it in a browser: xdg-open {file}")
