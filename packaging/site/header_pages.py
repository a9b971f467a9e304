# SPDX-License-Identifier: Apache-2.0
"""A page for each C or C++ header, from its comments and declarations."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

_DECLARATIONS: Final = {
    *("alias_declaration", "class_specifier", "concept_definition", "declaration"),
    *("enum_specifier", "field_declaration", "function_definition", "struct_specifier"),
    *("preproc_def", "preproc_function_def", "template_declaration", "type_definition"),
}
_FUNCTIONS: Final = {"function_definition"}
_BLOCKS: Final = {
    *("linkage_specification", "namespace_definition"),
    *("preproc_else", "preproc_if", "preproc_ifdef"),
}
_CLASSES: Final = {"class_specifier", "struct_specifier"}
_HIDDEN: Final = re.compile(r"\b(detail|operator)\b|^#define \w+_H$")


def header_pages(include: Path) -> dict[str, str]:
    """The pages by the names of their files, without suffix; `overview` lists them."""
    parser = Parser(Language(tree_sitter_cpp.language()))
    pages: dict[str, str] = {}
    rows = []
    for header in sorted((include / "numascape").glob("*.h*")):
        head, declarations = _content(parser, header.read_bytes(), header.suffix == ".h")
        summary = re.split(r"(?<=\.)\s", head, maxsplit=1)[0].replace("\n", " ")
        if not declarations and not head:
            continue
        name = header.name.replace(".", "-")
        title = f"numascape/{header.name}"
        pages[name] = "\n".join([f"# {title}", "", head, "", *declarations, ""])
        rows.append(f"| [{title}]({name}.md) | {summary} |")
    index = ["# C and C++ headers", "", "| header | content |", "|---|---|", *rows, ""]
    return {"overview": "\n".join(index), **pages}


def _content(parser: Parser, source: bytes, is_c: bool) -> tuple[str, list[str]]:
    """The comment at the head of a header, and its declarations as Markdown."""
    root = parser.parse(source).root_node
    head = ""
    for node in root.children:
        if node.type == "comment" and "SPDX" not in _source(node):
            head += _source(node) + "\n"
        elif node.type != "comment":
            break
    # There may be one declaration for each of several processors.
    entries = {tuple(entry[: 1 if is_c else 4]): entry for entry in _declared(root, is_c)}
    return _markdown(head), [line for entry in entries.values() for line in entry]


def _source(node: Node) -> str:
    return (node.text or b"").decode()


def _declared(parent: Node, is_c: bool) -> Iterator[list[str]]:
    """The documented declarations in a namespace or a file; in C, also functions without comment.

    The comment at the head of a C header is often about its only function.
    """
    comment = ""
    for node in parent.children:
        if node.type == "comment":
            comment += _source(node) + "\n"
            continue
        if node.type in _BLOCKS:
            name = node.child_by_field_name("name")
            if node.type != "namespace_definition" or (name and _source(name) == "numascape"):
                yield from _declared(node.child_by_field_name("body") or node, is_c)
            comment = ""
            continue
        is_told = bool(comment) or (is_c and node.type in _FUNCTIONS)
        if node.type in _DECLARATIONS and is_told and not _HIDDEN.search(_signature(node)):
            yield _entry(node, comment)
        comment = ""


def _entry(node: Node, comment: str) -> list[str]:
    of = _class_in(node)
    title = _name(of or node)
    lines = [f"## {title}", "", "```cpp", _signature(node), "```", "", _markdown(comment), ""]
    body = of.child_by_field_name("body") if of else None
    if of and body:
        for signature, text in _members(body, is_public=of.type == "struct_specifier"):
            lines += ["```cpp", signature, "```", "", text, ""]
    return lines


def _members(body: Node, is_public: bool) -> Iterator[tuple[str, str]]:
    """Public members with a comment: their declarations, and the comment."""
    comment = ""
    for node in body.children:
        if node.type == "access_specifier":
            is_public = _source(node).startswith("public")
        elif node.type == "comment":
            comment += _source(node) + "\n"
            continue
        elif node.type in _DECLARATIONS and is_public and comment:
            yield _signature(node), _markdown(comment)
        comment = ""


def _class_in(node: Node) -> Node | None:
    if node.type in _CLASSES:
        return node
    if node.type in {"template_declaration", "declaration"}:
        return next(filter(None, map(_class_in, node.children)), None)
    return None


def _name(node: Node) -> str:
    """The declared name: the last one before the parameters or the body."""
    named = node.child_by_field_name("name")
    if named is not None:
        return _source(named)
    if node.type in {"template_declaration", "declaration", "function_definition"}:
        inner = [child for child in node.children if child.type in _DECLARATIONS]
        if inner:
            return _name(inner[-1])
    found = re.findall(r"(\w+)\s*(?:\(|=|;|\{|$)", _signature(node))
    return found[0] if found else _signature(node).split()[-1]


def _signature(node: Node) -> str:
    """The declaration without the bodies of classes and functions, on as few lines as needed."""
    if node.type == "preproc_def":
        return _source(node).splitlines()[0].strip()
    text = _source(node)
    body = _body(node)
    if body is not None:
        text = text[: len(text.encode()[: body.start_byte - node.start_byte].decode())]
    text = re.sub(r"\)\s*:\s.*", ")", " ".join(text.split()), count=1) if body else text
    text = re.sub(r"__inline__ |__attribute__\(\(\w+\)\) |\[\[\w+\]\] ", "", " ".join(text.split()))
    return "\n".join(textwrap.wrap(text.rstrip(";{ "), 96))


def _body(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    if node.type in {"template_declaration", "declaration"}:
        return next(filter(None, map(_body, node.children)), None)
    return None


def _markdown(comment: str) -> str:
    """The text of a comment; its indented lines are code."""
    lines = []
    for line in comment.splitlines():
        line = re.sub(r"^\s*(/\*+|\*/|\*|///?)\s?", "", line)
        lines.append(re.sub(r"\s*\*/$", "", line).rstrip())
    parts: list[str] = []
    is_code = False
    for line in lines:
        indented = line.startswith("    ")
        if line and indented != is_code:
            parts.append("" if indented else "```")
            parts += ["```cpp"] if indented else [""]
            is_code = indented
        parts.append(line[4:] if is_code else line.replace("<", "&lt;"))
    if is_code:
        parts.append("```")
    return "\n".join(parts).strip()
