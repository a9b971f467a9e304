# SPDX-License-Identifier: Apache-2.0
"""Where the result of a call in C or C++ source goes."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from tree_sitter import Node

from numascape.naming.c_calls import (
    Call,
    assigned_parameter,
    call_at,
    callee_name,
    calls_in,
)
from numascape.naming.c_functions import (
    Function,
    call_arguments,
    class_fields,
    declared_identifier,
    enclosing_function,
    file_scope_names,
    is_transparent,
    strip,
    walk,
)
from numascape.naming.destination import Destination, Kind, Wanted, tidy
from numascape.naming.frames import base_name
from numascape.naming.sources import DEEPEST_NODE, Source, text

# Functions that give the block through an argument, and a status as their value.
_BY_ARGUMENT = re.compile(
    r"posix_memalign|v?asprintf|getline|getdelim|MPI_Alloc_mem|(cuda|hip)(Malloc\w*|HostAlloc)"
    r"|memkind_posix_memalign|H5\w+"
)
_DEEPEST_CALL = 16  # calls as arguments of calls
_STATUS_NAME = re.compile(
    r"(i?err(or|no|code)?|e|ret(val)?|rc|rv|status|stat|ok|success|result)$", re.I
)
_OBJECT_MAKERS = ("make_unique", "make_shared", "allocate_shared", "make_unique_for_overwrite")
_TYPE_OR_CONSTANT = re.compile(
    r"[A-Z][A-Z0-9_]+|\w+_t|void|bool|char|short|int|long|float|double|(un)?signed|_?[Cc]omplex"
)
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


class _Slot(Enum):
    EXPRESSION = auto()  # assigned to the expression `node`
    DECLARED = auto()  # initialises the variable `node` names
    FIELD = auto()  # initialises the field `node` names, of the object under construction
    RETURNED = auto()
    LEFT = auto()  # part of the expression `node` that is assigned to: `m[key] = ...`
    NOWHERE = auto()


@dataclass
class _Place:
    slot: _Slot
    node: Node | None
    suffix: str  # the part of an aggregate: `.values`, `[1]`
    calls: list[Node]  # that the value passes through, inner ones first
    makes_object: bool  # through `new` or `make_unique`


def find_destination(
    source: Source, line: int, column: int, function_name: str | None, wanted: Wanted
) -> Destination | None:
    """Where `wanted` of the call at `line` and `column` (0 = unknown) goes; None when unknown.

    `function_name` is what the function around is called in the program: with another function
    there, the source is not the one that the program was built from.
    """
    call = call_at(source.root, line - 1, column - 1, wanted.callee)
    if call is None:
        return None
    function = enclosing_function(call.node)
    if function is not None and function_name and not _is_called(function, function_name):
        return None
    if wanted.argument >= 0:
        return _argument(call, function, wanted)
    if wanted.member:
        return _object(call, function, wanted)
    return _value(call, function, wanted.suffix)


def _is_called(function: Function, name: str) -> bool:
    written = base_name(function.name.replace(" ", ""))
    return not re.fullmatch(r"~?\w+", written) or written == name


def _value(call: Call, function: Function | None, suffix: str) -> Destination | None:
    place = _follow(call.node)
    if place.slot in (_Slot.EXPRESSION, _Slot.DECLARED) and _is_status(call, place):
        by_argument = _address_argument(call.node)
        if by_argument is not None:
            return _classify(by_argument, function, suffix)
    if place.slot is _Slot.RETURNED:
        return Destination(Kind.RETURNED, "", suffix=suffix)
    if place.slot is _Slot.FIELD and place.node is not None:
        member = text(place.node) + place.suffix + suffix
        return Destination(Kind.MEMBER, tidy(member), member=member)
    if place.slot is not _Slot.NOWHERE and place.node is not None:
        return _classify(place.node, function, place.suffix + suffix)
    return _through_call(place, function, suffix)


def _follow(node: Node) -> _Place:
    """Goes from a call outwards to the place that its value is put."""
    place = _Place(_Slot.NOWHERE, None, "", [], False)
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


def _settle(node: Node, parent: Node, place: _Place) -> bool:
    """Whether `parent` puts the value of `node` somewhere; noted in `place`."""
    if parent.type == "assignment_expression":
        left = parent.child_by_field_name("left")
        is_right = node == parent.child_by_field_name("right")
        place.slot = _Slot.EXPRESSION if is_right else _Slot.LEFT
        place.node = left if is_right else node
    elif parent.type in ("init_declarator", "declaration", "field_declaration"):
        declarator = node if parent.type == "declaration" and _is_declarator(node) else None
        if parent.type == "init_declarator":
            declarator = parent
        if declarator is None:
            declarator = parent.child_by_field_name("declarator")
        is_field = parent.type == "field_declaration"
        place.slot = _Slot.FIELD if is_field else _Slot.DECLARED
        place.node = declared_identifier(declarator)
    elif parent.type == "field_initializer":
        place.slot = _Slot.FIELD
        place.node = parent.named_children[0]
    elif parent.type in ("return_statement", "co_return_statement"):
        place.slot = _Slot.RETURNED
    return place.slot is not _Slot.NOWHERE


def _is_declarator(node: Node) -> bool:
    return node.type.endswith("declarator") or node.type == "identifier"


def _aggregate_part(node: Node, parent: Node) -> str:
    """The designator of `node` in an initialiser: `.values` or, in an array's, `[1]`."""
    if parent.type == "initializer_pair":
        designators = parent.children_by_field_name("designator")
        return "".join(text(designator) for designator in designators)
    if parent.type != "initializer_list" or node.type == "initializer_pair":
        return ""
    around = parent.parent
    declarator = around.child_by_field_name("declarator") if around is not None else None
    if declarator is None or not any(n.type == "array_declarator" for n in walk(declarator)):
        return ""
    return f"[{parent.named_children.index(node)}]"


