# SPDX-License-Identifier: Apache-2.0
"""Policies for pages that are already in memory: the node that each page should be on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from numascape.errors import NumascapeError
from numascape.live.parts import Part
from numascape.machine.kernel_lists import parse_cpu_list
from numascape.plan.plan import StructureRule
from numascape.trace.format import PAGE_BYTES

NodeNumbers = npt.NDArray[np.int32]
Addresses = npt.NDArray[np.uint64]
MovePolicyName = Literal["interleave", "local", "bind", "spread", "weighted-interleave", "parts"]
STAYS: Final = -1
"""A page may stay where it is."""
# Large parts are interleaved in blocks of a transparent huge page. The kernel moves such a page,
# and a large folio of page cache, as one; smaller blocks would move it several times.
LARGE_BLOCK: Final = 2 << 20
# A part with fewer blocks per node would be spread unevenly, so it is interleaved page by page.
# Blocks count from address 0, so that many consecutive tensors together are spread evenly.
_BLOCKS_PER_NODE: Final = 2
_LAST: Final = np.uint64((1 << 64) - 1)
_LARGE_TENSOR: Final = 2 * LARGE_BLOCK


class Placement(Protocol):
    """Decides on which node each page of a part should be."""

    def wanted(self, part: Part, addresses: Addresses, now: NodeNumbers) -> NodeNumbers:
        """The node of each page, or STAYS. `now` are the present nodes."""


@dataclass(frozen=True)
class MovePolicy:
    """A policy and its nodes; `weights` for weighted-interleave, `parts` as in StructureRule.

    `whole` are the first and the end address that `parts` divide, if the part is a piece of it.
    """

    name: MovePolicyName
    nodes: tuple[int, ...]
    weights: tuple[int, ...] = ()
    parts: tuple[float, ...] = ()
    whole: tuple[int, int] | None = None

    def wanted(self, part: Part, addresses: Addresses, now: NodeNumbers) -> NodeNumbers:
        """The node that each page should be on, or STAYS. `now` are the present nodes."""
        return _POLICIES[self.name](self, part, addresses, now)

    def __str__(self) -> str:
        return f"{self.name} on nodes {','.join(map(str, self.nodes))}"


@dataclass(frozen=True, eq=False)
class PageByPage:
    """A node for single pages of 4 KiB, by ascending addresses; other pages stay.

    A larger page goes to the node that most of its pages of 4 KiB have here.
    """

    addresses: Addresses
    nodes: NodeNumbers

    def wanted(self, _part: Part, addresses: Addresses, _now: NodeNumbers) -> NodeNumbers:
        """The node of each page, or STAYS."""
        block = np.uint64(LARGE_BLOCK)
        following = np.append(addresses[1:], _LAST)
        large = (addresses % block == 0) & (following - addresses >= block)
        ends = addresses + np.where(large, block, np.uint64(PAGE_BYTES))
        first, end = (np.searchsorted(self.addresses, at) for at in (addresses, ends))
        best = np.full(len(addresses), STAYS, np.int32)
        most = np.zeros(len(addresses), np.int64)
        for node in np.unique(self.nodes).tolist():
            upto = np.concatenate([[0], np.cumsum(self.nodes == node)])
            held = upto[end] - upto[first]
            best[held > most] = node
            most = np.maximum(most, held)
        return best


def parse_policy(text: str, usual: Sequence[int], local: Sequence[int]) -> MovePolicy:
    """The policy in words such as `interleave`, `bind:0,2`, `spread:0-3`.

    Without nodes, `usual` are the nodes; `local` are those with threads. Raises NumascapeError.
    """
    name, colon, listed = text.partition(":")
    nodes = _listed(listed) if colon else tuple(usual)
    if name == "local":
        if colon:
            raise NumascapeError(
                "local takes no nodes, it uses those of the threads: use bind:N to name nodes"
            )
        if not local:
            raise NumascapeError("local: the nodes of the threads are not known: use bind:N")
        return MovePolicy("local", tuple(local))
    if name == "bind":
        if not colon:
            raise NumascapeError("bind needs a node: bind:0")
        return MovePolicy("bind", nodes)
    if name == "interleave":
        return MovePolicy("interleave", nodes)
    if name == "spread":
        return MovePolicy("spread", nodes)
    raise NumascapeError(
        f"there is no policy {text[:40]!r}: use interleave, local, bind:N, or spread"
    )


def _listed(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*", text):
        raise NumascapeError(f"{text[:40]!r} is not a list of nodes: write it as 0,2-3")
    nodes = tuple(sorted(set(_numbers(text))))
    if not nodes:
        raise NumascapeError(f"{text[:40]!r} names no node: write it as 0,2-3")
    return nodes


def _numbers(text: str) -> list[int]:
    try:
        return parse_cpu_list(text)
    except ValueError as error:
        raise NumascapeError(f"{text[:40]!r} is not a list of nodes: {error}") from error


def check_nodes(nodes: Sequence[int], usable: Sequence[int]) -> None:
    """Raise NumascapeError if the process may not use one of the nodes."""
    for node in nodes:
        if node not in usable:
            have = ", ".join(map(str, usable))
            raise NumascapeError(
                f"node {node} has no memory, or the process may not use it (cpuset): "
                f"it may use {have}"
            )


def policy_of_rule(rule: StructureRule) -> MovePolicy | None:
    """The policy of a plan's rule; None for first-touch, which leaves pages alone."""
    if rule.policy == "first-touch":
        return None
    if rule.policy in {"bind", "preferred"}:
        return MovePolicy("bind", rule.nodes)
    if rule.policy == "parts":
        return MovePolicy("parts", rule.nodes, parts=rule.parts)
    if rule.policy == "weighted-interleave":
        return MovePolicy("weighted-interleave", rule.nodes, weights=rule.weights)
    return MovePolicy("interleave", rule.nodes)


