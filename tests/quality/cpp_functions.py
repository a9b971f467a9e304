# SPDX-License-Identifier: Apache-2.0
"""The functions of a text in C or C++: their names, parameters and lengths."""

from __future__ import annotations

from functools import cache

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser, Query, QueryCursor

_DECLARATORS = "[(function_declarator) (abstract_function_declarator)] @function"
_DEFINITIONS = "[(function_definition) (lambda_expression)] @function"
_PARAMETERS = {
    "parameter_declaration",
    "optional_parameter_declaration",
    "variadic_parameter_declaration",
    "...",
}


def declared_functions(text: bytes) -> list[tuple[str, int]]:
    """The name of each function and the number of its parameters; a lambda is called ""."""
    functions = []
    for node in _found(text, _DECLARATORS):
        name, parameters = _name(node), node.child_by_field_name("parameters")
        if name is not None and parameters is not None:
            functions.append((name, sum(p.type in _PARAMETERS for p in parameters.children)))
    return functions


def lengths_of_functions(text: bytes) -> list[tuple[int, int]]:
    """The first line of each function with a body, also of a lambda, and how many lines it has."""
    return [
        (node.start_point.row + 1, node.end_point.row - node.start_point.row + 1)
        for node in _found(text, _DEFINITIONS)
    ]


def _found(text: bytes, query: str) -> list[Node]:
    captures = QueryCursor(_query(query)).captures(_parser().parse(text).root_node)
    return sorted(captures.get("function", []), key=lambda node: node.start_byte)


def _name(function: Node) -> str | None:
    """Types and uses of macros are not functions."""
    if function.type == "abstract_function_declarator":
        of_lambda = function.parent is not None and function.parent.type == "lambda_expression"
        return "" if of_lambda else None
    declared = function.child_by_field_name("declarator")
    if declared is None or declared.text is None or declared.type == "parenthesized_declarator":
        return None  # a pointer to functions
    name = declared.text.decode()
    return None if name.isupper() else name


@cache
def _language() -> Language:
    return Language(tree_sitter_cpp.language())


@cache
def _parser() -> Parser:
    return Parser(_language())


@cache
def _query(text: str) -> Query:
    return Query(_language(), text)