def _is_status(call: Call, place: _Place) -> bool:
    """Whether the value is a status, so that the block comes by argument."""
    if _BY_ARGUMENT.match(callee_name(call.node)):
        return True
    return place.node is not None and bool(_STATUS_NAME.match(text(place.node)))


def _address_argument(call: Node, depth: int = 0) -> Node | None:
    """`x` of the first argument `&x`; else the first argument of a function of `_BY_ARGUMENT`."""
    arguments = [strip(argument) for argument in call_arguments(call)]
    for argument in arguments:
        if argument.type == "pointer_expression" and text(argument).startswith("&"):
            return argument.child_by_field_name("argument")
    for inner in arguments:
        if inner.type == "call_expression" and depth < _DEEPEST_CALL:
            found = _address_argument(inner, depth + 1)
            if found is not None:
                return found
    is_known = bool(_BY_ARGUMENT.match(callee_name(call)))
    return arguments[0] if is_known and arguments else None


def _through_call(place: _Place, function: Function | None, suffix: str) -> Destination | None:
    """For a value that only goes into calls: what the calls work on."""
    for call in place.calls:
        target = _address_argument(call)
        if target is not None:
            return _classify(target, function, suffix)
        receiver = _receiver(call)
        if receiver is not None:
            return _classify(receiver, function, suffix)
        target = _macro_target(call)
        if target is not None:
            return _classify(target, function, suffix)
    outer = [call for call in place.calls if not is_transparent(call)]
    if not outer or outer[-1].type != "call_expression":
        return None
    name = callee_name(outer[-1])
    return Destination(Kind.VARIABLE, tidy(name) + "()") if name else None


def _receiver(call: Node) -> Node | None:
    """`v` of the call `v.resize(n)`."""
    function = call.child_by_field_name("function")
    if function is None or function.type != "field_expression":
        return None
    return function.child_by_field_name("argument")


def _macro_target(call: Node) -> Node | None:
    """What a macro call like `ALLOCATE(p, n)` or `CHECK(p = get())` assigns, as far as it shows."""
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


