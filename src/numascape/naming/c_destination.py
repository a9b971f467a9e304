# SPDX-License-Identifier: Apache-2.0
"""Finds where the result of a call in C or C++ source goes."""

import re
from dataclasses import replace

from tree_sitter import Node

from numascape.naming.aliases import aliased
from numascape.naming.c_calls import call_at, callee_name, calls_in, calls_with, subscript_at
from numascape.naming.c_classes import (
    CLASSES,
    class_fields,
    declared_object,
    sole_allocating_member,
)
from numascape.naming.c_functions import (
    Function,
    call_arguments,
    defined_functions,
    enclosing_function,
    is_transparent,
    strip,
)
from numascape.naming.c_members import class_of_method, member_of_object
from numascape.naming.c_places import (
    BY_ARGUMENT,
    FollowedValue,
    Slot,
    address_argument,
    follow,
    macro_target,
    receiver,
)
from numascape.naming.destination import (
    TEMPORARY_NAME,
    Destination,
    DestinationKind,
    DestinationQuery,
    join_suffix,
    of_pointee,
    of_pointer,
    tidy,
    without_subscripts,
)
from numascape.naming.frames import base_name
from numascape.naming.sources import Source, ancestors, text

_STATUS_NAME = re.compile(
    r"(i?err(or|no|code)?|e|ret(val)?|rc|rv|status|stat|ok|success|result)$", re.I
)


def find_destination(
    source: Source, line: int, column: int, function_name: str | None, wanted: DestinationQuery
) -> Destination | None:
    """Find where `wanted` of the call at `line` and `column` (0 = unknown) goes; None if unknown.

    `function_name` is the name of the enclosing function in the program. If the source has another
    function there, the program was not built from it.
    """
    is_indexed = wanted.callee == "operator[]"
    if is_indexed:
        call = subscript_at(source.root, line - 1, column - 1)
    else:
        call = call_at(source.root, line - 1, column - 1, wanted.callee)
    if call is None or call.type in CLASSES:
        return _without_call(source.root, line - 1, function_name or "", wanted)
    function = enclosing_function(call)
    if function is not None and function_name and not _is_called(function, function_name):
        return None
    if is_indexed:
        # `counts[word]` allocates a node of the map `counts`.
        container = call.child_by_field_name("argument")
        if container is None:
            return None
        joint = f".{wanted.member}" if wanted.member else ""
        return _classify(container, function, joint + wanted.suffix)
    if wanted.argument >= 0:
        return None if _called_last(call, wanted) else _argument(call, function, wanted)
    if wanted.member:
        return None if _called_last(call, wanted) else _object(call, function, wanted)
    made = _made_from_text(call) if wanted.callee == "basic_string" else ""
    if made:
        return Destination(DestinationKind.VARIABLE, tidy(made) + "()")
    return _value(call, function, wanted.suffix)


def _made_from_text(call: Node) -> str:
    """The class of which the call makes an object from several arguments, among them a text.

    A string is then made for the constructor. Empty if the object itself may be a string.
    """
    for node in (call, *ancestors(call)):
        if node.type == "new_expression":
            made, arguments = node, node.child_by_field_name("arguments")
        elif node.type == "init_declarator" and node.parent is not None:
            made, arguments = node.parent, node.child_by_field_name("value")
        elif node.type in ("compound_statement", "translation_unit", "call_expression"):
            return ""
        else:
            continue
        kind = made.child_by_field_name("type")
        if arguments is None or arguments.type not in ("argument_list", "initializer_list"):
            return ""
        given = arguments.named_children
        has_text = any(one.type == "string_literal" for one in given)
        if kind is None or len(given) < 2 or not has_text:
            return ""
        return "" if re.search("string", text(kind), re.I) else text(kind)
    return ""


def _called_last(call: Node, wanted: DestinationQuery) -> bool:
    """Whether the call is of another function of the file, which called `wanted.callee` last.

    The compiler made a jump of that last call, so the call stack does not have the other function.
    """
    name = callee_name(call)
    called = {callee_name(one) for one in calls_in(call, wanted.callee)}
    is_other = call.type == "call_expression" and wanted.callee not in called
    return is_other and name in defined_functions(call)


def _without_call(
    root: Node, row: int, function_name: str, wanted: DestinationQuery
) -> Destination | None:
    """The destination in a constructor that the compiler wrote, or in the object that it makes."""
    if wanted.member and wanted.is_constructor:
        name = declared_object(root, row, wanted.callee)
        return (
            Destination(DestinationKind.VARIABLE, tidy(f"{name}.{wanted.member}")) if name else None
        )
    member = sole_allocating_member(root, row, function_name)
    return Destination(DestinationKind.MEMBER, member, member=member) if member else None


