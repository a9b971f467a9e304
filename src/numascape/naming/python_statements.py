# SPDX-License-Identifier: Apache-2.0
"""Names the memory of a Python program by the statement that allocated it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from numascape.naming.sources import FileVersion, file_version, read_regular_file

_LIBRARY_FILE = r"/(site|dist)-packages/|/lib/python3[\d.]*t?/"
_COMPREHENSION = r"<(listcomp|setcomp|dictcomp|genexpr)>$"
_ADDS = {"append", "appendleft", "add", "insert", "put", "setdefault", "extend"}
_VIEWS = {"reshape", "ravel", "view", "transpose", "swapaxes", "squeeze", "T", "data"}
TEMPORARY = "temporary of "
"""The beginning of the name of an array that is only a step on the way to a variable's value."""
_MAX_ANCESTORS = 100
_LARGEST_FILE = 4 << 20  # a parsed file takes 100 times its size


@dataclass(frozen=True)
class PythonFrame:
    """A Python function in a call stack, and the expression that it evaluates.

    Lines count from 1 (0: unknown), columns from 0, in bytes of UTF-8 (-1: unknown).
    """

    function: str
    file: str
    line: int
    column: int = -1
    end_line: int = 0
    end_column: int = -1


@dataclass(frozen=True)
class StatementName:
    """A name, and the frame whose statement gave it."""

    name: str
    frame: PythonFrame


@dataclass(frozen=True)
class _Destination:
    """The destination of a value. `name` is empty if the caller decides it.

    The function's result then has the value as its element `index`, or is the value (-1). `local`
    is the function's own name for the value.
    """

    name: str = ""
    local: str = ""
    is_part: bool = False  # the value is a step on the way to the named one
    index: int = -1
    member: str = ""


def is_library(frame: PythonFrame) -> bool:
    """Whether the frame belongs to Python's library or an installed package, or has no file."""
    return _is_library_file(frame.file)


@lru_cache(maxsize=1 << 12)
def _is_library_file(file: str) -> bool:
    return file.startswith("<frozen") or bool(re.search(_LIBRARY_FILE, file))


def statement_name(frames: Sequence[PythonFrame]) -> StatementName | None:
    """The variable that gets the memory that was allocated while `frames` were executed.

    `frames` are innermost first. Frames of libraries are skipped. If a function returns the memory,
    or stores it in its object during construction, its caller's statement decides. A value that is
    only a step of a computation is the "temporary" of the variable. Memory that a library keeps has
    the name of the program's call, such as `lgb.train()`. Without a variable, or without the
    source, the name is `function+line`. None if no frame is of the program, or if the frame of
    the program imports a library.
    """
    index, member, is_part = -1, "", False
    first: StatementName | None = None
    inside: list[PythonFrame] = []  # the library's functions that the program's statement runs
    for frame in frames:
        if is_library(frame) or not frame.line:
            inside += [frame] if first is None else []
            continue
        first = first or StatementName(f"{_function(frame)}+{frame.line}", frame)
        tree = _read(frame.file)
        if tree is None:
            break
        statement = _statement_at(tree, frame.line)
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return None  # memory of libraries that are being loaded
        node = _expression_at(tree, frame) or _value_of(statement)
        if node is None:
            break
        if inside and isinstance(node, ast.Call):
            if any(one.file.startswith("<frozen importlib") for one in inside):
                return None  # the library imports another one
            called = _target(node.func, -1)
            if called and any(map(_keeps, inside)):
                return StatementName(f"{called}()", frame)
        inside = []
        in_comprehension = re.search(_COMPREHENSION, frame.function) is not None
        found = _goes_to(tree, node, index, in_comprehension=in_comprehension)
        if found is None:
            break
        is_part = is_part or found.is_part
        if found.name:
            name = f"{found.name}{member}"
            return StatementName(f"{TEMPORARY}{name}" if is_part else name, frame)
        index, member = found.index, f"{found.member}{member}"
        if found.member or found.local:
            first = StatementName(f"{found.local or 'self'}{member}", frame)
    return first


