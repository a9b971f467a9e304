# SPDX-License-Identifier: Apache-2.0
"""A sweep allocates only memory that no other program needs, and ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numascape.host.node_memory import KERNEL_PAGE_BYTES
from numascape.host.state import HostState, read_state
from numascape.host.sweep_bounds import goal, next_step
from numascape.host.sweeping import sweep
from unit.host.conftest import GIB, MIB
from unit.host.test_state import write


class Kernel:
    """Node 0 of a host; allocations take free memory first, then clean cache."""

    def __init__(self, state: HostState) -> None:
        self.state, self.held, self.steps = state, 0, 0

    def take(self, size: int) -> None:
        node = self.state.node(0)
        floor = node.watermarks.low if node.watermarks else 0
        from_free = min(size, max(0, node.free - floor))
        left = size - from_free
        assert left <= node.clean, "nothing can leave: this would be the end of some program"
        changed = replace(node, free=node.free - from_free, cache=node.cache - left)
        self.state = replace(self.state, nodes=(changed, *self.state.nodes[1:]))
        self.held += size
        self.steps += 1


def swept(state: HostState, wanted: int | None = None, keep: float = 0.0) -> tuple[Kernel, str]:
    kernel, target = Kernel(state), goal(state, 0, wanted, keep)
    for _ in range(10_000):
        step = next_step(kernel.state, target, kernel.held)
        if step.size == 0:
            return kernel, step.reason
        kernel.take(step.size)
    raise AssertionError("it finds no end")


def test_all_clean_cache_leaves_but_a_margin(two_nodes: Path) -> None:
    state = read_state(two_nodes)
    kernel, reason = swept(state)
    assert reason == "all clean cache that may be freed has been freed"
    assert kernel.state.node(0).clean < 0.03 * 8 * GIB
    assert kernel.state.node(0).dirty == state.node(0).dirty
    assert kernel.state.node(1) == state.node(1)


def test_a_part_is_kept(two_nodes: Path) -> None:
    state = read_state(two_nodes)
    kernel, _ = swept(state, keep=0.5)
    assert 0.5 <= kernel.state.node(0).clean / state.node(0).clean < 0.6


def test_no_more_than_wanted_is_taken(two_nodes: Path) -> None:
    kernel, reason = swept(read_state(two_nodes), 2 * GIB)
    assert reason == "the wanted amount has been freed"
    assert 2 * GIB - MIB <= kernel.held <= 2 * GIB


@pytest.mark.parametrize("nodes", [1, 4])
def test_limits_are_never_reached(two_nodes: Path, nodes: int) -> None:
    write(
        two_nodes,
        {
            "proc/self/cgroup": "0::/job\n",
            "sys/fs/cgroup/cgroup.controllers": "memory\n",
            "sys/fs/cgroup/job/memory.max": f"{GIB}\n",
        },
    )
    current = two_nodes / "sys/fs/cgroup/job/memory.current"
    held = 0
    for _ in range(1000):
        current.write_text(f"{held * nodes}\n")
        state = read_state(two_nodes)
        step = next_step(state, goal(state, 0, None, 0.0, nodes), held)
        if step.size == 0:
            break
        held += step.size
    assert not step.full
    assert "/sys/fs/cgroup/job allows no more" in step.reason
    assert 0.9 * GIB < held * nodes < GIB


def with_cache(state: HostState, clean: int, **changes: Any) -> HostState:
    """Node 0 with this amount of clean cache, and other changes."""
    node = state.node(0)
    node = replace(node, cache=node.cache - node.clean + clean, **changes)
    return replace(state, nodes=(node, *state.nodes[1:]))


def test_a_node_without_clean_cache_is_left_alone(two_nodes: Path) -> None:
    kernel, reason = swept(with_cache(read_state(two_nodes), MIB))
    assert kernel.held == 0
    assert reason == "all clean cache that may be freed has been freed"


def test_a_small_node_is_swept_in_few_steps(two_nodes: Path) -> None:
    half = 128 * MIB
    state = with_cache(read_state(two_nodes), half, total=2 * half, free=half, watermarks=None)
    kernel, _ = swept(state)
    assert kernel.steps < 20
    assert kernel.state.node(0).clean < 0.06 * 2 * half


@pytest.mark.program
def test_this_host_gives_and_gets_back() -> None:
    before = Path("/proc/self/oom_score_adj").read_text()
    told: list[tuple[int, int, int]] = []
    (done,) = sweep([0], 32 * MIB, 0.0, False, lambda *now: told.append(now))
    assert done.held == (told[-1][1] if told else 0) <= 32 * MIB
    assert done.held % KERNEL_PAGE_BYTES == 0
    assert done.full == (done.held > 31 * MIB)
    assert Path("/proc/self/oom_score_adj").read_text() == before
