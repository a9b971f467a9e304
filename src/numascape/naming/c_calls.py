# SPDX-License-Identifier: Apache-2.0
"""Finds the call at a line and column of C or C++ source."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from numascape.naming.c_functions import FUNCTIONS, walk
from numascape.naming.sources import ancestors, node_at, nodes_on_row, root_of, text

_CALLS = ("call_expression", "new_expression")
_BLOCKS = (
    "translation_unit",
    "compound_statement",
    "declaration_list",
    "field_declaration_list",
    *FUNCTIONS,
)
_ALLOCATES = re.compile(r"\w*(alloc|memalign|mmap|new|make|strdup|create)\w*", re.I)


def callee_name(call: Node) -> str:
    """The last part of the called function's name, without template arguments."""
    function = call.child_by_field_name("function")
    for _ in range(32):
        if function is None:
            break
        inner = function.child_by_field_name("field") or function.child_by_field_name("name")
        if inner is None:
            return text(function)
        function = inner
    return ""


def calls_in(node: Node, callee: str) -> Iterator[Node]:
    """The calls of `callee` in and around `node`; if there are none, `node` if it is a call."""
    found = [n for n in walk(node) if n.type == "call_expression" and callee_name(n) == callee]
    for ancestor in ancestors(node):
        if ancestor.type in _BLOCKS:
            break
        if ancestor.type == "call_expression" and callee_name(ancestor) == callee:
            found.append(ancestor)
    if not found and node.type in _CALLS:
        found.append(node)
    yield from found


def calls_with(root: Node, function: str) -> Iterator[Node]:
    """The calls of `function`, and those that have it, or its address, as an argument."""
    for node in walk(root):
        if node.type == "call_expression":
            if callee_name(node) == function:
                yield node
            arguments = node.child_by_field_name("arguments")
            for argument in () if arguments is None else arguments.named_children:
                if text(argument).lstrip("&") == function:
                    yield node


def call_at(root: Node, row: int, column: int, callee: str) -> Node | None:
    """Find the call that the compiler places at `row` and `column` (0-based; column -1: unknown).

    It may be a `new`, or the declarator or initialiser of an object whose constructor is called.

    gcc gives a call the place of the function's name or of one of its brackets. A constructor has
    the place of its arguments' brackets. Everything in a macro's text has the place of the macro's
    name.
    """
    if row < 0:
        return None
    node = node_at(root, row, column) if column >= 0 else None
    if node is not None and node.type not in _BLOCKS:
        found = _call_around(node)
        if found is not None:
            return _inside_macro(found, callee)
    on_row = [n for n in nodes_on_row(root, row) if n.type in _CALLS]
    starting = [n for n in on_row if n.start_point.row == row] or on_row
    for candidate in starting:
        if callee and callee_name(candidate) == callee:
            return candidate
    for candidate in starting:
        if candidate.type == "new_expression" or _ALLOCATES.fullmatch(callee_name(candidate)):
            return candidate
    if starting:
        return starting[0]
    for candidate in nodes_on_row(root, row):
        if candidate.type in ("init_declarator", "assignment_expression", "field_initializer"):
            return _value_of(candidate)
        if candidate.type == "declaration":  # `Vector v(n);` is parsed as a function's declaration
            declarator = candidate.child_by_field_name("declarator")
            if declarator is not None and declarator.type == "function_declarator":
                return declarator
    return None


def subscript_at(root: Node, row: int, column: int) -> Node | None:
    """Find the subscript, such as `a[i]`, at `row` and `column` (0-based; column -1: unknown).

    gcc gives a call of `operator[]` the place of its closing bracket, clang that of its object or
    its opening bracket.
    """
    if row < 0:
        return None
    if column >= 0:
        token = node_at(root, row, column)
        for node in (token, *ancestors(token)) if token is not None else ():
            if node.type == "subscript_expression":
                return node
            if node.type in _BLOCKS:
                break
    on_row = [n for n in nodes_on_row(root, row) if n.type == "subscript_expression"]
    return on_row[0] if on_row else None


def _value_of(node: Node) -> Node:
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    return value or node.children[-1]


def _call_around(token: Node) -> Node | None:
    """The call that the token belongs to."""
    node = token
    for parent in ancestors(token):
        if parent.type in _CALLS:
            return parent
        if parent.type in ("argument_list", "initializer_list"):
            is_bracket = not node.is_named
            if not is_bracket:
                return node  # a value in the list, such as that of an operator
            around = parent.parent
            return around if around is not None and around.type in _CALLS else parent
        if parent.type == "assignment_expression" and not node.is_named:
            return _value_of(parent)  # the token is an operator that a class defines
        if parent.type in ("init_declarator", "field_initializer", "assignment_expression"):
            return node
        if parent.type in ("declaration", "field_declaration", "return_statement"):
            return node
        if parent.type == "expression_statement" or parent.type in _BLOCKS:
            # The parser does not know `new int*[n]`: the rest of it is an error.
            is_call = node.is_named and node.type not in ("ERROR", *_BLOCKS)
            return node if is_call else None
        node = parent
    return None


def _inside_macro(call: Node, callee: str) -> Node:
    """The call of `callee` among the arguments of what may be a macro's call."""
    if not callee or callee_name(call) == callee or call.type != "call_expression":
        return call
    for node in walk(call):
        if node.type == "call_expression" and callee_name(node) == callee:
            return node
    return call


def assigned_parameter(node: Node, macro: str) -> int | None:
    """The index of the parameter that a macro of this file assigns to; None if there is none."""
    for definition in walk(root_of(node), skip=("compound_statement", "declaration")):
        if definition.type != "preproc_function_def":
            continue
        name = definition.child_by_field_name("name")
        parameters = definition.child_by_field_name("parameters")
        value = definition.child_by_field_name("value")
        if name is None or parameters is None or value is None or text(name) != macro:
            continue
        for index, parameter in enumerate(parameters.named_children):
            if re.search(rf"\b{re.escape(text(parameter))}\b[\s)]*=(?!=)", text(value)):
                return index
    return None
