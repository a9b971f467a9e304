# SPDX-License-Identifier: Apache-2.0
"""Finds where values are stored in C and C++ source: variables, fields, arguments."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from tree_sitter import Node

from numascape.naming.c_calls import assigned_parameter, callee_name
from numascape.naming.c_functions import (
    Function,
    call_arguments,
    declared_identifier,
    strip,
    walk,
)
from numascape.naming.sources import DEEPEST_NODE, text

# Functions that return a status, and the block through an argument.
BY_ARGUMENT = re.compile(
    r"posix_memalign|v?asprintf|getline|getdelim|MPI_Alloc_mem|(cuda|hip)(Malloc\w*|HostAlloc)"
    r"|memkind_posix_memalign|H5\w+"
)
_OBJECT_MAKERS = ("make_unique", "make_shared", "allocate_shared", "make_unique_for_overwrite")
_DEEPEST_CALL = 16  # calls as arguments of calls
_TYPE_OR_CONSTANT = re.compile(
    r"[A-Z][A-Z0-9_]+|\w+_t|void|bool|char|short|int|long|float|double|(un)?signed|_?[Cc]omplex"
)
_AGGREGATES = ("struct_specifier", "class_specifier")
_STATEMENTS = (
    "expression_statement",
    "compound_statement",
    "if_statement",
    "while_statement",
    "do_statement",
    "for_statement",
    "switch_statement",
    "function_definition",
    "lambda_expression",
    "translation_unit",
)


class Slot(Enum):
    """The way in which a value is stored."""

    EXPRESSION = auto()  # assigned to the expression `node`
    DECLARED = auto()  # initialises the variable `node` names
    FIELD = auto()  # initialises the field `node` names, of the object under construction
    RETURNED = auto()
    LEFT = auto()  # part of the expression `node` that is assigned to: `m[key] = ...`
    NOWHERE = auto()


@dataclass
class FollowedValue:
    """The result of following a call's value outwards."""

    slot: Slot
    node: Node | None
    suffix: str  # the part of an aggregate: `.values`, `[1]`
    calls: list[Node]  # the calls that the value passes through, inner ones first
    makes_object: bool  # through `new` or `make_unique`


def follow(node: Node) -> FollowedValue:
    """Follow the value of a call outwards to where it is stored."""
    place = FollowedValue(Slot.NOWHERE, None, "", [], False)
    for _ in range(DEEPEST_NODE):
        if node.type in ("call_expression", "new_expression"):
            place.calls.append(node)
            name = callee_name(node)
            place.makes_object |= node.type == "new_expression" or name in _OBJECT_MAKERS
        parent = node.parent
        if parent is None or parent.type in _STATEMENTS:
            return place
        if _settle(node, parent, place):
            return place
        place.suffix = _aggregate_part(node, parent) + place.suffix
        node = parent
    return place


def _settle(node: Node, parent: Node, place: FollowedValue) -> bool:
    """Whether `parent` stores the value of `node`; if so, `place` gets the result."""
    if parent.type == "assignment_expression":
        left = parent.child_by_field_name("left")
        is_right = node == parent.child_by_field_name("right")
        place.slot = Slot.EXPRESSION if is_right else Slot.LEFT
        place.node = left if is_right else node
    elif parent.type in ("init_declarator", "declaration", "field_declaration"):
        declarator = node if parent.type == "declaration" and _is_declarator(node) else None
        if parent.type == "init_declarator":
            declarator = parent
        if declarator is None:
            declarator = parent.child_by_field_name("declarator")
        is_field = parent.type == "field_declaration"
        place.slot = Slot.FIELD if is_field else Slot.DECLARED
        place.node = declared_identifier(declarator)
    elif parent.type == "field_initializer":
        place.slot = Slot.FIELD
        place.node = parent.named_children[0]
    elif parent.type in ("return_statement", "co_return_statement"):
        place.slot = Slot.RETURNED
    return place.slot is not Slot.NOWHERE


def _is_declarator(node: Node) -> bool:
    return node.type.endswith("declarator") or node.type == "identifier"


