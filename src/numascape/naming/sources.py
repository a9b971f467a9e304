# SPDX-License-Identifier: Apache-2.0
"""Reads and parses source files; no other module of naming uses the file system.

Files are not trusted, and may have changed since the program was built. A file that cannot be read
or parsed in reasonable time counts as missing.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

FileVersion = tuple[int, int, int]
LARGEST_FILE = 16 << 20
LONGEST_LINE = 64 << 10
PARSE_SECONDS = 5.0  # of CPU time
# Real code nests far less; with deeper nodes, walks from node to node take quadratic time.
DEEPEST_NODE = 400

_FORTRAN_FREE = {".f90", ".f95", ".f03", ".f08", ".f15", ".f18", ".fpp"}
_FORTRAN_FIXED = {".f", ".for", ".f77", ".ftn"}


@dataclass(frozen=True, eq=False)
class Source:
    """A parsed source file; `language` is "c", "cpp", "fortran" or "rust"."""

    path: str
    language: str
    grammar: tree_sitter.Language
    root: tree_sitter.Node


def read_source(path: str) -> Source | None:
    """The parsed file at `path`; None if it is missing, too large, or cannot be parsed.

    It is the same object as long as the file does not change.
    """
    version = file_version(path)
    return None if version is None else _read_version(path, version)


def file_version(path: str) -> FileVersion | None:
    """A value that changes when the file changes; None if the file is missing."""
    try:
        status = _path(path).stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


# Many frames are in the same files, and to make a path takes longer than to look at the file.
_path = lru_cache(maxsize=1 << 10)(Path)


@lru_cache(maxsize=64)
def _read_version(path: str, _version: FileVersion) -> Source | None:
    content = read_regular_file(path)
    if content is None:
        return None
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _FORTRAN_FREE or suffix in _FORTRAN_FIXED:
        free = _free_form(content) if suffix in _FORTRAN_FIXED else content
        return _parse(path, "fortran", free)
    if suffix == ".rs":
        return _parse(path, "rust", content)
    if PurePosixPath(path).suffix == ".c":
        return _parse(path, "c", content)
    return _parse(path, "cpp", content)


def read_regular_file(path: str) -> bytes | None:
    """The content of the text file at the absolute `path`; None if it is not a text file.

    Never blocks, as opening a pipe would. A file with extremely long lines is not text.
    """
    if not path.startswith("/"):
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    is_text = len(content) <= LARGEST_FILE and b"\0" not in content
    return content if is_text and _longest_line(content) <= LONGEST_LINE else None


def _longest_line(content: bytes) -> int:
    return max(map(len, content.split(b"\n")))


@cache
def _grammar(language: str) -> tree_sitter.Language:
    # Loaded when the first file of the language is read: many programs have no source here.
    from tree_sitter import Language

    return Language(import_module(f"tree_sitter_{language}").language())


def _parse(path: str, language: str, content: bytes) -> Source | None:
    from tree_sitter import Parser

    grammar = _grammar(language)
    deadline = time.thread_time() + PARSE_SECONDS

    def is_too_late(_offset: int, _has_error: bool) -> bool:
        return time.thread_time() > deadline

    def chunk(offset: int, _point: object) -> bytes:
        return content[offset : offset + (1 << 16)]

    try:
        tree = Parser(grammar).parse(chunk, progress_callback=is_too_late)
    except ValueError:  # stopped by the deadline
        return None
    return Source(path, language, grammar, tree.root_node)


_FIXED_COMMENT = rb"[cCdD*!]"
_FIXED_CONTINUATION = rb" {5}[^ 0\n]|\t[1-9]"


def _free_form(content: bytes) -> bytes:
    """Convert the comments and continuations of fixed-form Fortran to free form, line by line."""
    lines = content.split(b"\n")
    statement = -1  # the line that a continuation continues
    for index, line in enumerate(lines):
        if re.match(_FIXED_COMMENT, line):
            lines[index] = b"!" + line[1:]
        elif match := re.match(_FIXED_CONTINUATION, line):
            lines[index] = b" " * match.end() + line[match.end() :]
            if statement >= 0:
                lines[statement] = lines[statement].split(b"!")[0].rstrip() + b" &"
            statement = index
        elif line.strip():
            statement = index
    return b"\n".join(lines)


def ancestors(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The nodes around `node`, innermost first; at most DEEPEST_NODE."""
    parent = node.parent
    for _ in range(DEEPEST_NODE):
        if parent is None:
            return
        yield parent
        parent = parent.parent


def root_of(node: tree_sitter.Node) -> tree_sitter.Node:
    """The outermost of the nodes around `node`, usually that of the file."""
    root = node
    for ancestor in ancestors(node):
        root = ancestor
    return root


def nodes_on_row(root: tree_sitter.Node, row: int) -> Iterator[tree_sitter.Node]:
    """All nodes that cover a part of line `row` (0-based), outer ones first."""
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        yield node
        if depth < DEEPEST_NODE:
            covering = [
                child
                for child in node.children
                if child.start_point.row <= row <= child.end_point.row
            ]
            pending.extend((child, depth + 1) for child in reversed(covering))


def node_at(root: tree_sitter.Node, row: int, column: int) -> tree_sitter.Node | None:
    """The smallest node that covers the byte at `row` and `column` (both 0-based)."""
    return root.descendant_for_point_range((row, column), (row, column + 1))


def text(node: tree_sitter.Node) -> str:
    """The node's source text."""
    content = node.text
    return "" if content is None else content.decode("utf-8", "replace")
