# SPDX-License-Identifier: Apache-2.0
"""Finds which variable a statement of Fortran source allocates."""

from tree_sitter import Node

from numascape.naming.destination import Destination, DestinationKind, DestinationQuery, tidy
from numascape.naming.sources import Source, ancestors, nodes_on_row, text

_STATEMENTS = (
    "allocate_statement",
    "assignment_statement",
    "subroutine_call",
    "pointer_association_statement",
)
_PROCEDURES = ("subroutine", "function", "module_procedure", "program")


def find_destination(
    source: Source, line: int, function_name: str | None, wanted: DestinationQuery
) -> Destination | None:
    """Find what the statement on `line` allocates; None if it has no name.

    `function_name` is the name of the enclosing procedure in the program. If the source has another
    procedure there, the program was not built from it.

    gfortran places an `allocate` at the statement's last line. It places the allocation of an
    automatic array (local, with a size known at run time) at the procedure's first line or the
    declaration.
    """
    row = line - 1
    nodes = list(nodes_on_row(source.root, row))
    statements = [node for node in nodes if node.type in _STATEMENTS]
    if any(not _is_in(node, function_name) for node in statements):
        return None
    for statement in sorted(statements, key=lambda node: node.type != "allocate_statement"):
        if wanted.argument >= 0:
            found = _actual_argument(statement, wanted)
        elif statement.type == "allocate_statement":
            found = _allocated(statement)
        elif statement.type == "subroutine_call":
            found = _called(statement, wanted)
        else:
            found = _assigned(statement, wanted)
        if found is not None:
            return found
    return _automatic(nodes)


def _is_in(statement: Node, function_name: str | None) -> bool:
    for procedure in ancestors(statement):
        if procedure.type in ("subroutine", "function") and procedure.named_children:
            name = procedure.named_children[0].child_by_field_name("name")
            if name is None or function_name is None:
                return True
            return text(name).lower() == function_name.lower()
    return True


def _allocated(statement: Node) -> Destination | None:
    objects = [
        node.named_children[0] if node.type == "sized_allocation" else node
        for node in statement.children_by_field_name("allocation")
        if node.is_named
    ]
    names = tuple(tidy(text(node)) for node in objects)
    if not names:
        return None
    if len(names) > 1:
        return Destination(DestinationKind.VARIABLE, tidy(", ".join(names)), parts=names)
    return _of_procedure(statement, names[0])


def _assigned(statement: Node, wanted: DestinationQuery) -> Destination | None:
    left = statement.child_by_field_name("left")
    if left is None:
        return None
    while left.type == "call_expression" and left.named_children:
        left = left.named_children[0]
    return _of_procedure(statement, tidy(text(left) + wanted.suffix))


def _called(statement: Node, wanted: DestinationQuery) -> Destination | None:
    """The name of a temporary array for a call's argument, or of memory that the callee keeps."""
    subroutine = statement.child_by_field_name("subroutine")
    if subroutine is None:
        return None
    return Destination(DestinationKind.VARIABLE, tidy(text(subroutine)) + "()" + wanted.suffix)


def _actual_argument(statement: Node, wanted: DestinationQuery) -> Destination | None:
    calls = [statement] if statement.type == "subroutine_call" else []
    pending = [statement]
    while pending:
        node = pending.pop()
        if node.type == "call_expression":
            calls.append(node)
        pending.extend(node.named_children)
    for call in calls:
        called = call.child_by_field_name("subroutine") or call.named_children[0]
        lists = [child for child in call.named_children if child.type == "argument_list"]
        if text(called).lower() != wanted.callee.lower() or not lists:
            continue
        arguments = [child for child in lists[0].named_children if child.type != "comment"]
        if wanted.argument < len(arguments):
            return _of_procedure(statement, tidy(text(arguments[wanted.argument])))
    return None


def _of_procedure(statement: Node, name: str) -> Destination:
    """The variable `name`, or the caller's variable if the procedure returns it."""
    for procedure in ancestors(statement):
        if procedure.type not in _PROCEDURES or not procedure.named_children:
            continue
        heading = procedure.named_children[0]
        if _result_name(procedure, heading) == name.lower():
            return Destination(DestinationKind.RETURNED, name)
        if name.lower() in _dummy_arguments(heading):
            index = _dummy_arguments(heading).index(name.lower())
            return Destination(DestinationKind.PARAMETER, name, argument=index)
        break
    return Destination(DestinationKind.VARIABLE, name)


def _result_name(procedure: Node, heading: Node) -> str | None:
    if procedure.type != "function":
        return None
    for child in heading.named_children:
        if child.type == "function_result":
            return text(child.named_children[-1]).lower() if child.named_children else None
    name = heading.child_by_field_name("name")
    return None if name is None else text(name).lower()


def _dummy_arguments(heading: Node) -> list[str]:
    parameters = heading.child_by_field_name("parameters")
    if parameters is None:
        return []
    return [
        text(child).lower() for child in parameters.named_children if child.type == "identifier"
    ]


def _automatic(nodes: list[Node]) -> Destination | None:
    """A procedure's automatic arrays, if the row is its heading or the declaration of one."""
    for node in nodes:
        if node.type == "variable_declaration":
            names = _automatic_arrays(node, ())
            break
        if node.type in ("subroutine_statement", "function_statement") and node.parent is not None:
            arguments = tuple(_dummy_arguments(node))
            names = [
                name
                for child in node.parent.named_children
                if child.type == "variable_declaration"
                for name in _automatic_arrays(child, arguments)
            ]
            break
    else:
        return None
    if not names:
        return None
    parts = tuple(names) if len(names) > 1 else ()
    return Destination(DestinationKind.VARIABLE, tidy(", ".join(names)), parts=parts)


def _automatic_arrays(declaration: Node, arguments: tuple[str, ...]) -> list[str]:
    """The arrays in a declaration with a variable size."""
    attributes = [text(node).lower() for node in declaration.children_by_field_name("attribute")]
    if any(word in ("allocatable", "pointer", "parameter", "save") for word in attributes):
        return []
    names = []
    for declarator in declaration.children_by_field_name("declarator"):
        if declarator.type != "sized_declarator" or len(declarator.named_children) < 2:
            continue
        name = text(declarator.named_children[0])
        size = declarator.named_children[1]
        is_variable = any(child.type != "number_literal" for child in size.named_children)
        if is_variable and name.lower() not in arguments:
            names.append(name)
    return names
