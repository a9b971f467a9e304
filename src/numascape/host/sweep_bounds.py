# SPDX-License-Identifier: Apache-2.0
"""Computes how much memory of a node a sweep may allocate next without harming other programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from numascape.host.state import HostState

# Clean cache of this share of the node's memory is not swept: it may be locked or in use.
_MARGIN: Final = 0.02
# Only this share of the available memory is allocated per step, because other programs also
# allocate.
_AT_ONCE: Final = 0.25
_MIN_STEP: Final = 1 << 20
# The largest step: this share of the node's memory, or this number of bytes if that is more.
_LARGEST_SHARE: Final = 1 / 64
_LARGEST_STEP: Final = 64 << 20
_ALL_LEFT: Final = "all clean cache that may be freed has been freed"


@dataclass(frozen=True)
class Goal:
    """The goal of the sweep of one node; it does not change during the sweep.

    `most` is the number of bytes to allocate in total, `kept` the clean cache to keep, and
    `sweeping` the number of nodes that are swept at the same time.
    """

    node: int
    most: int
    kept: int
    sweeping: int = 1


@dataclass(frozen=True)
class SweepStep:
    """Bytes to allocate next, or 0 and why the sweep ends; `full`: it has reached its goal."""

    size: int
    reason: str = ""
    full: bool = True


def goal(state: HostState, node: int, wanted: int | None, keep: float, sweeping: int = 1) -> Goal:
    """The goal for a node: to allocate `wanted` bytes, or all that is free or can be freed.

    `keep` is the share of its clean cache that stays, 0 to 1.
    """
    memory = state.node(node)
    kept = int(keep * memory.clean)
    most = memory.free + memory.clean - kept
    return Goal(node, most if wanted is None else min(wanted, most), kept, sweeping)


def next_step(state: HostState, wanted: Goal, held: int) -> SweepStep:
    """The step after `held` bytes, such that neither a watermark nor a limit is reached."""
    memory = state.node(wanted.node)
    left = wanted.most - held
    if left < _MIN_STEP:
        return SweepStep(0, "the wanted amount has been freed")
    marks = memory.watermarks
    reserve = marks.high + marks.reserved if marks else int(_MARGIN * memory.total)
    leaving = memory.clean - wanted.kept - int(_MARGIN * memory.total)
    if leaving <= 0:
        return SweepStep(0, _ALL_LEFT)
    room = memory.free - reserve + leaving
    most = max(_LARGEST_STEP, int(_LARGEST_SHARE * memory.total))
    size = min(left, most, int(_AT_ONCE * room))
    group = state.limits.group
    if group is not None:
        allowed = int(_AT_ONCE * (group.left - int(_MARGIN * group.limit)) / wanted.sweeping)
        if allowed < min(size, _MIN_STEP):
            return SweepStep(0, f"the control group {group.group} allows no more", full=False)
        size = min(size, allowed)
    if size < _MIN_STEP:
        return SweepStep(0, _ALL_LEFT)
    return SweepStep(size)
