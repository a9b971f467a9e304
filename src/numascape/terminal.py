# SPDX-License-Identifier: Apache-2.0
"""Writes the messages and results that people read.

The result of a verb goes to standard output. Progress and other messages go to standard error, so
that they do not disturb a pipe. Colours and progress bars appear only on terminals, and colours
only if NO_COLOR is not set.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

T = TypeVar("T")

# Wider than any table, in columns of text.
_UNLIMITED = 10_000


def output() -> Console:
    """Standard output, for results: as wide as the terminal; unlimited in a file or pipe.

    On a terminal, `soft_wrap` has no effect: sentences are wrapped between words, because the
    terminal itself would break words.
    """
    from rich.console import Console

    class Results(Console):
        def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
            super().print(*objects, soft_wrap=soft_wrap and not self.is_terminal, **options)

    _replace_what_cannot_be_written(sys.stdout)
    console = Results(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNLIMITED
    return console


def messages() -> Console:
    """Standard error, for everything else."""
    # Imported where it is used, because a quiet verb that succeeds prints nothing.
    from rich.console import Console

    _replace_what_cannot_be_written(sys.stderr)
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _replace_what_cannot_be_written(stream: object) -> None:
    """Replace characters that the encoding does not have by question marks, without an error."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def printable(text: str) -> str:
    r"""The text with control characters escaped (ESC becomes \x1b), on one line.

    Names in a trace are not trusted: they must not control the terminal.
    """
    return "".join(
        character
        # Cc: control; Cf: directions, joiners; Zl, Zp: line ends; Cs: unpaired surrogates.
        if unicodedata.category(character) not in {"Cc", "Cf", "Zl", "Zp", "Cs"}
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


@contextmanager
def as_far_as_possible() -> Iterator[None]:
    """Ignore errors of messages that cannot be written (standard error is full, or closed)."""
    with suppress(OSError):
        yield


def say(message: str) -> None:
    """Print one line about the progress."""
    from rich.text import Text

    with as_far_as_possible():
        messages().print(Text(f"numascape: {printable(message)}"))


def suggest(*arguments: str) -> None:
    """Print the next command on its own line, so that it can be copied."""
    from rich.text import Text

    command = "numascape"
    # In a virtual environment that is not active, the shell would not find the bare name.
    if shutil.which(command) is None and Path(sys.argv[0]).name == command:
        command = sys.argv[0]
    with as_far_as_possible():
        messages().print(Text(f"    {printable(shlex.join([command, *arguments]))}"))


def complain(message: str) -> None:
    """Print one line about an error."""
    from rich.text import Text

    line = Text.assemble(("numascape: error: ", "bold red"), printable(" ".join(message.split())))
    with as_far_as_possible():
        messages().print(line)


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
    """Yield a function that shows the progress of several tasks: name, done amount, and total.

    Each task has a progress bar on standard error, if that is a terminal. The function is
    thread-safe.
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


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Show on standard error, if that is a terminal, what is being done and for how long."""
    console = messages()
    if not console.is_terminal:
        yield
        return
    with _bars(console) as progress:
        progress.add_task(doing, total=None)
        yield


def _bars(console: Console) -> Progress:
    # Imported here, because without a terminal nothing needs it.
    from rich.progress import (
        BarColumn,
        Progress,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class TimeLeft(TimeRemainingColumn):
        """The time left, if it is known."""

        def render(self, task: Task) -> Text:
            known = task.total is not None and task.time_remaining is not None
            return Text.assemble("left: ", super().render(task)) if known else Text()

    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), TimeElapsedColumn(), TimeLeft())
    return Progress(*columns, console=console, transient=True)