def _aggregate_part(node: Node, parent: Node) -> str:
    """The part of an aggregate that `node` initialises: `.values` or, in an array, `[1]`."""
    if parent.type == "initializer_pair":
        designators = parent.children_by_field_name("designator")
        return "".join(text(designator) for designator in designators)
    if parent.type != "initializer_list" or node.type == "initializer_pair":
        return ""
    around = parent.parent
    index = parent.named_children.index(node)
    if around is not None and _is_array(around):
        return f"[{index}]"
    fields = _fields_of(parent)
    return f".{fields[index]}" if index < len(fields) else ""


def _is_array(initialised: Node) -> bool:
    declarator = initialised.child_by_field_name("declarator")
    return declarator is not None and any(n.type == "array_declarator" for n in walk(declarator))


def _fields_of(values: Node) -> list[str]:
    """The fields that a list of values initialises, if its type is defined in the file."""
    around = values.parent
    if around is not None and around.type == "initializer_list" and around.parent is not None:
        around = around.parent if _is_array(around.parent) else None
    if around is not None and around.type == "init_declarator":
        around = around.parent
    named = None if around is None else around.child_by_field_name("type")
    if named is not None and named.type == "type_descriptor":
        named = named.child_by_field_name("type")
    if named is not None and named.type in _AGGREGATES:
        named = named.child_by_field_name("name") or named
    if named is None:
        return []
    root = named
    while root.parent is not None:
        root = root.parent
    wanted = text(named)
    body = next((body for body in map(_body, walk(root)) if body and body[0] == wanted), None)
    if body is None or _has_constructor(*body):
        return []
    return _field_names(body[1])


def _body(node: Node) -> tuple[str, Node] | None:
    """The name and the fields of a definition of an aggregate."""
    if node.type == "type_definition":
        name, definition = node.child_by_field_name("declarator"), node.child_by_field_name("type")
    else:
        name, definition = node.child_by_field_name("name"), node
    if name is None or definition is None or definition.type not in _AGGREGATES:
        return None
    fields = definition.child_by_field_name("body")
    return None if fields is None else (text(name), fields)


def _has_constructor(name: str, body: Node) -> bool:
    functions = (node for node in walk(body) if node.type == "function_declarator")
    return any(text(function.named_children[0]) == name for function in functions)


def _field_names(body: Node) -> list[str]:
    names = []
    for declaration in body.named_children:
        is_static = any(text(child) == "static" for child in declaration.children)
        if declaration.type != "field_declaration" or is_static:
            continue
        for declarator in declaration.children_by_field_name("declarator"):
            if any(node.type == "function_declarator" for node in walk(declarator)):
                continue
            field = next((n for n in walk(declarator) if n.type == "field_identifier"), None)
            names.append("" if field is None else text(field))
    return names if all(names) else []


def address_argument(call: Node, function: Function | None, depth: int = 0) -> Node | None:
    """The `x` of the first argument `&x`; else the first argument of a function of `BY_ARGUMENT`.

    Numbers of `function` are passed over: `MPI_Send(&rows[i], ...)` only reads its argument.
    """
    arguments = [strip(argument) for argument in call_arguments(call)]
    for argument in arguments:
        if argument.type == "pointer_expression" and text(argument).startswith("&"):
            target = argument.child_by_field_name("argument")
            if target is None or function is None or not function.holds_numbers(strip(target)):
                return target
    for inner in arguments:
        if inner.type == "call_expression" and depth < _DEEPEST_CALL:
            found = address_argument(inner, function, depth + 1)
            if found is not None:
                return found
    is_known = bool(BY_ARGUMENT.match(callee_name(call)))
    return arguments[0] if is_known and arguments else None


def receiver(call: Node) -> Node | None:
    """`v` of the call `v.resize(n)`."""
    function = call.child_by_field_name("function")
    if function is None or function.type != "field_expression":
        return None
    return function.child_by_field_name("argument")


def macro_target(call: Node) -> Node | None:
    """The variable that a macro call such as `ALLOCATE(p, n)` or `CHECK(p = get())` assigns to."""
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*", callee_name(call)):
        return None
    for node in walk(call):
        if node.type == "assignment_expression":
            return node.child_by_field_name("left")
    arguments = call_arguments(call)
    assigned = assigned_parameter(call, callee_name(call))
    if assigned is not None:
        return strip(arguments[assigned]) if assigned < len(arguments) else None
    for argument in arguments:
        target = strip(argument)
        is_name = target.type == "identifier" and not _TYPE_OR_CONSTANT.fullmatch(text(target))
        if is_name or target.type in ("field_expression", "subscript_expression"):
            return target
    return None