def _block_numbers(policy: MovePolicy, part: Part, addresses: Addresses) -> npt.NDArray[np.int64]:
    size = part.end - part.start
    many = size >= _BLOCKS_PER_NODE * len(set(policy.nodes)) * LARGE_BLOCK
    many = many or (part.kind == "tensor" and size >= _LARGE_TENSOR)
    block = max(part.page_bytes, LARGE_BLOCK if many else part.page_bytes)
    return (addresses // np.uint64(block)).astype(np.int64)


def _interleave(
    policy: MovePolicy, part: Part, addresses: Addresses, _now: NodeNumbers
) -> NodeNumbers:
    numbers = _block_numbers(policy, part, addresses)
    return np.array(policy.nodes, np.int32)[numbers % len(policy.nodes)]


def _weighted(
    policy: MovePolicy, part: Part, addresses: Addresses, now: NodeNumbers
) -> NodeNumbers:
    dealt = [
        node
        for node, weight in zip(policy.nodes, policy.weights, strict=True)
        for _ in range(weight)
    ]
    return _interleave(replace(policy, nodes=tuple(dealt)), part, addresses, now)


def _bind(policy: MovePolicy, part: Part, addresses: Addresses, now: NodeNumbers) -> NodeNumbers:
    """Pages on one of the nodes stay; the others are interleaved."""
    wanted = _interleave(policy, part, addresses, now)
    wanted[np.isin(now, policy.nodes)] = STAYS
    return wanted


def _spread(policy: MovePolicy, part: Part, addresses: Addresses, now: NodeNumbers) -> NodeNumbers:
    count = len(policy.nodes)
    bounds = tuple(number / count for number in range(count + 1))
    return _parts(replace(policy, parts=bounds), part, addresses, now)


def _parts(policy: MovePolicy, part: Part, addresses: Addresses, _now: NodeNumbers) -> NodeNumbers:
    """Page k of n begins at the fraction k / n of the part."""
    start, end = policy.whole or (part.start, part.end)
    where = (addresses.astype(np.int64) - start).astype(np.float64) / (end - start)
    numbers = np.searchsorted(np.array(policy.parts[1:-1]), where, side="right")
    return np.array(policy.nodes, np.int32)[numbers]


_Assign = Callable[[MovePolicy, Part, Addresses, NodeNumbers], NodeNumbers]
_POLICIES: Final[dict[MovePolicyName, _Assign]] = {
    "interleave": _interleave,
    "weighted-interleave": _weighted,
    "bind": _bind,
    "local": _bind,
    "spread": _spread,
    "parts": _parts,
}
