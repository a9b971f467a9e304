# SPDX-License-Identifier: Apache-2.0
"""Finds the loop around a source line that may run in parallel unchanged, from its source text.

Code that cannot be followed counts as a dependence. So a loop is never called independent only
because too little is known about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Node

from numascape.analysis.iterations import c_family, fortran
from numascape.naming.sources import Source

_DEPENDENCE_FINDERS: dict[str, tuple[frozenset[str], Callable[[Node], str]]] = {
    "c": (c_family.LOOPS, c_family.dependence),
    "cpp": (c_family.LOOPS, c_family.dependence),
    "fortran": (fortran.LOOPS, fortran.dependence),
}


@dataclass(frozen=True)
class ParallelLoop:
    """The outermost loop around a line whose iterations are independent.

    `line` is its first line, or 0 if there is none. Then `reason` says why the innermost loop's
    iterations depend on each other, such as "may change `sum`, which the next iteration reads". The
    page writes "it" before the reason. `around` has the first lines of all loops around the line,
    the outermost first. `private` are variables that each thread needs for itself.
    """

    line: int
    reason: str
    around: tuple[int, ...] = ()
    private: tuple[str, ...] = ()


def parallel_loop(source: Source, line: int) -> ParallelLoop | None:
    """The loop to run in parallel; None if no loop is there or the language is not known."""
    if source.language not in _DEPENDENCE_FINDERS:
        return None
    kinds, dependence = _DEPENDENCE_FINDERS[source.language]
    around = _loops_around(source.root, line - 1, kinds)
    if not around:
        return None
    reasons = [dependence(loop) for loop in around]
    lines = tuple(loop.start_point.row + 1 for loop in around)
    for loop, first, reason in zip(around, lines, reasons, strict=True):
        if not reason:
            # In Fortran, the counters of inner loops are private anyway.
            own = () if source.language == "fortran" else c_family.private_counters(loop)
            return ParallelLoop(first, "", lines, own)
    return ParallelLoop(0, reasons[-1], lines)


def _loops_around(root: Node, row: int, kinds: frozenset[str]) -> list[Node]:
    """The loops of these kinds that contain the row, the outermost first."""
    found: list[Node] = []
    node: Node | None = root
    while node is not None:
        inside = [
            child
            for child in node.named_children
            if child.start_point.row <= row <= child.end_point.row
        ]
        # Several statements may be in this row. The loop is in the first one that contains a loop.
        node = next((child for child in inside if _has_loop(child, kinds, row)), None)
        if node is not None and node.type in kinds:
            found.append(node)
    return found


def _has_loop(node: Node, kinds: frozenset[str], row: int) -> bool:
    if node.type in kinds:
        return True
    return any(
        _has_loop(child, kinds, row)
        for child in node.named_children
        if child.start_point.row <= row <= child.end_point.row
    )
