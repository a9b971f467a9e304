# SPDX-License-Identifier: Apache-2.0
"""Finds what a C++ class declares: its fields, and what its constructor allocates."""

from collections.abc import Iterator

from tree_sitter import Node

from numascape.naming.c_functions import declared_identifier, is_of_numbers, walk
from numascape.naming.sources import ancestors, nodes_on_row, root_of, text

CLASSES = ("class_specifier", "struct_specifier", "union_specifier")


def class_fields(node: Node, class_name: str) -> dict[str, bool] | None:
    """The fields of the class around `node`, or else of `class_name`; None if there is none.

    The value of a field is whether it is a number, which has no memory of its own.
    """
    body = None
    for ancestor in ancestors(node):
        if ancestor.type in CLASSES:
            body = ancestor.child_by_field_name("body")
            break
    if body is None and class_name:
        body = _class_body(root_of(node), class_name)
    if body is None:
        return None
    fields = {}
    for declaration in _field_declarations(body):
        for declarator in declaration.children_by_field_name("declarator"):
            identifier = declared_identifier(declarator)
            if identifier is not None:
                is_plain = declarator.type == "field_identifier"
                fields[text(identifier)] = is_plain and is_of_numbers(declaration)
    return fields


def _field_declarations(body: Node) -> Iterator[Node]:
    """The declarations in the body of a class, also in its parts without a name."""
    for child in body.named_children:
        if child.type.startswith("preproc_"):
            yield from _field_declarations(child)
        elif child.type == "field_declaration":
            yield child
            of = child.child_by_field_name("type")
            inner = None if of is None else of.child_by_field_name("body")
            if inner is not None and child.child_by_field_name("declarator") is None:
                yield from _field_declarations(inner)


def sole_allocating_member(root: Node, row: int, class_name: str) -> str:
    """The member that a class allocates in the constructor that the compiler writes.

    The code of such a constructor has the line of the class. Empty if no class of this name begins
    there, or if more than one member has an initialiser that calls something.
    """
    body = _class_body(root, class_name) if class_name else None
    if body is None or body.parent is None or body.parent.start_point[0] != row:
        return ""
    found = []
    for member in body.named_children:
        value = member.child_by_field_name("default_value")
        if member.type == "field_declaration" and value is not None and _calls(value):
            found += member.children_by_field_name("declarator")
    identifier = declared_identifier(found[0]) if len(found) == 1 else None
    return "" if identifier is None else text(identifier)


def declared_object(root: Node, row: int, class_name: str) -> str:
    """The variable in `Shop shop;`, which has the class and no initialiser; empty if none."""
    for node in nodes_on_row(root, row):
        type_ = node.child_by_field_name("type")
        if node.type != "declaration" or type_ is None:
            continue
        written = text(type_).split("<")[0].rpartition("::")[2]
        identifier = declared_identifier(node.child_by_field_name("declarator"))
        if written == class_name and identifier is not None:
            return text(identifier)
    return ""


def _calls(value: Node) -> bool:
    """Whether an initialiser calls something: `{1000}` calls a constructor."""
    if value.type == "initializer_list":
        return value.named_child_count > 0
    return any(node.type in ("call_expression", "new_expression") for node in walk(value))


def _class_body(root: Node, class_name: str) -> Node | None:
    for node in walk(root, skip=("compound_statement",)):
        if node.type in CLASSES:
            name = node.child_by_field_name("name")
            body = node.child_by_field_name("body")
            if name is not None and body is not None and text(name).split("<")[0] == class_name:
                return body
    return None
