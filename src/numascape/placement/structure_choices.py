# SPDX-License-Identifier: Apache-2.0
"""Finds the candidate placements of one structure, with the traffic of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from numascape.balance.graph import Floats, Integers
from numascape.placement.contiguous_parts import contiguous_parts, parts_that_fit
from numascape.placement.node_model import NodeModel
from numascape.placement.structure_use import StructureUse
from numascape.placement.thread_groups import ThreadGroups
from numascape.plan.plan import StructureRule

SINGLE_USER: Final = 0.8
"""If one node fetches at least this share of a structure's lines, all of it may be there."""
CLEARLY: Final = 0.9
"""The largest extra latency of remote lines that parts may have, relative to interleaving."""
_BOUNDARY: Final = 0.0005
"""Share of a structure's lines that a boundary must save: less than that of one of 1024 threads."""
_PARTS_PER_THREAD: Final = 2
"""Maximum number of contiguous parts per thread. More parts are not from a schedule: they arise by
chance in one run."""
_WEIGHTS: Final = 30
"""The largest weight of a node in weighted interleaving."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A rule with its traffic in lines and its bytes by node.

    `traffic` is 2 x nodes x nodes: while several threads work, and while one thread works; the row
    is the threads' node, the column the memory's.
    """

    rule: StructureRule
    traffic: Floats
    bytes: Floats


@dataclass(frozen=True, eq=False)
class UseByNode:
    """A structure's use by nodes, while several threads work and while one thread works.

    `lines` is 2 x parts x nodes. `touched` is the traffic with first touch, 2 x nodes x nodes.
    """

    lines: Floats
    bytes: Floats
    touched: Floats
    touched_bytes: Floats
    posts: Floats

    @property
    def by_node(self) -> Floats:
        """All lines that each node's threads use, 2 x nodes."""
        total: Floats = self.lines.sum(axis=1)
        return total


def use_by_nodes(use: StructureUse, groups: ThreadGroups, nodes: int) -> UseByNode:
    """The use of a structure by the threads of each node, with threads in `groups`.

    It is without threads of other processes.
    """
    node = groups.nodes
    lines = np.zeros((2, use.parts, nodes))
    inside = node[use.thread] >= 0
    where = (use.serial[inside], use.part[inside], node[use.thread[inside]])
    np.add.at(lines, where, use.lines[inside])
    touched = np.zeros((2, nodes, nodes))
    inside = (node[use.user] >= 0) & (node[use.toucher] >= 0)
    where = (use.touched_serial[inside], node[use.user[inside]], node[use.toucher[inside]])
    np.add.at(touched, where, use.touched_lines[inside])
    here = np.flatnonzero(node >= 0)
    touched_bytes = np.bincount(node[here], use.touched_bytes[here], nodes).astype(np.float64)
    return UseByNode(lines, use.bytes, touched, touched_bytes, use.posts)


def parts_allowed(groups: ThreadGroups) -> int:
    """The largest number of parts of a structure; a schedule makes no more, but chance may."""
    return _PARTS_PER_THREAD * max(int(groups.busy.sum()), 2)


def named_rule(row: dict[str, Any]) -> StructureRule:
    """A first-touch rule for a structure, which is a row of `structures`."""
    texts = {field: row[field] for field in ("name", "kind", "function", "file", "line")}
    return StructureRule(policy="first-touch", **texts)


def choices(
    row: dict[str, Any],
    use: UseByNode,
    model: NodeModel,
    room: Floats,
    max_parts: int,
    parts: Integers,
) -> Iterator[Choice]:
    """The candidate placements of a structure, the simplest first; `row` is in `structures`.

    `room` is the free memory of each node, `parts` is the result of best_parts. If a node is too
    small, the traffic is that after its pages have spilled.
    """
    named = named_rule(row)
    total = float(use.bytes.sum())
    yield _spilled(Choice(named, use.touched, use.touched_bytes), model, room)
    by_node = use.by_node
    main = int(by_node.sum(axis=0).argmax())
    if by_node[:, main].sum() >= SINGLE_USER * by_node.sum():
        rule = replace(named, policy="preferred", nodes=(model.numbers[main],))
        yield _spilled(_spread(rule, by_node, total, np.eye(len(room))[main]), model, room)
    if len(use.bytes) < 2:
        return
    candidates = _nodes_with_room(model, room, total)
    even = np.zeros(len(room))
    even[candidates] = 1.0 / len(candidates)
    rule = replace(
        named, policy="interleave", nodes=tuple(model.numbers[node] for node in candidates)
    )
    interleaved = _spilled(_spread(rule, by_node, total, even), model, room)
    yield interleaved
    weights = _weights(model, room, candidates, total)
    if weights is not None:
        shares = np.zeros(len(room))
        shares[candidates] = weights / weights.sum()
        rule = replace(
            named,
            policy="weighted-interleave",
            nodes=tuple(model.numbers[node] for node in candidates[weights > 0]),
            weights=tuple(weights[weights > 0].tolist()),
        )
        yield _spilled(_spread(rule, by_node, total, shares), model, room)
    fair = CLEARLY * _extra(interleaved, model)
    on = _parts_with_room(use, model, room, candidates, max_parts, parts)
    parted = None if on is None else _in_parts(named, use, model, on)
    if parted is not None and _extra(parted, model) <= fair:
        yield parted