def find_by_calls(source: Source, wanted: DestinationQuery) -> Destination | None:
    """Find the destination by all calls of the function `wanted.callee`, or with it as an argument.

    `std::thread(f, std::ref(parts[k]))` and `std::async(f, k)` call `f` in a thread. Their other
    arguments are those of `f`. None if the calls have different destinations; elements of an array
    are one.
    """
    found = set()
    for call in calls_with(source.root, wanted.callee):
        function = enclosing_function(call)
        if callee_name(call) == wanted.callee:
            destination = _of_direct_call(call, function, wanted)
        elif wanted.argument >= 0:
            target = _argument_of_launched(call, wanted)
            destination = None if target is None else _classify(target, function, wanted.suffix)
        else:
            destination = _result_of_launched(call, function, wanted)
        if destination is None or destination.kind is not DestinationKind.VARIABLE:
            return None
        found.add(destination)
    if len(found) > 1:
        found = {replace(each, name=without_subscripts(each.name)) for each in found}
    return found.pop() if len(found) == 1 else None


def _of_direct_call(
    call: Node, function: Function | None, wanted: DestinationQuery
) -> Destination | None:
    if wanted.argument >= 0:
        return _argument(call, function, wanted)
    return None if wanted.member else _value(call, function, wanted.suffix)


def _argument_of_launched(call: Node, wanted: DestinationQuery) -> Node | None:
    arguments = [strip(argument) for argument in call_arguments(call)]
    names = [text(argument).lstrip("&") for argument in arguments]
    at = names.index(wanted.callee) + 1 + wanted.argument
    if at >= len(arguments):
        return None
    target = arguments[at]
    if target.type == "call_expression" and callee_name(target) in ("ref", "move"):
        target = next(iter(call_arguments(target)), target)
    if target.type == "pointer_expression" and text(target).startswith("&"):
        target = target.child_by_field_name("argument") or target
    return target


def _result_of_launched(
    call: Node, function: Function | None, wanted: DestinationQuery
) -> Destination | None:
    """The destination of the result of `std::async(f).get()`."""
    access, get = call.parent, call.parent and call.parent.parent
    if callee_name(call) != "async" or wanted.member or get is None or access is None:
        return None
    if access.type != "field_expression" or callee_name(get) != "get":
        return None
    place = follow(get)
    del place.calls[0]  # `get` itself
    return _stored(place, function, wanted.suffix)


def _is_called(function: Function, name: str) -> bool:
    written = base_name(function.name.replace(" ", ""))
    return not re.fullmatch(r"~?\w+", written) or written == name


def _value(call: Node, function: Function | None, suffix: str) -> Destination | None:
    place = follow(call)
    if place.slot in (Slot.EXPRESSION, Slot.DECLARED) and _is_status(call, place):
        by_argument = address_argument(call, function)
        if by_argument is not None:
            return _classify(by_argument, function, suffix)
        if function is not None and place.node is not None and function.holds_numbers(place.node):
            return _through_call(place, function, suffix)
    return _stored(place, function, suffix)


def _stored(place: FollowedValue, function: Function | None, suffix: str) -> Destination | None:
    if place.slot is Slot.RETURNED:
        return Destination(DestinationKind.RETURNED, "", suffix=suffix)
    if place.slot is Slot.FIELD and place.node is not None:
        initialised = text(place.node)
        fields = (
            None
            if function is None
            else class_fields(function.node, class_of_method(function) or "")
        )
        if fields is not None and initialised not in fields:  # an argument for a base's constructor
            return Destination(DestinationKind.VARIABLE, tidy(initialised) + "()")
        if fields is not None and fields[initialised]:
            return None
        member = text(place.node) + place.suffix + suffix
        return Destination(DestinationKind.MEMBER, tidy(member), member=member)
    if place.slot is not Slot.NOWHERE and place.node is not None:
        return _classify(place.node, function, place.suffix + suffix)
    return _through_call(place, function, suffix)


def _is_status(call: Node, place: FollowedValue) -> bool:
    """Whether the value is a status; the block is then returned through an argument."""
    if BY_ARGUMENT.match(callee_name(call)):
        return True
    return place.node is not None and bool(_STATUS_NAME.match(text(place.node)))


def _through_call(
    place: FollowedValue, function: Function | None, suffix: str
) -> Destination | None:
    """The destination of a value that is only passed to calls: what these calls work on."""
    for call in place.calls:
        target = address_argument(call, function)
        if target is not None:
            return _classify(target, function, suffix)
        target = receiver(call)
        if target is not None:
            return _classify(target, function, suffix)
        target = macro_target(call)
        if target is not None:
            return _classify(target, function, suffix)
    outer = [call for call in place.calls if not is_transparent(call)]
    if not outer or outer[-1].type != "call_expression":
        return None
    name = callee_name(outer[-1])
    return Destination(DestinationKind.VARIABLE, tidy(name) + "()") if name else None


def _argument(
    call: Node, function: Function | None, wanted: DestinationQuery
) -> Destination | None:
    for node in calls_in(call, wanted.callee):
        arguments = call_arguments(node)
        if wanted.argument >= len(arguments):
            continue
        target = strip(arguments[wanted.argument])
        if target.type == "pointer_expression" and text(target).startswith("&"):
            inner = target.child_by_field_name("argument")
            return None if inner is None else _classify(inner, function, of_pointee(wanted.suffix))
        return _classify(target, function, wanted.suffix)
    return None