def _keeps(frame: PythonFrame) -> bool:
    """Whether a library's function keeps the memory, and does not return it, as far as is known."""
    tree = _read(frame.file) if frame.line else None
    statement = None if tree is None else _statement_at(tree, frame.line)
    if tree is None or statement is None:
        return False
    node = _expression_at(tree, frame) or _value_of(statement)
    if node is None:
        return False
    in_comprehension = re.search(_COMPREHENSION, frame.function) is not None
    found = _goes_to(tree, node, -1, in_comprehension=in_comprehension)
    if found is None:
        return not any(map(_is_result, ast.walk(statement)))
    return bool(found.name) and not _is_in_result(tree, statement, re.split(r"[.,]", found.name)[0])


def _is_in_result(tree: _Tree, statement: ast.stmt, variable: str) -> bool:
    """Whether the function's result is computed from the variable, maybe in its memory."""
    function = _function_around(tree, statement)
    returns = [] if function is None else [n for n in ast.walk(function) if _is_result(n)]
    used = (node for one in returns for node in ast.walk(one))
    return any(isinstance(node, ast.Name) and node.id == variable for node in used)


def _is_result(node: ast.AST) -> bool:
    return isinstance(node, ast.Return | ast.Yield | ast.YieldFrom)


def _function(frame: PythonFrame) -> str:
    plain = re.sub(_COMPREHENSION, "", frame.function).replace(".<locals>", "").rstrip(".")
    return PurePosixPath(frame.file).name if plain in ("", "<module>") else plain


@dataclass(frozen=True, eq=False)
class _Tree:
    """A parsed file: its nodes by the line in which they end, and each node's parent."""

    ending: dict[int, list[ast.AST]]
    statements: list[ast.stmt]
    parents: dict[ast.AST, ast.AST]


def _read(path: str) -> _Tree | None:
    version = file_version(path)
    return None if version is None else _read_version(path, version)


@lru_cache(maxsize=64)
def _read_version(path: str, _version: FileVersion) -> _Tree | None:
    content = read_regular_file(path)
    if content is None or len(content) > _LARGEST_FILE:
        return None
    try:
        root = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    tree = _Tree({}, [], {})
    for node in ast.walk(root):
        for child in ast.iter_child_nodes(node):
            tree.parents[child] = node
        if isinstance(node, ast.expr):
            tree.ending.setdefault(node.end_lineno or 0, []).append(node)
        elif isinstance(node, ast.stmt):
            tree.statements.append(node)
    return tree


def _statement_at(tree: _Tree, line: int) -> ast.stmt | None:
    around = [s for s in tree.statements if s.lineno <= line <= (s.end_lineno or 0)]
    return min(around, key=lambda s: ((s.end_lineno or 0) - s.lineno, -s.lineno), default=None)


def _value_of(statement: ast.stmt | None) -> ast.expr | None:
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call) and value.args and _added_to(value, value.args[-1]):
        return value.args[-1]
    return value if isinstance(value, ast.expr) else None


def _expression_at(tree: _Tree, frame: PythonFrame) -> ast.expr | None:
    """The expression with exactly this place.

    For a method call over several lines, CPython's place begins at the name of the method.
    """
    if frame.column < 0:
        return None
    nodes = [
        node
        for node in tree.ending.get(frame.end_line, ())
        if isinstance(node, ast.expr) and node.end_col_offset == frame.end_column
    ]
    for node in nodes:
        if (node.lineno, node.col_offset) == (frame.line, frame.column):
            return node
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.lineno <= frame.line]
    return max(calls, key=lambda node: (node.lineno, node.col_offset), default=None)


def _goes_to(
    tree: _Tree, node: ast.AST, index: int, *, in_comprehension: bool
) -> _Destination | None:
    """`in_comprehension`: the frame is that of a comprehension (before Python 3.12)."""
    is_part = False
    for _ in range(_MAX_ANCESTORS):
        parent = tree.parents.get(node)
        if parent is None:
            return None
        if isinstance(parent, ast.stmt):
            return _of_statement(tree, parent, node, index, is_part=is_part)
        if isinstance(parent, ast.Lambda) or (in_comprehension and _is_comprehension(parent)):
            return _Destination(is_part=is_part)
        if isinstance(parent, ast.NamedExpr) and parent.value is node:
            return _Destination(_target(parent.target, index), is_part=is_part)
        if isinstance(parent, ast.Tuple | ast.List) and index < 0:
            index = next((i for i, e in enumerate(parent.elts) if e is node), -1)
            if isinstance(parent, ast.List):
                index = -1
        elif isinstance(parent, ast.Call):
            added_to = _added_to(parent, node)
            if added_to:
                return _Destination(added_to, is_part=is_part)
            is_part = is_part or not _is_view(parent, node)
        elif isinstance(parent, ast.Attribute | ast.Subscript):
            is_part = is_part or not _keeps_memory(parent)
        elif isinstance(
            parent, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.keyword | ast.Slice
        ):
            is_part = True
        node = parent
    return None


