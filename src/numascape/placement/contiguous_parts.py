# SPDX-License-Identifier: Apache-2.0
"""Divides a structure into contiguous parts, each on the node with the lowest cost."""

from __future__ import annotations

from typing import Final

import numpy as np

from numascape.balance.graph import Floats, Integers

_ROUNDS: Final = 40


def contiguous_parts(cost: Floats, boundary_cost: float, max_parts: int) -> Integers:
    """The node of each piece in the division with the lowest cost.

    `cost` (pieces x nodes) is the cost of a piece on a node. Each boundary costs `boundary_cost`,
    which is raised until there are at most `max_parts` parts. Dynamic programming finds the exact
    optimum for the last boundary cost in pieces x nodes steps.
    """
    price = boundary_cost
    while True:
        nodes = _cheapest(cost, price)
        if 1 + np.count_nonzero(np.diff(nodes)) <= max_parts:
            return nodes
        price = max(4.0 * price, float(cost.max()) * 1e-6, 1e-300)


def parts_that_fit(
    cost: Floats, size: Floats, room: Floats, boundary_cost: float, max_parts: int
) -> Integers | None:
    """Like contiguous_parts, with at most `room` bytes on each node; None if none was found.

    Each byte on a node that is too full costs extra. The cost rises until the parts fit. The best
    of 40 rounds is returned.
    """
    nodes = contiguous_parts(cost, boundary_cost, max_parts)
    if _fits(nodes, size, room):
        return nodes
    total = max(float(size.sum()), 1.0)
    step = float((cost.max(axis=1) - cost.min(axis=1)).sum()) / total
    prices: Floats = np.zeros(len(room))
    pieces = np.arange(len(cost))
    best, least = None, np.inf
    for taken in range(1, _ROUNDS + 1):
        used = np.bincount(nodes, size, len(room))
        # Subgradient method: each node's price changes with its excess, with decreasing steps.
        prices = np.maximum(prices + 4.0 * step / taken * (used - room) / total, 0.0)
        nodes = contiguous_parts(cost + size[:, None] * prices, boundary_cost, max_parts)
        if _fits(nodes, size, room):
            found = cost[pieces, nodes].sum() + boundary_cost * np.count_nonzero(np.diff(nodes))
            best, least = (nodes, found) if found < least else (best, least)
    return best


def _fits(nodes: Integers, size: Floats, room: Floats) -> bool:
    return bool((np.bincount(nodes, size, len(room)) <= room).all())


def _cheapest(cost: Floats, boundary: float) -> Integers:
    """The best node of each piece for this cost of a boundary.

    It uses lists, because NumPy is slower for the few elements of a row: a machine has few nodes.
    """
    rows: list[list[float]] = cost.tolist()
    total = rows[0]
    # Before each piece: the costs so far by node, the node of the lowest cost, and this cost with a
    # boundary.
    before, came_from, changed = [total], [0], [0.0]
    for row in rows[1:]:
        cheapest = min(total)
        limit = cheapest + boundary
        before.append(total)
        came_from.append(total.index(cheapest))
        changed.append(limit)
        total = [
            (stays if stays <= limit else limit) + here
            for stays, here in zip(total, row, strict=True)
        ]
    nodes = np.empty(len(rows), np.int64)
    node = total.index(min(total))
    for piece in range(len(rows) - 1, -1, -1):
        nodes[piece] = node
        if piece and before[piece][node] > changed[piece]:
            node = came_from[piece]
    return nodes
