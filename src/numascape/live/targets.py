# SPDX-License-Identifier: Apache-2.0
"""Finds the processes that a user names: by number, by name, or by control group."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numascape.errors import NumascapeError

_GROUPS: Final = ("sys/fs/cgroup", "sys/fs/cgroup/unified", "sys/fs/cgroup/memory")
# Positions of fields after the name in parentheses; the first one is field 3 of proc(5).
_STATE, _STARTED, _STACK, _CPU = 0, 19, 25, 36


@dataclass(frozen=True)
class Stat:
    """Fields of /proc/PID/stat. `started` is in clock ticks since the system started.

    `stack` is where the main thread's stack begins, for users who may look at the process, else 0.
    `stack` changes when the process executes a program.
    """

    name: str
    state: str
    started: int
    cpu: int
    stack: int


@dataclass(frozen=True)
class TargetProcess:
    """A process. `started` distinguishes it from a later process with the same number."""

    pid: int
    name: str
    started: int
    root: Path = Path("/")

    @property
    def folder(self) -> Path:
        """Its folder in /proc."""
        return self.root / "proc" / str(self.pid)

    @property
    def is_alive(self) -> bool:
        """Whether this process still runs."""
        now = read_stat(self.folder / "stat")
        return now is not None and now.started == self.started and now.state not in "ZXx"

    def __str__(self) -> str:
        return f"process {self.pid} ({self.name})"


def read_stat(path: Path) -> Stat | None:
    """The stat file of a process or thread; None if there is none, or if it is damaged."""
    try:
        text = path.read_bytes().decode(errors="replace")
        fields = text[text.rindex(")") + 2 :].split()
        name = text[text.index("(") + 1 : text.rindex(")")]
        started, cpu, stack = (int(fields[at]) for at in (_STARTED, _CPU, _STACK))
        return Stat(name, fields[_STATE], started, cpu, stack)
    except (OSError, ValueError, IndexError):
        return None


def find_targets(named: Iterable[str], root: Path = Path("/")) -> list[TargetProcess]:
    """The processes of numbers, names and control groups, each once, by number.

    Raises NumascapeError if one of these names none.
    """
    pids: set[int] = set()
    for text in named:
        found = set(_pids(text, root))
        if not found:
            raise NumascapeError(_nothing(text))
        pids |= found
    targets = [target for pid in sorted(pids) if (target := target_of(pid, root)) is not None]
    if not targets:
        raise NumascapeError("the processes have ended")
    return targets


def target_of(pid: int, root: Path = Path("/")) -> TargetProcess | None:
    """The process of this number; None if it has ended."""
    stat = read_stat(root / "proc" / str(pid) / "stat")
    if stat is None or stat.state in "ZXx":
        return None
    return TargetProcess(pid, stat.name, stat.started, root)


def is_number(text: str) -> bool:
    """Whether it is the number of a process, or several with commas."""
    return text.isascii() and text.replace(",", "").isdecimal()


def _nothing(text: str) -> str:
    if text.isascii() and text.isdecimal():
        return f"there is no process {text[:20]}"
    if "/" in text:
        return f"{text} is not a control group with processes: name its folder below /sys/fs/cgroup"
    return f"no process is called {text!r}: give its number, or its name as `ps -e` shows it"


def _pids(text: str, root: Path) -> Iterator[int]:
    if is_number(text):
        # The largest number of a process is 2^22.
        words = [word for word in text.split(",") if word]
        ended = [word for word in words if len(word) > 10 or target_of(int(word), root) is None]
        if ended:
            raise NumascapeError(f"there is no process {ended[0][:20]}")
        yield from map(int, words)
    elif "/" in text:
        yield from _of_group(text, root)
    else:
        yield from (pid for pid in _all_pids(root) if _is_called(text, root / "proc" / str(pid)))


def _all_pids(root: Path) -> Iterator[int]:
    own = os.getpid() if root == Path("/") else 0
    for folder in (root / "proc").glob("[0-9]*"):
        if folder.name.isdecimal() and int(folder.name) != own:
            yield int(folder.name)


def _is_called(name: str, folder: Path) -> bool:
    """Whether it is the process' name, or the last part of the program's path.

    The kernel cuts names after 15 characters.
    """
    try:
        command = (folder / "cmdline").read_bytes().split(b"\0")[0]
        comm = (folder / "comm").read_text(errors="replace").rstrip("\n")
    except OSError:
        return False
    # Threads of the kernel have no command.
    return bool(command) and name in {comm, os.fsdecode(command).rpartition("/")[2]}


def _of_group(text: str, root: Path) -> Iterator[int]:
    """The processes of a control group and of all groups below it."""
    parts = [part for part in text.split("/") if part not in {"", ".", ".."}]
    places = [root.joinpath(*parts), *(root.joinpath(mount, *parts) for mount in _GROUPS)]
    for place in places:
        if (place / "cgroup.procs").is_file():
            # Unlike Path.glob, this leaves out groups that end meanwhile.
            for folder, _, names in os.walk(place):
                if "cgroup.procs" in names:
                    yield from _numbers(Path(folder) / "cgroup.procs")
            return


def _numbers(file: Path) -> list[int]:
    try:
        return [int(word) for word in file.read_text().split()]
    except (OSError, ValueError):
        return []
