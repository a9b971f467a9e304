# SPDX-License-Identifier: Apache-2.0
"""Will an allocation be local? What the kernel's allocator would do, node by node.

Under the default policy a page comes from the first node of its node's order that has memory above
the low watermark (mm/page_alloc.c, get_page_from_freelist); page cache is not given up for it
unless every node is that full, or zone_reclaim_mode says so (mm/vmscan.c, node_reclaim).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from numascape.host.node_memory import NodeMemory
from numascape.host.state import HostState

# Page cache that node_reclaim leaves: the default of vm.min_unmapped_ratio, of the node.
_UNMAPPED_LEFT: Final = 0.01


@dataclass(frozen=True)
class Share:
    """A node's part of the allocation, in bytes.

    `local` fits there; `elsewhere` says which nodes take the rest; `reclaimed` is more than all
    free memory, so that page cache will be given up for it, wherever it is; `missing` has no place.
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
        """Bytes that will not, or not surely, be on the node."""
        return self.wanted - self.local


@dataclass(frozen=True)
class Prediction:
    """Where it would go; `over_limit` is how much more it is than a control group allows."""

    shares: tuple[Share, ...]
    over_limit: int

    @property
    def local(self) -> bool:
        """Whether all of it would be local, and allowed."""
        return not self.over_limit and not any(share.spilled for share in self.shares)


def available(node: NodeMemory, zone_reclaim_mode: int | None) -> int:
    """Bytes that an allocation gets from its own node before it goes elsewhere."""
    given_up = 0
    if (zone_reclaim_mode or 0) & 1:
        given_up = max(0, node.clean - int(_UNMAPPED_LEFT * node.total))
    return node.usable + given_up


def predict(state: HostState, wanted: dict[int, int]) -> Prediction:
    """Where memory would land that threads on these nodes touch first, in bytes by node.

    Every node serves its own first; what is left spills in the order of the nodes' numbers.
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
            # What is freed for it can only be here.
            local[number] += reclaimed
            reclaimed = 0
        shares.append(
            Share(number, size, local[number], elsewhere, reclaimed, left - reclaimed,
                  state.allowed(number))
        )  # fmt: skip
    group = state.limits.group
    over = max(0, sum(wanted.values()) - group.left) if group else 0
    return Prediction(tuple(shares), over)
