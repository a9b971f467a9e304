# SPDX-License-Identifier: Apache-2.0
"""Reads the threads of a process: where they ran last, where they may run, their stacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numascape.live.targets import TargetProcess, read_stat
from numascape.machine.kernel_files import node_cpus
from numascape.machine.kernel_lists import parse_cpu_list

_WITHOUT_LIMIT: Final = 2 << 20


@dataclass(frozen=True)
class Thread:
    """A thread. `node` is that of the CPU on which it ran last; -1 if unknown.

    `stack_pointer` is 0 if the kernel does not report it: while the thread runs, and without the
    right to trace the process.
    """

    tid: int
    name: str
    started: int
    cpu: int
    node: int
    cpus: tuple[int, ...]
    stack_pointer: int

    def nodes(self, nodes: Mapping[int, tuple[int, ...]]) -> list[int]:
        """The nodes on whose CPUs it may run."""
        allowed = set(self.cpus)
        return [node for node, cpus in nodes.items() if allowed & set(cpus)]


def stack_bytes(target: TargetProcess) -> int:
    """The size of a thread's stack, unless the program chose another one.

    glibc takes the limit of the main thread's stack, and 2 MiB if there is none.
    """
    for line in _text(target.folder / "limits").splitlines():
        words = line.removeprefix("Max stack size").split()
        if line.startswith("Max stack size") and words and words[0].isdecimal():
            return int(words[0][:18])
    return _WITHOUT_LIMIT


def read_threads(target: TargetProcess) -> list[Thread]:
    """The threads in order of creation; none if the process has ended."""
    node_of = {cpu: node for node, cpus in node_cpus(target.root).items() for cpu in cpus}
    folders = [path for path in (target.folder / "task").glob("[0-9]*") if path.name.isdecimal()]
    found = [_thread(folder, node_of) for folder in folders]
    return sorted(
        (thread for thread in found if thread is not None),
        key=lambda thread: (thread.started, thread.tid),
    )


def _thread(folder: Path, node_of: Mapping[int, int]) -> Thread | None:
    stat = read_stat(folder / "stat")
    if stat is None:
        return None
    cpus: tuple[int, ...] = ()
    for line in _text(folder / "status").splitlines():
        if line.startswith("Cpus_allowed_list:"):
            try:
                cpus = tuple(parse_cpu_list(line.partition(":")[2]))
            except ValueError:
                cpus = ()
    return Thread(
        tid=int(folder.name),
        name=stat.name,
        started=stat.started,
        cpu=stat.cpu,
        node=node_of.get(stat.cpu, -1),
        cpus=cpus,
        stack_pointer=_stack_pointer(_text(folder / "syscall")),
    )


def _stack_pointer(text: str) -> int:
    """The last but one number in /proc/PID/task/TID/syscall of a thread that waits."""
    words = text.split()
    if len(words) < 3:
        return 0
    try:
        return int(words[-2], 16)
    except ValueError:
        return 0


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