def _object(call: Node, function: Function | None, wanted: DestinationQuery) -> Destination | None:
    """The object that a method is called for, or that a constructor initialises."""
    if wanted.is_constructor:
        if function is not None and wanted.callee in _initialised(function):
            # A base's constructor, or another one of the class: the object is its own.
            return Destination(DestinationKind.MEMBER, tidy(wanted.member), member=wanted.member)
        place = follow(call)
        joint = "->" if place.makes_object else "."
        return _value(call, function, joint + wanted.member)
    called_for = receiver(call)
    if called_for is None or text(called_for) == "this":
        # Within a method, a call without a receiver is for the same object.
        is_method = function is not None and class_of_method(function) is not None
        if not is_method:
            return None
        return Destination(DestinationKind.MEMBER, tidy(wanted.member), member=wanted.member)
    called = call.child_by_field_name("function")
    operator = None if called is None else called.child_by_field_name("operator")
    joint = "." if operator is None else text(operator)
    return _classify(called_for, function, joint + wanted.member)


def _initialised(function: Function) -> set[str]:
    """The fields and classes that a constructor's list initialises, without template arguments."""
    lists = (n for n in function.node.children if n.type == "field_initializer_list")
    names = (text(one.named_children[0]) for each in lists for one in each.named_children)
    return {re.sub(r"<.*", "", name).rpartition("::")[2].strip() for name in names}


def _classify(target: Node, function: Function | None, suffix: str) -> Destination:
    """Decide whether `target` belongs to this function, to its caller, or to its object."""
    target = strip(target)
    if (looped := aliased(target)) is not None:
        return _classify(looped[0], function, looped[1] + suffix)
    name = _joined(target, suffix)
    plain = text(target)
    if function is None:
        return Destination(DestinationKind.VARIABLE, name)
    if target.type == "identifier":
        if plain in function.returned and function.declares(plain):
            return Destination(DestinationKind.RETURNED, name, suffix=suffix)
        if plain in function.references:
            index = function.parameters[plain]
            return Destination(DestinationKind.PARAMETER, name, argument=index, suffix=suffix)
        stored = function.stored.get(plain)
        if (
            stored is not None
            and plain in function.local
            and _is_handed_on(plain, stored, function)
        ):
            return _classify(stored, function, suffix)
        typed = function.copied.get(plain)
        if plain in function.untyped and typed is not None and text(typed) not in function.untyped:
            return _classify(typed, function, suffix)  # `posix_memalign(&memory, ...); a = memory`
    if target.type == "pointer_expression" and plain.startswith("*"):
        pointer = target.child_by_field_name("argument")
        index = -1 if pointer is None else function.parameters.get(text(pointer), -1)
        if index >= 0:
            return Destination(DestinationKind.PARAMETER, name, index, suffix=of_pointer(suffix))
    of_object = _of_callers_object(target, function, suffix)
    if of_object is not None:
        return of_object
    member = member_of_object(target, function)
    if member:
        return Destination(DestinationKind.MEMBER, tidy(member + suffix), member=member + suffix)
    return Destination(DestinationKind.VARIABLE, name)


def _of_callers_object(target: Node, function: Function, suffix: str) -> Destination | None:
    """The destination of a part of an object or array that the function is given or returns."""
    root = target
    while root.type in ("field_expression", "subscript_expression"):
        inner = root.child_by_field_name("argument")
        if inner is None:
            return None
        root = inner
    if root == target or root.type != "identifier":
        return None
    name, member = _joined(target, suffix), text(target)[len(text(root)) :].lstrip() + suffix
    variable = text(root)
    index = function.parameters.get(variable, -1)
    if index >= 0:
        is_pointer = member.startswith("->") or (
            member.startswith("[") and variable in function.pointers
        )
        is_callers = is_pointer or variable in function.references
        return (
            Destination(DestinationKind.PARAMETER, name, index, suffix=member)
            if is_callers
            else None
        )
    if variable in function.returned and variable in function.local:
        return Destination(DestinationKind.RETURNED, name, suffix=member)
    return None


def _is_handed_on(variable: str, target: Node, function: Function) -> bool:
    """Whether a local variable is only a temporary on the way to `target`, as in `*result = p`."""
    if target.type == "pointer_expression":
        pointer = target.child_by_field_name("argument")
        if pointer is not None and text(pointer) in function.parameters:
            return True
    is_local = target.type == "identifier" and function.declares(text(target))
    return bool(TEMPORARY_NAME.fullmatch(variable)) and not is_local


def _joined(target: Node, suffix: str) -> str:
    """Join the expression's text and the suffix: `*p` and `.x` are `p->x`."""
    return (
        join_suffix(text(target), suffix)
        if target.type == "pointer_expression"
        else tidy(text(target) + suffix)
    )
