# SPDX-License-Identifier: Apache-2.0
"""How much memory of a node may be taken next so that clean cache leaves, and nobody is harmed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from numascape.host.state import HostState

# Left alone: part of what counts as clean cache is locked or in use for a moment.
_MARGIN: Final = 0.02
# Of what seems to be possible; more programs than this one take memory meanwhile.
_AT_ONCE: Final = 0.25
_LEAST: Final = 1 << 20
_STEPS: Final = 64


@dataclass(frozen=True)
class Goal:
    """What a sweep of one node is to reach, fixed at its start.

    `most` is the number of bytes to take in all, `kept` the clean cache that stays; `sweeping` is
    how many nodes are swept at the same time.
    """

    node: int
    most: int
    kept: int
    sweeping: int = 1


@dataclass(frozen=True)
class Step:
    """Bytes to take next, or 0 and why it ends there; `full` if that is as far as was wanted."""

    size: int
    reason: str = ""
    full: bool = True


def goal(state: HostState, node: int, wanted: int | None, keep: float, sweeping: int = 1) -> Goal:
    """The goal for a node: to take `wanted` bytes, or as much as is free or leaves.

    `keep` is the part of its clean cache that stays, 0 to 1.
    """
    memory = state.node(node)
    kept = int(keep * memory.clean)
    most = memory.free + memory.clean - kept
    return Goal(node, most if wanted is None else min(wanted, most), kept, sweeping)


def next_step(state: HostState, wanted: Goal, held: int) -> Step:
    """What to take after `held` bytes, so that neither watermarks nor a limit are reached."""
    memory = state.node(wanted.node)
    left = wanted.most - held
    if left < _LEAST:
        return Step(0, "all that was wanted")
    marks = memory.watermarks
    reserve = marks.high + marks.reserved if marks else int(_MARGIN * memory.total)
    margin = int(_MARGIN * memory.total)
    room = memory.free - reserve + max(0, memory.clean - wanted.kept - margin)
    most = max(_LEAST, memory.total // _STEPS)
    size = min(left, most, int(_AT_ONCE * room))
    group = state.limits.group
    if group is not None:
        allowed = int(_AT_ONCE * (group.left - int(_MARGIN * group.limit)) / wanted.sweeping)
        if allowed < min(size, _LEAST):
            return Step(0, f"the control group {group.group} allows no more", full=False)
        size = min(size, allowed)
    if size < _LEAST:
        return Step(0, "all clean cache that may leave has left")
    return Step(size)
