# SPDX-License-Identifier: Apache-2.0
"""Strips: the node of the pages in each sixteenth of a structure's addresses."""

from __future__ import annotations

from typing import Final

from numascape.live.positions import PlacedBytes, bytes_by_position

POSITIONS: Final = 16
UNKNOWN: Final = -1
"""The pages of a position are on a node that the kernel does not report."""
SEVERAL: Final = -2
"""The pages of a position are on several nodes, none of which dominates."""
NOTHING: Final = -3
"""No page of a position is in memory."""
# A position is of a node that has at least this share of the pages there.
_DOMINATES: Final = 0.75


def node_strip(placed: PlacedBytes) -> list[int]:
    """For each position, the node that dominates there, or UNKNOWN, SEVERAL or NOTHING."""
    by_node = bytes_by_position(placed, POSITIONS)
    strip = []
    for at in range(POSITIONS):
        here = {node: float(of_node[at]) for node, of_node in by_node.items() if of_node[at]}
        most = max(here, key=lambda node: here[node], default=NOTHING)
        dominates = not here or here[most] >= _DOMINATES * sum(here.values())
        strip.append(most if dominates else SEVERAL)
    return strip
