# SPDX-License-Identifier: Apache-2.0
"""Finds what a C or C++ function declares, and what it returns."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from numascape.naming.sources import ancestors, root_of, text

FUNCTIONS = ("function_definition", "lambda_expression")
_TRANSPARENT_SCOPES = (
    "namespace_definition",
    "declaration_list",
    "linkage_specification",
    "preproc_if",
    "preproc_ifdef",
    "preproc_else",
)
_NAMED_CASTS = ("static_cast", "reinterpret_cast", "const_cast", "dynamic_cast")
_TRANSPARENT_CALLS = ("std::move", "move", "std::forward")
_ADDRESS_TYPES = ("uintptr_t", "intptr_t", "void")
_MAX_NODES = 200_000
_DEEPEST_OPERATORS = 32
_MOST_OLD_DECLARATIONS = 32
_BEFORE_OLD_BODIES = ("declaration", "expression_statement", "comment", "ERROR")


@dataclass
class Function:
    """A function's definition, or a lambda's (whose `name` is empty)."""

    node: Node
    name: str
    parameters: dict[str, int] = field(default_factory=dict)
    references: set[str] = field(default_factory=set)
    pointers: set[str] = field(default_factory=set)  # parameters
    local: set[str] = field(default_factory=set)
    returned: set[str] = field(default_factory=set)
    stored: dict[str, Node] = field(default_factory=dict)  # first place of a value
    untyped: set[str] = field(default_factory=set)  # local variables of type void*
    copied: dict[str, Node] = field(default_factory=dict)  # first variable that gets a value
    # For variables of arithmetic types: the number of pointers and arrays that lead to the value.
    numbers: dict[str, int] = field(default_factory=dict)

    def declares(self, name: str) -> bool:
        """Whether `name` is a local variable or a parameter here."""
        return name in self.local or name in self.parameters

    def holds_numbers(self, expression: Node) -> bool:
        """Whether an expression is a number, or main's argument, and so no pointer to a block."""
        subscripts = 0
        while expression.type == "subscript_expression":
            inner = expression.child_by_field_name("argument")
            if inner is None:
                return False
            expression, subscripts = strip(inner), subscripts + 1
        name = text(expression)
        if self.name == "main" and name in self.parameters:
            return True
        return self.numbers.get(name, subscripts + 1) <= subscripts


def enclosing_function(node: Node) -> Function | None:
    """The innermost function or lambda around `node`, with what it declares."""
    for ancestor in ancestors(node):
        if ancestor.type in FUNCTIONS:
            return _describe(ancestor)
        if ancestor.type == "compound_statement" and _is_at_file_scope(ancestor):
            return _describe_old_style(ancestor)
    return None


def strip(node: Node) -> Node:
    """The expression without parentheses, casts and `std::move`."""
    while True:
        inner = None
        if node.type == "parenthesized_expression":
            inner = node.named_children[0] if node.named_children else None
        elif node.type == "cast_expression":
            inner = node.child_by_field_name("value")
        elif node.type == "call_expression" and is_transparent(node):
            arguments = call_arguments(node)
            inner = arguments[0] if len(arguments) == 1 else None
        if inner is None:
            return node
        node = inner


def is_transparent(call: Node) -> bool:
    """Whether a call is a named cast or `std::move`, which return their argument."""
    function = call.child_by_field_name("function")
    if function is None:
        return False
    if function.type == "template_function":
        name = function.child_by_field_name("name")
        return name is not None and text(name) in _NAMED_CASTS
    return text(function) in _TRANSPARENT_CALLS


