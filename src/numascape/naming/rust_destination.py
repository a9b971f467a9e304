# SPDX-License-Identifier: Apache-2.0
"""Finds where the result of a call in Rust source goes."""

from tree_sitter import Node

from numascape.naming.aliases import aliased
from numascape.naming.destination import Destination, DestinationKind, DestinationQuery, tidy
from numascape.naming.sources import (
    DEEPEST_NODE,
    Source,
    ancestors,
    node_at,
    nodes_on_row,
    text,
)

_CALLS = ("call_expression", "macro_invocation")
_FUNCTIONS = ("function_item", "closure_expression")


def find_destination(
    source: Source, line: int, column: int, function_name: str | None, wanted: DestinationQuery
) -> Destination | None:
    """Find where the value of the call at `line` and `column` (0 = unknown) goes, or None.

    `function_name` is the name of the enclosing function in the program. If the source has another
    function there, the program was not built from it.
    """
    call = _call_at(source.root, line - 1, column - 1)
    if call is None or not _is_in(call, function_name):
        return None
    suffix = wanted.suffix
    node = call
    for _ in range(DEEPEST_NODE):
        parent = node.parent
        if parent is None:
            return None
        if parent.type in _FUNCTIONS:
            return Destination(DestinationKind.RETURNED, "", suffix=suffix)
        if parent.type == "return_expression":
            return Destination(DestinationKind.RETURNED, "", suffix=suffix)
        if parent.type in ("let_declaration", "static_item", "const_item"):
            return _variable(parent, node, suffix)
        if parent.type in ("assignment_expression", "compound_assignment_expr"):
            left = parent.child_by_field_name("left")
            return (
                None
                if left is None
                else Destination(DestinationKind.VARIABLE, tidy(_name(left) + suffix))
            )
        if parent.type == "expression_statement":
            return _worked_on(node, suffix)
        if parent.type == "block" and parent.named_children[-1] != node:
            return _worked_on(node, suffix)
        if parent.type == "field_initializer":
            field = parent.child_by_field_name("field")
            suffix = (f".{text(field)}" if field is not None else "") + suffix
        node = parent
    return None


def _is_in(call: Node, function_name: str | None) -> bool:
    for function in ancestors(call):
        if function.type in _FUNCTIONS:
            name = function.child_by_field_name("name")
            return name is None or function_name is None or text(name) == function_name
    return True


def _call_at(root: Node, row: int, column: int) -> Node | None:
    """The call at a place; rustc uses the start of the expression or of the method's name."""
    if row < 0:
        return None
    if column >= 0:
        token = node_at(root, row, column)
        for node in ancestors(token) if token is not None else ():
            if node.type in _CALLS:
                return node
            if node.type.endswith(("_statement", "_declaration", "_item")) or node.type == "block":
                break
    return next((node for node in nodes_on_row(root, row) if node.type in _CALLS), None)


def _variable(declaration: Node, value: Node, suffix: str) -> Destination | None:
    pattern = declaration.child_by_field_name("pattern") or declaration.child_by_field_name("name")
    if pattern is None or pattern == value:
        return None
    name = tidy(text(pattern) + suffix)
    if pattern.type == "identifier" and _is_returned(declaration, text(pattern)):
        return Destination(DestinationKind.RETURNED, name, suffix=suffix)
    return Destination(DestinationKind.VARIABLE, name)


def _name(place: Node) -> str:
    """The text of a place; for the variable of a loop, that of the container's element."""
    looped = aliased(place)
    return text(place) if looped is None else text(looped[0]) + looped[1]


def _is_returned(declaration: Node, name: str) -> bool:
    """Whether the function's last expression is the variable `name`."""
    for node in ancestors(declaration):
        if node.type in _FUNCTIONS:
            body = node.child_by_field_name("body")
            last = body.named_children[-1:] if body is not None else []
            return bool(last) and text(last[0]) == name
    return False


def _worked_on(expression: Node, suffix: str) -> Destination | None:
    """`v` of the statement `v.resize(n, 0);`."""
    node = expression
    for _ in range(DEEPEST_NODE):
        function = node.child_by_field_name("function")
        if node.type != "call_expression" or function is None:
            break
        value = function.child_by_field_name("value")
        if function.type != "field_expression" or value is None:
            return Destination(DestinationKind.VARIABLE, tidy(text(function)) + "()" + suffix)
        node = value
    is_name = node != expression and node.type in ("identifier", "field_expression", "self")
    is_part = node != expression and node.type == "index_expression"
    return (
        Destination(DestinationKind.VARIABLE, tidy(_name(node) + suffix))
        if is_name or is_part
        else None
    )