def best_parts(use: UseByNode, model: NodeModel, max_parts: int) -> Integers:
    """The position of the node for each part if all nodes with CPUs have enough room."""
    near = model.with_cpus
    return near[contiguous_parts(*_parting(use, model, near), max_parts)]


def _parting(use: UseByNode, model: NodeModel, nodes: Integers) -> tuple[Floats, float]:
    """The cost of each part on each of `nodes`, and the saving that a boundary needs."""
    return use.lines.sum(axis=0) @ model.factor[:, nodes], _BOUNDARY * float(use.lines.sum())


def _extra(choice: Choice, model: NodeModel) -> float:
    """The sum over lines of their latency beyond that of local memory."""
    return float((choice.traffic * (model.factor - 1.0)).sum())


def _spread(rule: StructureRule, by_node: Floats, size: float, shares: Floats) -> Choice:
    """The choice in which each page has the same probabilities `shares` of being on the nodes."""
    return Choice(rule, by_node[:, :, None] * shares, size * shares)


def _spilled(choice: Choice, model: NodeModel, room: Floats) -> Choice:
    if (choice.bytes <= room).all():
        return choice
    shares = model.spilled(choice.bytes, room)
    return replace(choice, traffic=choice.traffic @ shares, bytes=choice.bytes @ shares)


def _nodes_with_room(model: NodeModel, room: Floats, size: float) -> Integers:
    """The nodes with CPUs or, if their room is not enough, all nodes with room."""
    near = model.with_cpus
    near = near[room[near] > 0]
    if room[near].sum() >= size:
        return near
    every = np.flatnonzero(room > 0)
    return every if len(every) else model.with_cpus


def _weights(model: NodeModel, room: Floats, nodes: Integers, size: float) -> Integers | None:
    """Weights by the memory's speed, limited by the room; None if all are the same.

    A node without enough room for the smallest weight has 0.
    """
    shares = model.speed[nodes] / model.speed[nodes].sum()
    limited = np.zeros(len(nodes), bool)
    for _ in nodes:
        full = shares * size > room[nodes]
        limited |= full
        if not full.any() or limited.all():
            break
        shares = np.where(full, room[nodes] / size, shares)
        rest = max(1.0 - shares[limited].sum(), 0.0)
        shares[~limited] *= rest / shares[~limited].sum()
    scaled = shares / shares.max() * _WEIGHTS
    weights = np.where(limited, np.floor(scaled), np.rint(scaled)).astype(np.int64)
    weights //= np.gcd.reduce(weights)
    return None if (weights == 1).all() else weights


def _parts_with_room(
    use: UseByNode,
    model: NodeModel,
    room: Floats,
    nodes: Integers,
    max_parts: int,
    parts: Integers,
) -> Integers | None:
    """The node of each part, where its lines cost least; None if not all parts fit.

    `parts` is the result of best_parts, which is used if there is room for it.
    """
    if (np.bincount(parts, use.bytes, len(room)) <= room).all():
        return parts
    cost, boundary = _parting(use, model, nodes)
    found = parts_that_fit(cost, use.bytes, room[nodes], boundary, max_parts)
    return None if found is None else nodes[found]


def _in_parts(
    named: StructureRule, use: UseByNode, model: NodeModel, on: Integers
) -> Choice | None:
    """Contiguous parts on the nodes `on`; None if the structure is not divided."""
    posts, starts = [0.0], [0]
    for start in np.flatnonzero(np.diff(on)) + 1:
        post = round(float(use.posts[start]), 6)
        # In a trace, the size of an instance may differ from that of its pages.
        if posts[-1] < post < 1.0:
            posts.append(post)
            starts.append(int(start))
    if len(starts) < 2:
        return None
    rule = replace(
        named,
        policy="parts",
        nodes=tuple(model.numbers[on[start]] for start in starts),
        parts=(*posts, 1.0),
    )
    traffic = np.zeros_like(use.touched)
    for plane, lines in zip(traffic, use.lines, strict=True):
        np.add.at(plane.T, on, lines)
    held = np.bincount(on, use.bytes, len(model.numbers)).astype(np.float64)
    return Choice(rule, traffic, held)
