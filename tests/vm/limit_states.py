# SPDX-License-Identifier: Apache-2.0
"""In a guest: moves of a program whose control group limits its memory, or forbids a node."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from integration.living import Living
from vm.live_target import asked, in_mid_move, living

GROUPS = Path("/sys/fs/cgroup")
GROUP = GROUPS / "moved"
ROOM = 1 << 20


@contextmanager
def limited(program: Path, model: Path) -> Iterator[Living]:
    """The program, started in a control group that may use both nodes, and little more memory."""
    GROUP.mkdir()
    (GROUP / "cpuset.mems").write_text("0-1")
    # Memory is charged to the group that the process is in when it touches the memory.
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))
    with living(program, model) as running:
        (GROUPS / "cgroup.procs").write_text(str(os.getpid()))
        (GROUP / "memory.max").write_text(str(charged() + ROOM))
        yield running


def charged() -> int:
    return int((GROUP / "memory.current").read_text())


def killed() -> int:
    words = (GROUP / "memory.events").read_text().split()
    return int(words[words.index("oom_kill") + 1])


def forbid_node_1() -> None:
    """The kernel then also moves the group's pages away from node 1."""
    (GROUP / "cpuset.mems").write_text("0")


def limits(program: Path, model: Path) -> dict[str, Any]:
    """A move of more memory than the limit leaves free; then node 1 is forbidden during a move."""
    with limited(program, model) as running:
        seen: dict[str, Any] = {"charged": charged()}
        own = ("--structure", "table", "--structure", "anonymous")
        seen["limited"] = asked(running, "--policy", "bind:1", *own, "-o", "limited.undo")
        seen["killed"], seen["charged after"] = killed(), charged()
        asked(running, "--policy", "bind:0", *own)
        with in_mid_move(running.pid, forbid_node_1):
            words = (*own, "--rate", "2", "-o", "forbidden.undo")
            seen["forbidden"] = asked(running, "--policy", "bind:1", *words)
        seen["refused"] = asked(running, "--policy", "bind:1", *own)
        seen["end"] = running.end()
    return seen
