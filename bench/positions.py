# SPDX-License-Identifier: Apache-2.0
"""Positions in a module: its annotations, and the statement and the function around a line."""

from __future__ import annotations

import ast


def annotation_spans(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The first and the last position of each: line, column."""
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        of_node = (getattr(node, name, None) for name in ("annotation", "returns"))
        found += [one for one in of_node if isinstance(one, ast.expr)]
    return [
        ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0))
        for one in found
    ]


def function_at(tree: ast.Module, line: int) -> int | None:
    """The first line of the outermost function around a line, with its decorators.

    None for a line of the module, of a class, or of the head of a function.
    """
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.body[0].lineno <= line <= (node.end_lineno or 0)
    ]
    if not functions:
        return None
    outermost = min(functions, key=lambda node: node.lineno)
    return min([outermost.lineno, *(one.lineno for one in outermost.decorator_list)])


def statement_lines(tree: ast.Module, line: int) -> range:
    """The lines of the innermost statement around a line, without the statements inside it."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and _first(node) <= line <= (node.end_lineno or 0)
    ]
    innermost = max(around, key=lambda node: (_first(node), -(node.end_lineno or 0)))
    inside = [_first(node) for node in ast.walk(innermost) if isinstance(node, ast.stmt)]
    body = [first for first in inside if first > line]
    return range(_first(innermost), min([*body, (innermost.end_lineno or 0) + 1]))


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])