def _is_comprehension(node: ast.AST) -> bool:
    return isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)


def _is_view(call: ast.Call, node: ast.AST) -> bool:
    """Whether `node` is the method `x.reshape` of a call, whose result has the memory of `x`."""
    return call.func is node and isinstance(node, ast.Attribute) and node.attr in _VIEWS


def _keeps_memory(parent: ast.Attribute | ast.Subscript) -> bool:
    return isinstance(parent, ast.Subscript) or parent.attr in _VIEWS


def _added_to(call: ast.Call, node: ast.AST) -> str:
    """The container to which a call such as `parts.append(node)` adds the value."""
    function = call.func
    if node in call.args and isinstance(function, ast.Attribute) and function.attr in _ADDS:
        return _target(function.value, -1)
    return ""


def _of_statement(
    tree: _Tree, statement: ast.stmt, node: ast.AST, index: int, *, is_part: bool
) -> _Destination | None:
    if isinstance(statement, ast.Return):
        return _Destination(index=index, is_part=is_part)
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        is_part = is_part or node in statement.targets
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
        is_part = is_part or node is target
    elif isinstance(statement, ast.AugAssign):
        target, is_part = statement.target, True
    elif isinstance(statement, ast.Expr):
        # A constructor that calls its base's: the object is its own.
        return _Destination(index=index) if _calls_base(node) else None
    else:
        return None
    name = _target(target, index)
    if not name:
        return None
    if not is_part and name.startswith("self.") and _is_constructor(tree, statement):
        return _Destination(member=name[len("self") :])
    returned = _returned_as(tree, statement, name)
    if not is_part and returned is not None:
        return _Destination(local=name, index=returned)
    return _Destination(name, is_part=is_part)


def _returned_as(tree: _Tree, statement: ast.stmt, name: str) -> int | None:
    """The index of the variable among the results of its function; -1 if it is the only result."""
    function = _function_around(tree, statement)
    if function is None:
        return None
    for node in ast.walk(function):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        if _function_around(tree, node) is not function:
            continue
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        for index, value in enumerate(values):
            if _variable_of(value) == name:
                return index if isinstance(node.value, ast.Tuple) else -1
    return None


def _variable_of(value: ast.expr) -> str:
    """The variable whose memory the value has: `x` for `x`, `x[0]` and `x.reshape(2, 3)`."""
    while not isinstance(value, ast.Name):
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            value = value.func
        elif not isinstance(value, ast.Attribute | ast.Subscript) or not _keeps_memory(value):
            return ""
        if isinstance(value, ast.Attribute) and not _keeps_memory(value):
            return ""
        value = value.value
    return value.id


def _calls_base(node: ast.AST) -> bool:
    function = getattr(node, "func", None)
    return isinstance(function, ast.Attribute) and function.attr == "__init__"


def _is_constructor(tree: _Tree, node: ast.AST) -> bool:
    function = _function_around(tree, node)
    return function is not None and function.name == "__init__"


def _function_around(tree: _Tree, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    parent = tree.parents.get(node)
    while parent is not None and not isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
        parent = tree.parents.get(parent)
    return parent


def _target(target: ast.expr, index: int) -> str:
    """The variable or field that an assignment changes; an element counts as its container."""
    if isinstance(target, ast.Tuple | ast.List):
        if 0 <= index < len(target.elts):
            return _target(target.elts[index], -1)
        return ", ".join(filter(None, (_target(element, -1) for element in target.elts)))
    if isinstance(target, ast.Subscript | ast.Starred | ast.Call):
        return _target(target.func if isinstance(target, ast.Call) else target.value, -1)
    if isinstance(target, ast.Attribute):
        owner = _target(target.value, -1)
        return f"{owner}.{target.attr}" if owner else target.attr
    return target.id if isinstance(target, ast.Name) else ""
