# SPDX-License-Identifier: Apache-2.0
"""Answers the questions of the placer over a socket, while a program runs.

src/native/placer/plan_format.h describes the messages. The process that asks belongs to the same
user, but its memory may be damaged. Questions are therefore checked, and invalid ones get no
answer.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from numascape.naming.python_code import PythonCode, python_frame
from numascape.naming.python_statements import PythonFrame
from numascape.placement.compiling import NOWHERE
from numascape.placement.resolving import LoadedModule, Resolver

_QUESTION: Final = struct.Struct("<7I")
_MODULE: Final = struct.Struct("<3Q2I")
_PYTHON: Final = struct.Struct("<Q8I")
_CREDENTIALS: Final = struct.Struct("3i")
_VARIABLES, _STACK = 1, 2
_LARGEST: Final = 4 << 20
_DEEPEST: Final = 64
_PATIENCE_S: Final = 10.0


class QuestionError(Exception):
    """The received data is not a valid question."""


@contextmanager
def serving_resolver(resolver: Resolver, path: Path) -> Iterator[None]:
    """Answer questions at a socket of this path, in a thread, while the context is entered."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(128)
    server = threading.Thread(target=_serve, args=(listener, resolver), daemon=True)
    server.start()
    try:
        yield
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # ends the thread's accept
        server.join()
        listener.close()


def _serve(listener: socket.socket, resolver: Resolver) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError, QuestionError):
            connection.settimeout(_PATIENCE_S)
            if _is_own(connection):
                connection.sendall(answer(_receive_question(connection), resolver))


def _is_own(connection: socket.socket) -> bool:
    size = _CREDENTIALS.size
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, user, _ = _CREDENTIALS.unpack(credentials)
    return bool(user == os.geteuid())


def _receive_question(connection: socket.socket) -> bytes:
    header = _receive(connection, _QUESTION.size)
    size = _QUESTION.unpack(header)[0]
    if size > _LARGEST:
        raise QuestionError("too long")
    return header + _receive(connection, size)


def _receive(connection: socket.socket, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        piece = connection.recv(size - len(content))
        if not piece:
            raise QuestionError("too short")
        content += piece
    return bytes(content)


def answer(question: bytes, resolver: Resolver) -> bytes:
    """Return the answer to a question. Raises QuestionError if the question is not valid."""
    _, kind, modules, addresses, module_bytes, is_mapping, python = _QUESTION.unpack_from(question)
    rest = question[_QUESTION.size :]
    stack_end = module_bytes + addresses * 8
    if stack_end > len(rest) or max(addresses, python) > _DEEPEST:
        raise QuestionError("its parts do not add up")
    loaded = _modules(rest[:module_bytes], modules)
    functions = _python(rest[stack_end:], python)
    if kind == _STACK:
        stack = struct.unpack(f"<{addresses}Q", rest[module_bytes:stack_end])
        rule, decided = resolver.stack(loaded, stack, functions, is_mapping=bool(is_mapping))
        return struct.pack("<2I", NOWHERE if rule is None else rule, decided)
    if kind == _VARIABLES:
        found = resolver.variables(loaded)
        rows = (
            struct.pack("<4Q2I", item.address, item.size, item.first, item.end, item.rule, 0)
            for item in found
        )
        return struct.pack("<2I", len(found), 0) + b"".join(rows)
    raise QuestionError("its kind is not known")


def _python(content: bytes, count: int) -> tuple[PythonFrame, ...]:
    found = []
    at = 0
    for _ in range(count):
        if at + _PYTHON.size > len(content):
            raise QuestionError("a Python function is cut off")
        offset, version, line, file_width, name_width, *sizes, _ = _PYTHON.unpack_from(content, at)
        at += _PYTHON.size
        texts = []
        for size in sizes:
            texts.append(content[at : at + size])
            at += size
        file, name, lines = texts
        code = PythonCode(version, line, (file, file_width), (name, name_width), lines)
        found.append(python_frame(code, offset))
    if at != len(content):
        raise QuestionError("its parts do not add up")
    return tuple(found)


@lru_cache(maxsize=64)
def _modules(content: bytes, count: int) -> tuple[LoadedModule, ...]:
    found = []
    at = 0
    for _ in range(count):
        if at + _MODULE.size > len(content):
            raise QuestionError("a module is cut off")
        start, end, bias, size, _ = _MODULE.unpack_from(content, at)
        at += _MODULE.size
        path = content[at : at + size]
        at += size
        if len(path) != size or b"\0" in path or not bias <= start <= end:
            raise QuestionError("a module is damaged")
        found.append(LoadedModule(os.fsdecode(path), start, end, bias))
    return tuple(found)
