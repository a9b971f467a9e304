# SPDX-License-Identifier: Apache-2.0
"""Why the iterations of a loop in Fortran depend on each other."""

from __future__ import annotations

from typing import Final

from tree_sitter import Node

from numascape.analysis.iterations.nodes import below, identifiers, without_spaces
from numascape.naming.sources import text

LOOPS: Final = frozenset({"do_loop"})

_PRINTS: Final = ("print_statement", "write_statement", "read_statement")
_LEAVES: Final = ("exit", "return", "stop", "goto")


def dependence(loop: Node) -> str:
    """The reason, as the end of a sentence that begins with "it"; empty if there is none."""
    if any(True for _ in below(loop.children[0], "concurrent_statement")):
        return ""
    control = next(below(loop.children[0], "loop_control_expression"), None)
    if control is None:
        return "has no counter"
    counter = identifiers(control)[0].lower()
    body = [child for child in loop.named_children if child.type != "do_statement"]
    return _statements(body) or _calls(body, counter) or _assignments(body, counter)


def _statements(body: list[Node]) -> str:
    for child in body:
        for _ in below(child, *_PRINTS):
            return "reads or writes a file"
        for statement in below(child, "keyword_statement", "stop_statement"):
            words = text(statement).lower().split()
            if words and words[0] in _LEAVES:
                return f"can end early ({words[0]})"
    return ""


def _calls(body: list[Node], counter: str) -> str:
    for child in body:
        for call in below(child, "subroutine_call"):
            called, *given = [name.lower() for name in identifiers(call)] or [""]
            if called == "random_number":
                return "takes random numbers in a fixed order (`random_number`)"
            if counter not in given:
                return f"may keep a value from one iteration to the next (`{called}`)"
    return ""


def _assignments(body: list[Node], counter: str) -> str:
    written: dict[str, set[str]] = {}
    for child in body:
        for assignment in below(child, "assignment_statement"):
            left = assignment.child_by_field_name("left") or assignment.named_children[0]
            if left.type == "identifier":
                return f"carries `{text(left)}` from one iteration to the next"
            used = {name.lower() for name in identifiers(left)}
            if counter not in used:
                return f"writes `{text(left)}` in every iteration"
            if len(list(below(left, "call_expression"))) > 1:
                return f"writes `{text(left)}`, which two iterations may write"
            written.setdefault(_array(left), set()).add(without_spaces(left).lower())
    for child in body:
        for element in below(child, "call_expression"):
            whole = without_spaces(element).lower()
            known = written.get(_array(element))
            if known is not None and whole not in known:
                return f"reads `{text(element)}`, which another iteration writes"
    return ""


def _array(element: Node) -> str:
    """The array of an element, with the structure that it is in."""
    return without_spaces(element.named_children[0]).lower() if element.named_children else ""
