# SPDX-License-Identifier: Apache-2.0
"""In a guest: the program living.c as the target of moves, and events during a move."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from integration.living import Living
from numascape.live import moving
from numascape.live.mappings import parse_numa_maps
from vm.host_states import command, on_node

# A move has begun when this number of pages has arrived.
BEGUN = 64
# Between the passes of its threads, an emulated processor has time for the move.
BREATH_US = 10_000


@contextmanager
def living(
    program: Path, model: Path, node: int = 0, breath_us: int = BREATH_US
) -> Iterator[Living]:
    """The program, all of whose memory is on one node at first."""
    on_node(node)
    running = Living(program, model, str(breath_us))
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    while running.passes() < 1:
        pass
    # All of its threads exist now.
    for tid in Path(f"/proc/{running.pid}/task").iterdir():
        os.sched_setaffinity(int(tid.name), range(os.cpu_count() or 1))
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate()


def asked(running: Living, *words: str) -> dict[str, Any]:
    """Run `numascape move` on it; return its report, and the nodes that the program then prints."""
    before = running.passes()
    result = command("move", "--json", "--pid", str(running.pid), *words)
    while running.passes() < before + 1:
        pass
    return {**result, "where": running.where()}


def cpus(running: Living) -> list[list[int]]:
    tids = sorted(int(path.name) for path in Path(f"/proc/{running.pid}/task").iterdir())
    return [sorted(os.sched_getaffinity(tid)) for tid in tids]


def on_node_1(pid: int) -> int:
    """The pages of a process on node 1."""
    text = Path(f"/proc/{pid}/numa_maps").read_text()
    return sum(line.pages.get(1, 0) for line in parse_numa_maps(text).values())


@contextmanager
def in_mid_move(pid: int, act: Callable[[], object]) -> Iterator[None]:
    """Call `act` once: in the first pause of a move in the block, after BEGUN pages came to node 1.

    A thread that watches would come at any time on a busy machine, or too late.
    """
    before = on_node_1(pid)
    wait = moving._Mover._wait
    acted = False

    def acts_and_waits(self: moving._Mover, begin: float, size: int) -> None:
        nonlocal acted
        if not acted and on_node_1(pid) >= before + BEGUN:
            acted = True
            act()
        wait(self, begin, size)

    moving._Mover._wait = acts_and_waits  # type: ignore[method-assign]
    try:
        yield
    finally:
        moving._Mover._wait = wait  # type: ignore[method-assign]
    assert acted