def call_arguments(call: Node) -> list[Node]:
    """The arguments of a call or `new` expression."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None:
        return []
    return [child for child in arguments.named_children if child.type != "comment"]


def declared_identifier(declarator: Node | None) -> Node | None:
    """The name in a declarator, without `*`, `&`, `[n]` and `= value`."""
    names = (
        "identifier",
        "field_identifier",
        "qualified_identifier",
        "structured_binding_declarator",
    )
    for _ in range(32):
        if declarator is None or declarator.type in names:
            return declarator
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type in (
            "reference_declarator",
            "parenthesized_declarator",
        ):
            inner = declarator.named_children[0] if declarator.named_children else None
        declarator = inner
    return None


def defined_functions(node: Node) -> set[str]:
    """The names of the functions that the file defines, without their scopes."""
    names = set()
    for definition in walk(root_of(node), skip=("compound_statement",)):
        if definition.type == "function_definition":
            name = text(declared) if (declared := _declared_function(definition)) else ""
            names.add(re.sub(r"<.*", "", name).rpartition("::")[2])
    return names


def _declared_function(definition: Node) -> Node | None:
    declarator = definition.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            iter(declarator.named_children[-1:]), None
        )
    return None if declarator is None else declarator.child_by_field_name("declarator")


def file_scope_names(node: Node) -> set[str]:
    """The variables that the file declares outside functions and classes."""
    names = set()
    pending = [root_of(node)]
    while pending:
        for child in pending.pop().named_children:
            if child.type == "declaration":
                for declarator in child.children_by_field_name("declarator"):
                    identifier = declared_identifier(declarator)
                    if identifier is not None:
                        names.add(text(identifier))
            elif child.type in _TRANSPARENT_SCOPES:
                pending.append(child)
    return names


def walk(root: Node, skip: tuple[str, ...] = ()) -> Iterator[Node]:
    """`root` and the nodes below it in text order, without those below nodes of types `skip`."""
    pending = [root]
    count = 0
    while pending and count < _MAX_NODES:
        node = pending.pop()
        count += 1
        yield node
        if node.type not in skip:
            pending.extend(reversed(node.named_children))


def _describe(node: Node) -> Function:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type in (
        "pointer_declarator",
        "reference_declarator",
    ):
        declarator = declarator.child_by_field_name("declarator") or declarator.named_children[-1]
    function = Function(node, "")
    if declarator is not None:
        name = declarator.child_by_field_name("declarator")
        function.name = "" if name is None else text(name)
        _add_parameters(declarator, function)
    body = node.child_by_field_name("body")
    if body is not None:
        _add_body(body, function)
    return function


def _is_at_file_scope(node: Node) -> bool:
    return node.parent is not None and node.parent.type in (
        "translation_unit",
        *_TRANSPARENT_SCOPES,
    )


def _describe_old_style(body: Node) -> Function | None:
    """The function `float *make(n) int n; {`, as C was written before 1989.

    The parser takes it for declarations and a block without a function, if it returns a pointer or
    has no type.
    """
    before = body.prev_named_sibling
    for _ in range(_MOST_OLD_DECLARATIONS):
        if before is None or before.type not in _BEFORE_OLD_BODIES:
            return None
        for node in walk(before, skip=("compound_statement",)):
            if node.type == "function_declarator":
                name, listed = node.child_by_field_name("declarator"), "parameters"
            elif node.type == "call_expression" and node.parent == before:
                name, listed = node.child_by_field_name("function"), "arguments"
            else:
                continue
            function = Function(body, "" if name is None else text(name))
            parameters = node.child_by_field_name(listed)
            if parameters is not None:
                _add_old_parameters(parameters, function)
            _add_body(body, function)
            return function
        before = before.prev_named_sibling
    return None


def _add_old_parameters(parameters: Node, function: Function) -> None:
    for index, name in enumerate(parameters.named_children):
        function.parameters[text(name)] = index
        function.pointers.add(text(name))  # an array is handed over as a pointer


def _add_parameters(declarator: Node, function: Function) -> None:
    parameters = declarator.child_by_field_name("parameters")
    if parameters is None:
        return
    if any(child.type == "identifier" for child in parameters.named_children):
        _add_old_parameters(parameters, function)  # `int f(n) int n; {`
    declarations = [
        child for child in parameters.named_children if child.type.endswith("parameter_declaration")
    ]
    for index, declaration in enumerate(declarations):
        declarator_of_one = declaration.child_by_field_name("declarator")
        identifier = declared_identifier(declarator_of_one)
        if identifier is None or declarator_of_one is None:
            continue
        function.parameters[text(identifier)] = index
        _note_number(declaration, identifier, function)
        declared_as = {node.type for node in walk(declarator_of_one)}
        if "reference_declarator" in declared_as:
            function.references.add(text(identifier))
        if declared_as & {"pointer_declarator", "array_declarator"}:
            function.pointers.add(text(identifier))


def _add_body(body: Node, function: Function) -> None:
    copies = []  # (from, to): local pointers that are copied within the function
    for node in walk(body, skip=("lambda_expression",)):
        if node.type == "declaration" and not _is_static(node):
            for declarator in node.children_by_field_name("declarator"):
                identifier = declared_identifier(declarator)
                if identifier is not None:
                    function.local.add(text(identifier))
                    _note_number(node, identifier, function)
                    of = node.child_by_field_name("type")
                    if of is not None and text(of) == "void":
                        function.untyped.add(text(identifier))
        if node.type == "init_declarator":
            target = declared_identifier(node)
            copies.append((node.child_by_field_name("value"), target))
        elif node.type == "assignment_expression":
            value, target = node.child_by_field_name("right"), node.child_by_field_name("left")
            copies.append((value, target))
            if value is not None and target is not None and strip(value).type == "identifier":
                function.stored.setdefault(text(strip(value)), target)
        elif node.type == "return_statement" and node.named_children:
            function.returned |= _values(node.named_children[0])
    for value, target in copies:
        if value is not None and target is not None and target.type == "identifier":
            function.copied.setdefault(text(strip(value)), target)
    for value, target in reversed(copies):
        if value is not None and target is not None and text(target) in function.returned:
            function.returned |= _values(value)


def _note_number(declaration: Node, identifier: Node, function: Function) -> None:
    """Note the variable if its declaration says that it is, or leads to, a number."""
    if not is_of_numbers(declaration):
        return
    layers = 0
    for node in ancestors(identifier):
        if node == declaration:
            break
        layers += node.type in ("pointer_declarator", "array_declarator")
    function.numbers[text(identifier)] = layers


def is_of_numbers(declaration: Node) -> bool:
    """Whether a declaration's type is a number, so that a variable without `*` has no memory."""
    of = declaration.child_by_field_name("type")
    is_number = of is not None and of.type in ("primitive_type", "sized_type_specifier")
    return of is not None and is_number and text(of) not in _ADDRESS_TYPES


def _values(expression: Node, depth: int = 0) -> set[str]:
    """The variables that an expression may equal or point into: `p` in `p + 16`, `ok ? p : 0`."""
    expression = strip(expression)
    if depth > _DEEPEST_OPERATORS:
        return set()
    if expression.type == "identifier":
        return {text(expression)}
    if expression.type == "conditional_expression":
        branches = ("consequence", "alternative")
        nodes = [expression.child_by_field_name(branch) for branch in branches]
        return set().union(*(_values(node, depth + 1) for node in nodes if node is not None))
    if expression.type == "binary_expression":
        operator = expression.child_by_field_name("operator")
        left = expression.child_by_field_name("left")
        if operator is not None and left is not None and operator.type in ("+", "-"):
            return _values(left, depth + 1)
    return set()


def _is_static(declaration: Node) -> bool:
    return any(
        child.type == "storage_class_specifier" and text(child) in ("static", "extern")
        for child in declaration.named_children
    )
