# SPDX-License-Identifier: Apache-2.0
"""Finds whether an expression in a method names a member of the method's own object."""

from __future__ import annotations

import re

from tree_sitter import Node

from numascape.naming.c_classes import class_fields
from numascape.naming.c_functions import Function, file_scope_names
from numascape.naming.sources import text


def member_of_object(target: Node, function: Function) -> str:
    """The member of the method's own object that `target` is (part of), or empty."""
    root = target
    while True:
        inner = root.child_by_field_name("argument")
        if inner is None or root.type not in ("field_expression", "subscript_expression"):
            break
        root = inner
    if root.type == "this":
        return re.sub(r"^this\s*->\s*", "", text(target))
    class_name = class_of_method(function)
    is_free = root.type != "identifier" or function.declares(text(root))
    if is_free or class_name is None:
        return ""
    fields = class_fields(function.node, class_name)
    if fields is None:
        is_field = text(root) not in file_scope_names(function.node)
    else:
        is_field = text(root) in fields
    return text(target) if is_field else ""


def class_of_method(function: Function) -> str | None:
    """The class of a method by its definition; empty for the enclosing class."""
    qualifier = re.sub(r"<.*>", "", function.name).rpartition("::")[0]
    if qualifier:
        return qualifier.rpartition("::")[2].strip()
    parent = function.node.parent
    is_in_class = parent is not None and parent.type in (
        "field_declaration_list",
        "template_declaration",
    )
    return "" if is_in_class and class_fields(function.node, "") is not None else None