def _argument(call: Call, function: Function | None, wanted: Wanted) -> Destination | None:
    for node in calls_in(call.node, wanted.callee):
        arguments = call_arguments(node)
        if wanted.argument >= len(arguments):
            continue
        target = strip(arguments[wanted.argument])
        if target.type == "pointer_expression" and text(target).startswith("&"):
            inner = target.child_by_field_name("argument")
            return None if inner is None else _classify(inner, function, wanted.suffix)
        return _classify(target, function, wanted.suffix)
    return None


def _object(call: Call, function: Function | None, wanted: Wanted) -> Destination | None:
    """The object that a method is called for, or that a constructor initialises."""
    if wanted.is_constructor:
        place = _follow(call.node)
        joint = "->" if place.makes_object else "."
        return _value(call, function, joint + wanted.member)
    node = call.node
    receiver = _receiver(node)
    if receiver is None or text(receiver) == "this":
        # A call without receiver within a method is one for the same object.
        is_method = function is not None and _class_of(function) is not None
        if not is_method:
            return None
        return Destination(Kind.MEMBER, tidy(wanted.member), member=wanted.member)
    called = node.child_by_field_name("function")
    operator = None if called is None else called.child_by_field_name("operator")
    joint = "." if operator is None else text(operator)
    return _classify(receiver, function, joint + wanted.member)


def _classify(target: Node, function: Function | None, suffix: str) -> Destination:
    """Whose variable the expression `target` is: this function's, its caller's, its object's."""
    target = strip(target)
    name = _joined(target, suffix)
    plain = text(target)
    if function is None:
        return Destination(Kind.VARIABLE, name)
    if target.type == "identifier":
        if plain in function.returned and function.declares(plain):
            return Destination(Kind.RETURNED, name, suffix=suffix)
        if plain in function.references:
            index = function.parameters[plain]
            return Destination(Kind.PARAMETER, name, argument=index, suffix=suffix)
    if target.type == "pointer_expression" and plain.startswith("*"):
        pointer = target.child_by_field_name("argument")
        index = -1 if pointer is None else function.parameters.get(text(pointer), -1)
        if index >= 0:
            return Destination(Kind.PARAMETER, name, argument=index, suffix=suffix)
    member = _member(target, function)
    if member:
        return Destination(Kind.MEMBER, tidy(member + suffix), member=member + suffix)
    return Destination(Kind.VARIABLE, name)


def _joined(target: Node, suffix: str) -> str:
    """The expression's text and the suffix: `*p` and `.x` are `p->x`."""
    name = text(target)
    if target.type == "pointer_expression" and name.startswith("*") and suffix.startswith("."):
        pointer = target.child_by_field_name("argument")
        name = name if pointer is None else text(pointer)
        suffix = "->" + suffix[1:]
    return tidy(name + suffix)


def _member(target: Node, function: Function) -> str:
    """The member of the method's own object that `target` is (part of), or nothing."""
    root = target
    while True:
        inner = root.child_by_field_name("argument")
        if inner is None or root.type not in ("field_expression", "subscript_expression"):
            break
        root = inner
    if root.type == "this":
        return re.sub(r"^this\s*->\s*", "", text(target))
    class_name = _class_of(function)
    is_free = root.type != "identifier" or function.declares(text(root))
    if is_free or class_name is None:
        return ""
    fields = class_fields(function.node, class_name)
    if fields is None:
        is_field = text(root) not in file_scope_names(function.node)
    else:
        is_field = text(root) in fields
    return text(target) if is_field else ""


def _class_of(function: Function) -> str | None:
    """The class that a function's definition says it belongs to; empty for the class around it."""
    qualifier = re.sub(r"<.*>", "", function.name).rpartition("::")[0]
    if qualifier:
        return qualifier.rpartition("::")[2].strip()
    parent = function.node.parent
    is_in_class = parent is not None and parent.type in (
        "field_declaration_list",
        "template_declaration",
    )
    return "" if is_in_class and class_fields(function.node, "") is not None else None
