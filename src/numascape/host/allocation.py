# SPDX-License-Identifier: Apache-2.0
"""Predicts whether an allocation will be local, by the rules of the kernel's page allocator.

Under the default policy, a page comes from the first node in the fallback order of the thread's
node that has free memory above the low watermark (mm/page_alloc.c, get_page_from_freelist). Page
cache is freed for it only if no node has that much free memory, or if zone_reclaim_mode is set
(mm/vmscan.c, node_reclaim).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from numascape.host.node_memory import NodeMemory
from numascape.host.state import HostState

# The share of a node that node_reclaim leaves as page cache: the default of vm.min_unmapped_ratio.
_UNMAPPED_LEFT: Final = 0.01


@dataclass(frozen=True)
class Share:
    """A node's part of the allocation, in bytes.

    `local` fits on the node, and `elsewhere` are the bytes on other nodes. `reclaimed` exceeds all
    free memory: the kernel frees page cache for it, on any node. `missing` does not fit at all.
    """

    node: int
    wanted: int
    local: int
    elsewhere: dict[int, int]
    reclaimed: int
    missing: int
    allowed: bool

    @property
    def spilled(self) -> int:
        """Bytes that are not certain to be on the node."""
        return self.wanted - self.local


@dataclass(frozen=True)
class PredictedAllocation:
    """The predicted placement; `over_limit` is the bytes beyond the limit of a control group."""

    shares: tuple[Share, ...]
    over_limit: int

    @property
    def local(self) -> bool:
        """Whether all memory would be local, and within the limit."""
        return not self.over_limit and not any(share.spilled for share in self.shares)


def available(node: NodeMemory, zone_reclaim_mode: int | None) -> int:
    """Bytes that an allocation gets from its own node before it goes to other nodes."""
    given_up = 0
    if (zone_reclaim_mode or 0) & 1:
        given_up = max(0, node.clean - int(_UNMAPPED_LEFT * node.total))
    return node.usable + given_up


def predict_allocation(state: HostState, wanted: dict[int, int]) -> PredictedAllocation:
    """Predict where memory is placed; `wanted` is the bytes that threads of a node touch first.

    Each node serves its own threads first. Then the rest spills, in order of the nodes' numbers.
    """
    mode = state.settings.zone_reclaim_mode
    free = {node.node: available(node, mode) for node in state.nodes if state.allowed(node.node)}
    reclaimable = sum(node.reclaimable for node in state.nodes if state.allowed(node.node))
    local = {}
    for number, size in wanted.items():
        local[number] = min(size, free.get(number, 0))
        if number in free:
            free[number] -= local[number]
    shares = []
    for number, size in sorted(wanted.items()):
        left = size - local[number]
        elsewhere = {}
        for other in state.node(number).fallback[1:]:
            taken = min(left, free.get(other, 0))
            if taken:
                elsewhere[other] = taken
                free[other] -= taken
                left -= taken
        reclaimed = min(left, reclaimable)
        reclaimable -= reclaimed
        if len(free) == 1 and number in free:
            # All reclaimed memory is on this node.
            local[number] += reclaimed
            reclaimed = 0
        shares.append(
            Share(number, size, local[number], elsewhere, reclaimed, left - reclaimed,
                  state.allowed(number))
        )  # fmt: skip
    group = state.limits.group
    over = max(0, sum(wanted.values()) - group.left) if group else 0
    return PredictedAllocation(tuple(shares), over)
