# SPDX-License-Identifier: Apache-2.0
"""Finds the container of which a loop's variable is an element, in C++ and Rust.

In `for (Shard &shard : shards) shard.slots.resize(n);`, the memory is that of `shards[].slots`.
"""

from __future__ import annotations

from tree_sitter import Node

from numascape.naming.sources import ancestors, text

_PLACES = ("identifier", "field_expression", "this", "self")
_ITERATED = ("iter", "iter_mut", "enumerate")
_PARTS = ("field_expression", "subscript_expression", "index_expression")


def container_of(target: Node) -> tuple[Node, str] | None:
    """The container, and what follows its name in the name of `target`; None without such a loop.

    `target` is the loop's variable or a part of it. A variable that is a copy of the element has
    memory of its own.
    """
    root = _root(target)
    if root.type != "identifier":
        return None
    part = text(target)[len(text(root)) :].lstrip()
    for loop in ancestors(target):
        if loop.type == "for_range_loop":
            variable, is_copy = _cpp_variable(loop)
            container = loop.child_by_field_name("right")
        elif loop.type == "for_expression":
            variable, is_copy = _rust_variable(loop), False
            container = _without_iterators(loop.child_by_field_name("value"))
        else:
            continue
        if variable != text(root):
            continue
        is_own = is_copy and not part.startswith("->")
        if is_own or container is None or container.type not in _PLACES:
            return None
        return container, "[]" + part
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


def _cpp_variable(loop: Node) -> tuple[str, bool]:
    """The loop's variable, of a pair's two names the second one, and whether it is a copy."""
    declarator = loop.child_by_field_name("declarator")
    is_copy = declarator is not None and declarator.type != "reference_declarator"
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.named_children[-1] if declarator.named_children else None
    return ("" if declarator is None else text(declarator)), is_copy


def _rust_variable(loop: Node) -> str:
    pattern = loop.child_by_field_name("pattern")
    while pattern is not None and pattern.type != "identifier":
        pattern = pattern.named_children[-1] if pattern.named_children else None
    return "" if pattern is None else text(pattern)


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
