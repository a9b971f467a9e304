# SPDX-License-Identifier: Apache-2.0
"""Finds loops whose range changes from run to run, as in Gaussian elimination.

The range depends on what a loop around it changes: its variable, or what its body computes from
this variable. The loop around it may be in a function that calls the one with the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node, Query, QueryCursor

from numascape.analysis.iterations.nodes import below, identifiers
from numascape.naming.sources import Source, ancestors, text

_FUNCTIONS = ("function_definition", "subroutine", "function")
_HEADS = ("function_declarator", "subroutine_statement", "function_statement")
_CALLS = {
    "c": "(call_expression) @call",
    "cpp": "(call_expression) @call",
    "fortran": "(call_expression) @call (subroutine_call) @call",
    "rust": "(call_expression) @call",
}
_SETS = ("init_declarator", "assignment_expression", "assignment_statement", "update_expression")
_ARITHMETIC = {"min", "max", "fmin", "fmax", "abs", "mod", "floor", "ceil", "ceiling", "int"}
_MOST_CALLS = 3
"""Maximum number of functions between a loop and the loop around it."""


@dataclass(frozen=True, eq=False)
class MovingRanges:
    """The loops of a parsed file, `loops`, and what their ranges depend on."""

    loops: list[Node]
    source: Source
    _changes: dict[int, set[str]] = field(default_factory=dict)

    def moves_with(self, loop: Node) -> str:
        """A variable in the loop's range that changes from one run of the loop to the next.

        Empty if there is none, or if nothing is known.
        """
        own, bounds = _range(loop)
        return self._moving(loop, bounds - own, _MOST_CALLS)

    def is_set_anew(self, loop: Node) -> bool:
        """Whether a loop around it assigns to a variable in its range, such as a list's length."""
        own, bounds = _range(loop)
        assigned = {
            name
            for outer in self._around(loop)
            for name, _ in _settings(outer, declared=False)
            if outer.id != loop.id
        }
        return bool(assigned & (bounds - own))

    def _moving(self, node: Node, names: set[str], calls: int) -> str:
        """Which of the names changes in a loop around the node, or is a changing argument."""
        for outer in self._around(node):
            if changed := self._changed_by(outer) & names:
                return min(changed)
        function = next((one for one in ancestors(node) if one.type in _FUNCTIONS), None)
        if function is None or not calls:
            return ""
        called, parameters = _signature(function)
        needed = _with_origins(function, names)
        wanted = [(at, name) for at, name in enumerate(parameters) if name in needed]
        for call in self._calls.get(called, []) if wanted else ():
            arguments = next((n for n in call.named_children if n.type == "argument_list"), None)
            given = arguments.named_children if arguments else []
            for at, name in wanted:
                used = set(identifiers(given[at])) if at < len(given) else set()
                if used and self._moving(call, used, calls - 1):
                    return name
        return ""

    def _around(self, node: Node) -> list[Node]:
        return [
            loop
            for loop in self.loops
            if loop.start_byte < node.start_byte and node.end_byte <= loop.end_byte
        ]

    def _changed_by(self, loop: Node) -> set[str]:
        """The names that change in each iteration: the loop variable, and all computed from it."""
        if loop.id not in self._changes:
            changed = set(_range(loop)[0])
            before = -1
            settings = _settings(loop)
            while len(changed) != before:
                before = len(changed)
                changed |= {name for name, origins in settings if origins & (changed | {name})}
            self._changes[loop.id] = changed
        return self._changes[loop.id]

    @cached_property
    def _calls(self) -> dict[str, list[Node]]:
        """The calls in the file, by the last part of the function's name."""
        found: dict[str, list[Node]] = {}
        query = Query(self.source.grammar, _CALLS[self.source.language])
        for call in QueryCursor(query).captures(self.source.root).get("call", []):
            found.setdefault(_last_name(call.named_child(0)), []).append(call)
        return found


def _range(loop: Node) -> tuple[set[str], set[str]]:
    """The variables that a `for` or `do` loop counts up, and all names in its range."""
    if loop.type == "for_statement":
        fields = ("initializer", "condition", "update")
        parts = [part for name in fields if (part := loop.child_by_field_name(name))]
        counted = [part for name in fields[2:] if (part := loop.child_by_field_name(name))]
    elif loop.type == "do_loop":
        parts = list(below(loop.children[0], "loop_control_expression"))[:1]
        counted = [part for control in parts for part in control.named_children[:1]]
    else:
        return set(), set()
    variables, names = (
        {name for part in some for name in identifiers(part)} for some in (counted, parts)
    )
    return variables, names


def _settings(node: Node, *, declared: bool = True) -> list[tuple[str, set[str]]]:
    """The variables that statements below the node set, each with the names that it is set from.

    `n /= 2` and `n++` set `n` from itself. `declared`: also those that are declared there.
    """
    found = []
    for one in below(node, *(_SETS if declared else _SETS[1:])):
        fields = (one.child_by_field_name(name) for name in ("declarator", "left", "argument"))
        target = next((given for given in fields if given), None)
        if target is None or target.type != "identifier":
            continue
        value = one.child_by_field_name("value") or one.child_by_field_name("right")
        origins = set(identifiers(value)) if value and not _is_data(value) else set()
        operator = one.child_by_field_name("operator")
        if one.type == "update_expression" or (operator and text(operator) != "="):
            origins.add(text(target))
        found.append((text(target), origins))
    return found


def _is_data(value: Node) -> bool:
    """Whether the value comes from a function call, such as the length of the next work list."""
    calls = below(value, "call_expression")
    return any(_last_name(call.named_child(0)).lower() not in _ARITHMETIC for call in calls)


def _with_origins(function: Node, names: set[str]) -> set[str]:
    """The names, and all that they are computed from in the function."""
    needed, settings = set(names), _settings(function)
    before = -1
    while len(needed) != before:
        before = len(needed)
        needed = needed.union(*(origins for name, origins in settings if name in needed))
    return needed


def _signature(function: Node) -> tuple[str, list[str]]:
    """The last part of a function's name, and the names of its parameters."""
    head = next(below(function, *_HEADS), function)
    name = head.child_by_field_name("declarator") or head.child_by_field_name("name")
    parameters = head.child_by_field_name("parameters")
    given = parameters.named_children if parameters else []
    return _last_name(name), [(identifiers(one) or [""])[0] for one in given]


def _last_name(node: Node | None) -> str:
    """The last part of a name: `update` for `update`, `Solver::update` and `solver.update`."""
    names = list(below(node, "identifier", "field_identifier", "name")) if node else []
    return text(names[-1]) if names else ""
