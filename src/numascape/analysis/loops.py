# SPDX-License-Identifier: Apache-2.0
"""Loop statements around source lines, found by parsing the source file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from tree_sitter import Node, Query, QueryCursor

from numascape.analysis.moving_ranges import MovingRanges
from numascape.naming.sources import Source

_C = {"for_statement": "for", "while_statement": "while", "do_statement": "do"}
KINDS = {
    "c": _C,
    "cpp": {**_C, "for_range_loop": "for"},
    "rust": {"for_expression": "for", "while_expression": "while", "loop_expression": "loop"},
    "fortran": {"do_loop": "do", "forall_statement": "forall"},
}
"""Names of loops by language and type of node in its grammar."""


# A waiting thread calls these functions to disturb other threads less.
_PAUSE = re.compile(
    r"(\w+::)*_*(mm_pause|builtin_ia32_pause|\w*yield|cpu_relax|nanosleep|usleep|sleep_for|pause)"
    r"\s*\([^;]*\)\s*;|(__)?asm(__)?\b[^;]*;"
)


@dataclass(frozen=True)
class Loop:
    """A loop statement in a source file, from line ``first`` to line ``last``."""

    file: str
    first: int
    last: int
    kind: str


class LoopsOfFile:
    """All loops of a parsed file. Lines count from 1."""

    def __init__(self, source: Source) -> None:
        kinds = KINDS[source.language]
        query = Query(source.grammar, " ".join(f"({kind}) @loop" for kind in kinds))
        nodes = QueryCursor(query).captures(source.root).get("loop", [])
        # Loops are nested, so the innermost loop around a line is the one that starts last.
        nodes.sort(key=lambda node: (node.start_byte, -node.end_byte))
        self._loops = [
            (node.start_point.row + 1, node.end_point.row + 1, _kind(node, kinds)) for node in nodes
        ]
        self._waits = [_only_waits(node) for node in nodes]
        self._nodes = nodes
        self._ranges = MovingRanges(nodes, source)
        self._first = np.array([loop[0] for loop in self._loops], np.int64)
        self._last = np.array([loop[1] for loop in self._loops], np.int64)

    def waits(self, line: int) -> bool:
        """Whether the innermost loop around `line` does nothing but read its condition (C, C++)."""
        inside = np.flatnonzero((self._first <= line) & (line <= self._last))
        return bool(len(inside)) and bool(self._waits[inside[-1]])

    def moves_with(self, line: int) -> str:
        """The variable on which the range of the first loop at or after `line` depends.

        It is empty if the loop has the same range each time it runs, or if nothing is known.
        """
        at = int(np.searchsorted(self._first, line))
        return self._ranges.moves_with(self._nodes[at]) if at < len(self._nodes) else ""

    def is_set_anew(self, line: int) -> bool:
        """Whether the range of the first loop at or after `line` is assigned in a loop around it.

        An example is the length of a work list, which each repetition of the outer loop replaces.
        """
        at = int(np.searchsorted(self._first, line))
        return at < len(self._nodes) and self._ranges.is_set_anew(self._nodes[at])

    def end_of_next(self, line: int) -> int | None:
        """The last line of the first loop at or after `line`; None if there is none."""
        at = int(np.searchsorted(self._first, line))
        return self._loops[at][1] if at < len(self._loops) else None

    def around(self, line: int) -> tuple[int, int, str] | None:
        """First line, last line and kind of the innermost loop around `line`, or None."""
        inside = np.flatnonzero((self._first <= line) & (line <= self._last))
        return self._loops[inside[-1]] if len(inside) else None


def _only_waits(loop: Node) -> bool:
    body = loop.child_by_field_name("body")
    condition = loop.child_by_field_name("condition")
    if body is None or condition is None or loop.child_by_field_name("update") is not None:
        return False
    statements = body.named_children if body.type == "compound_statement" else [body]
    return not _changes(condition) and all(_only_pauses(statement) for statement in statements)


def _only_pauses(statement: Node) -> bool:
    text = (statement.text or b"").decode(errors="replace").strip()
    return statement.type == "comment" or text in ("", ";") or _PAUSE.fullmatch(text) is not None


def _changes(expression: Node) -> bool:
    """Whether the expression assigns to something, as a loop over the characters of a text does."""
    changing = {"update_expression", "assignment_expression"}
    return expression.type in changing or any(_changes(child) for child in expression.children)


def _kind(loop: Node, kinds: dict[str, str]) -> str:
    parts: Iterable[Node] = loop.children[0].children if loop.type == "do_loop" else ()
    types = {part.type for part in parts}
    if "while_statement" in types:
        return "do while"
    return "do concurrent" if "concurrent_statement" in types else kinds[loop.type]
