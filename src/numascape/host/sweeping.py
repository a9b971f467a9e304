# SPDX-License-Identifier: Apache-2.0
"""Sweeps nodes: allocates their memory in steps until clean cache is freed, then frees it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from numascape.errors import NumascapeError
from numascape.host.node_memory import KERNEL_PAGE_BYTES
from numascape.host.rates import event_counts
from numascape.host.state import HostState, read_state
from numascape.host.sweep_bounds import Goal, goal, next_step
from numascape.installation import installed_file

_ROOT = Path("/")


@dataclass(frozen=True)
class Swept:
    """The result of one node: allocated bytes, why it ended, and whether it reached its goal."""

    node: int
    held: int
    reason: str
    full: bool


SweepProgress = Callable[[int, int, int], None]
"""Called with a node, the allocated bytes, and the goal in bytes."""


def sweep(
    nodes: list[int], wanted: int | None, keep: float, flush: bool, progress: SweepProgress
) -> list[Swept]:
    """Sweep all nodes at the same time; `flush` first writes dirty cache, so that it can be freed.

    Raises NumascapeError if memory of a node may not be used, or cannot be bound.
    """
    if flush:
        os.sync()
    state = read_state(_ROOT)
    for node in nodes:
        if not state.allowed(node):
            raise NumascapeError(f"a cpuset forbids node {node} here: sweep other nodes")
    goals = [goal(state, node, wanted, keep, len(nodes)) for node in nodes]
    stop = Event()
    with ThreadPoolExecutor(len(goals)) as pool:
        # Start all before waiting for a result, because each waits for its own process.
        running = [
            pool.submit(_sweep_node, each, len(state.nodes), progress, stop) for each in goals
        ]
        try:
            return [future.result() for future in running]
        finally:
            # An interruption, or the failure of one node, also ends the others.
            stop.set()


def _sweep_node(wanted: Goal, nodes: int, progress: SweepProgress, stop: Event) -> Swept:
    with subprocess.Popen(
        [str(installed_file("_host/hold")), str(wanted.node)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        try:
            start = _answer(holder, wanted.node)
            if not start["bound"] and nodes > 1:
                raise NumascapeError(
                    f"memory cannot be bound to node {wanted.node} (mbind is not permitted): in a "
                    "container, allow it or add the capability SYS_NICE"
                )
            return _take(holder, wanted, progress, stop)
        finally:
            holder.kill()


def _take(
    holder: subprocess.Popen[str], wanted: Goal, progress: SweepProgress, stop: Event
) -> Swept:
    held, swapped = 0, event_counts(_ROOT, "pswpout")
    while not stop.is_set():
        step = next_step(read_state(_ROOT), wanted, held)
        if step.size == 0:
            return Swept(wanted.node, held, step.reason, step.full)
        assert holder.stdin is not None
        try:
            holder.stdin.write(f"{step.size}\n")
            holder.stdin.flush()
        except BrokenPipeError:
            pass  # its output says why
        pages = {int(node): count for node, count in _answer(holder, wanted.node)["pages"].items()}
        held += pages.get(wanted.node, 0) * KERNEL_PAGE_BYTES
        progress(wanted.node, held, wanted.most)
        if set(pages) != {wanted.node}:
            return Swept(wanted.node, held, "pages landed on other nodes", False)
        if event_counts(_ROOT, "pswpout") > swapped:
            return Swept(wanted.node, held, "programs' memory began to be swapped out", False)
    return Swept(wanted.node, held, "it was interrupted", False)


def _answer(holder: subprocess.Popen[str], node: int) -> dict[str, Any]:
    assert holder.stdout is not None
    assert holder.stderr is not None
    line = holder.stdout.readline()
    if not line:
        reason = holder.stderr.read().strip() or f"status {holder.wait()}"
        raise NumascapeError(f"sweeping node {node} ended early: {reason[:200]}")
    answer: dict[str, Any] = json.loads(line)
    return answer


def all_nodes(state: HostState) -> list[int]:
    """The nodes that this process may sweep."""
    return [node for node in state.numbers if state.allowed(node)]
