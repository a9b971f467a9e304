# SPDX-License-Identifier: Apache-2.0
"""Names the memory of interpreters other than Python's, by their functions and libraries.

An interpreter allocates memory for all objects of a program with the same few functions. Without
the interpreter's own tables, the objects cannot be distinguished, so they are one structure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from numascape.naming.frames import CallFrame, frame_module, is_library_frame

# Functions and modules by regular expressions; empty: any.
_INTERPRETERS = {
    ("(v8|cppgc|heap::base)::", ""): "JavaScript objects",
    ("", r"libR\."): "R objects",
    ("", r"libperl\."): "Perl objects",
}

# Their libraries, or executables that contain them.
_MODULES = r"(lib)?python\d+(\.\d+)?[a-z]*(\.so.*|-dbg)?|lib(R|perl)\.so.*|perl[\d.]*"

OBJECT_NAMES = frozenset(_INTERPRETERS.values())
"""The names that interpreter_name gives."""


def interpreter_name(frames: Sequence[CallFrame]) -> str | None:
    """The objects of an interpreter; None if it did not allocate the memory."""
    frame = next((frame for frame in frames if not is_library_frame(frame)), None)
    return None if frame is None else _name(frame.function, frame_module(frame))


def is_interpreter_module(name: str) -> bool:
    """Whether a module of this file name is an interpreter: its variables are not a program's."""
    return re.fullmatch(_MODULES, name) is not None


@lru_cache(maxsize=1 << 14)
def _name(function: str, module: str) -> str | None:
    for (functions, modules), name in _INTERPRETERS.items():
        if re.match(functions, function) and re.match(modules, module):
            return name
    return None
