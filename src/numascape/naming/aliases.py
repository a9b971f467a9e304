# SPDX-License-Identifier: Apache-2.0
"""Finds the object of which a variable is another name, in C++ and Rust.

In `for (Shard &shard : shards) shard.slots.resize(n);`, the memory is that of `shards[].slots`. In
`Shard &shard = shards[k];`, it is that of `shards[k].slots`.
"""

from __future__ import annotations

from tree_sitter import Node

from numascape.naming.sources import ancestors, text

_PARTS = ("field_expression", "subscript_expression", "index_expression")
_PLACES = ("identifier", "this", "self", *_PARTS)
_ITERATED = ("iter", "iter_mut", "enumerate")
_FUNCTIONS = ("function_definition", "lambda_expression", "function_item", "closure_expression")


def aliased(target: Node) -> tuple[Node, str] | None:
    """The object that `target` is a part of, and what follows its name; None if it is no alias.

    `target` is the variable of a loop over a container, or a reference, or a part of these. A
    variable that is a copy of an element has memory of its own.
    """
    root = _root(target)
    if root.type != "identifier":
        return None
    name, part = text(root), text(target)[len(text(root)) :].lstrip()
    for around in ancestors(target):
        found = _in_loop(around, name, part) or _in_block(around, name, target)
        if found is not None:
            place, element = found
            is_place = place is not None and place.type in _PLACES
            return (place, element + part) if place is not None and is_place else None
        if around.type in _FUNCTIONS:
            break
    return None


def _root(target: Node) -> Node:
    """The object of which `target` is a part."""
    inner: Node | None = target
    while inner is not None and inner.type in _PARTS:
        target = inner
        inner = target.child_by_field_name("argument") or target.child_by_field_name("value")
        if target.type == "index_expression":
            inner = target.named_children[0]
    return target if inner is None else inner


def _in_loop(loop: Node, name: str, part: str) -> tuple[Node | None, str] | None:
    """The container over which the loop runs, if `name` is its variable."""
    if loop.type == "for_range_loop":
        declarator = loop.child_by_field_name("declarator")
        is_copy = declarator is not None and declarator.type != "reference_declarator"
        is_own = is_copy and not part.startswith("->")
        container = None if is_own else loop.child_by_field_name("right")
    elif loop.type == "for_expression":
        declarator = loop.child_by_field_name("pattern")
        container = _without_iterators(loop.child_by_field_name("value"))
    else:
        return None
    return (container, "[]") if _declared(declarator) == name else None


def _in_block(block: Node, name: str, target: Node) -> tuple[Node | None, str] | None:
    """The object of the reference `name`, if the block declares it before or at `target`."""
    if block.type not in ("compound_statement", "block"):
        return None
    before = (
        one
        for one in block.named_children
        if one.end_byte <= target.start_byte or _declares(one, target)
    )
    for statement in reversed(list(before)):
        if statement.type == "let_declaration":
            declared = statement.child_by_field_name("pattern")
            value = statement.child_by_field_name("value")
            is_reference = value is not None and value.type == "reference_expression"
        elif statement.type == "declaration":
            declared = statement.child_by_field_name("declarator")
            value = None if declared is None else declared.child_by_field_name("value")
            if declared is not None and declared.type == "init_declarator":
                declared = declared.child_by_field_name("declarator")
            is_reference = declared is not None and declared.type == "reference_declarator"
        else:
            continue
        if _declared(declared) != name:
            continue
        if is_reference and value is not None and value.type == "subscript_expression":
            container = value.child_by_field_name("argument")
            if statement.end_byte > target.start_byte:  # the subscript allocates
                return container, "[]"
        return (_without_iterators(value) if is_reference else None), ""
    return None


def _declares(statement: Node, target: Node) -> bool:
    """Whether `target` is the variable that the statement of C++ declares with a value.

    The allocations of `T &entry = table[key()]` are part of the table, or temporary.
    """
    declared = statement.child_by_field_name("declarator")
    value = None if declared is None else declared.child_by_field_name("value")
    is_before = value is not None and target.end_byte <= value.start_byte
    return (
        statement.type == "declaration" and is_before and statement.start_byte <= target.start_byte
    )


def _declared(declarator: Node | None) -> str:
    """The variable that is declared; of a pair's two names, the second one."""
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.named_children[-1] if declarator.named_children else None
    return "" if declarator is None else text(declarator)


def _without_iterators(value: Node | None) -> Node | None:
    """`rows` of `&mut rows` and of `rows.iter_mut().enumerate()`."""
    while value is not None:
        function = value.child_by_field_name("function")
        if value.type == "reference_expression":
            value = value.child_by_field_name("value")
        elif function is not None and function.type == "field_expression":
            field = function.child_by_field_name("field")
            if field is None or text(field) not in _ITERATED:
                return None
            value = function.child_by_field_name("value")
        else:
            break
    return value
