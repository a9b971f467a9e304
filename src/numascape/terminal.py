# SPDX-License-Identifier: Apache-2.0
"""What Numascape writes for people to read.

A verb's result goes to standard output, and everything about how it is going to standard error, so
that neither disturbs a recorded program's output or a pipe. Colours and progress bars appear on
terminals only, and colours not where NO_COLOR is set.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

T = TypeVar("T")

# Columns of text; wider than any table.
_UNLIMITED = 10_000


def output() -> Console:
    """Standard output, for results: as wide as the terminal, or as needed in a file or pipe."""
    _replace_what_cannot_be_written(sys.stdout)
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNLIMITED
    return console


def messages() -> Console:
    """Standard error, for everything else."""
    _replace_what_cannot_be_written(sys.stderr)
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _replace_what_cannot_be_written(stream: object) -> None:
    """Let names that the terminal's encoding lacks have question marks, not end the program."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def printable(text: str) -> str:
    r"""The text with control characters escaped (ESC becomes \x1b), on one line.

    Names in a trace come from somebody's program: they must not steer the terminal.
    """
    return "".join(
        character
        # Cc: control; Cf: directions, joiners; Zl, Zp: line ends; Cs: unpaired surrogates.
        if unicodedata.category(character) not in {"Cc", "Cf", "Zl", "Zp", "Cs"}
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


def say(message: str) -> None:
    """Tell the user one line about how it is going."""
    messages().print(Text(f"numascape: {printable(message)}"))


def suggest(*arguments: str) -> None:
    """Show the next command to type, on a line of its own, so that it can be copied."""
    command = "numascape"
    # In a virtual environment that is not activated, the bare name would not be found.
    if shutil.which(command) is None and Path(sys.argv[0]).name == command:
        command = sys.argv[0]
    messages().print(Text(f"    {printable(shlex.join([command, *arguments]))}"))


def complain(message: str) -> None:
    """Tell the user one line about what went wrong."""
    messages().print(
        Text.assemble(("numascape: error: ", "bold red"), printable(" ".join(message.split())))
    )


def track(items: Iterable[T], total: int, doing: str, quiet: bool = False) -> Iterator[T]:
    """Iterate with a progress bar on standard error, if that is a terminal."""
    console = messages()
    if quiet or not console.is_terminal:
        yield from items
        return
    with _bars(console) as progress:
        yield from progress.track(items, total=total, description=doing)


@contextmanager
def amounts(quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """A function that shows how far several things are: their name, what is done, and of how much.

    They have progress bars on standard error, if that is a terminal. Threads may call it.
    """
    console = messages()
    if quiet or not console.is_terminal:
        yield lambda _name, _done, _total: None
        return
    with _bars(console) as progress:
        tasks: dict[str, TaskID] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name)
            progress.update(tasks[name], completed=done, total=total)

        yield show


def _bars(console: Console) -> Progress:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)
