# SPDX-License-Identifier: Apache-2.0
"""The parts of nodes of a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from numascape.naming.sources import text


def below(node: Node, *kinds: str) -> Iterator[Node]:
    """The node itself and the nodes below it, if of these kinds, in the order of the text."""
    if node.type in kinds:
        yield node
    for child in node.named_children:
        yield from below(child, *kinds)


def identifiers(node: Node) -> list[str]:
    """The names of variables and functions in the node, in the order of the text."""
    return [text(found) for found in below(node, "identifier")]


def without_spaces(node: Node) -> str:
    """The source text of the node without white space, to compare two of them."""
    return "".join(text(node).split())
