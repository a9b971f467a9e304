# SPDX-License-Identifier: Apache-2.0
"""The part of the program that decides on a structure's memory."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from numascape.naming.frames import is_library_module
from numascape.naming.interpreters import OBJECT_NAMES, is_interpreter_module
from numascape.naming.python_objects import INTERPRETER_NAMES
from numascape.naming.runtime_objects import RUNTIME_NAMES, is_data_of_go

_MESSAGE_PASSING = re.compile(
    r"lib(mpi\w*|open-(pal|rte)|pmix|uc[mpst]|fabric|psm2|hwloc)([-.]|$)|mca_\w+\.so"
)
_ALLOCATOR = "allocator's own memory and free blocks"
_CODE = re.compile(r".* \(code and (unnamed data|constants)\)")
_LIBRARY = re.compile(r"\.so(\.|$)")


class Owner(str, Enum):
    """The part of the program that decides on a structure's memory."""

    PROGRAM = "program"
    RUNTIME = "runtime"
    """A library of the language, of the system, or of message passing."""
    STACK = "stack"


def is_remainder(row: dict[str, Any]) -> bool:
    """Whether the structure is the unnamed rest of a module's data or of the heap.

    The frame of a known function, whose variables are unknown, is none.
    """
    return _has_no_name(row) and row["kind"] != "local"


def is_of_small_variables(row: dict[str, Any]) -> bool:
    """Whether the structure is all rarely used small variables of a module together."""
    return str(row["name"]).startswith("variables under a page of ")


def _is_variable_of_runtime(name: str, module: str) -> bool:
    return is_interpreter_module(module) or is_data_of_go(name)


def _has_no_name(row: dict[str, Any]) -> bool:
    return not row["named"] or is_of_small_variables(row)


def owner_of(row: dict[str, Any]) -> Owner:
    """The owner of a structure; `row` is that of the trace's table."""
    if row["kind"] == "stack":
        return Owner.STACK
    module = str(row["module"]).rpartition("/")[2]
    if (
        row["name"] in RUNTIME_NAMES
        or row["name"] in INTERPRETER_NAMES
        or row["name"] in OBJECT_NAMES
        or _CODE.fullmatch(row["name"])
        or (_has_no_name(row) and _LIBRARY.search(module))
        or row["name"] == _ALLOCATOR
        or row["name"].startswith("[")
        or is_library_module(module)
        or _MESSAGE_PASSING.match(module)
        or (row["kind"] == "global" and _is_variable_of_runtime(row["name"], module))
    ):
        return Owner.RUNTIME
    return Owner.PROGRAM
