# SPDX-License-Identifier: Apache-2.0
"""Names the memory of Python programs by the C functions of CPython and NumPy."""

import re
from collections.abc import Sequence
from functools import lru_cache

from numascape.naming.frames import CallFrame, frame_module, is_library_frame, is_library_module

_NUMPY_MODULE = r"(_multiarray_umath|multiarray|umath)\."
_NUMPY_FUNCTION = r"array_(\w+?)(_namespace)?$"

_PYTHON_MODULE = r"(lib)?python3?[\d.]*(d|t)?([.-]|$)"
_OBJECTS = "Python objects"
# CPython's small objects (up to 512 bytes) of all types share arenas.
_CPYTHON_FUNCTIONS = {
    r"_PyObject_Arena\w+|new_arena|allocate_from_new_pool": _OBJECTS,
    r"list_\w+|PyList_\w+|_PyList_\w+": "Python lists",
    r"new_keys_object|new_values|dictresize|dict_\w+|PyDict_\w+|_PyDict_\w+": "Python dictionaries",
    r"_?PyBytes_\w+": "Python bytes",
    r"_?PyByteArray_\w+|bytearray_\w+": "Python byte arrays",
    r"_?PyUnicode_\w+|unicode_\w+|resize_compact": "Python strings",
    r"set_\w+|_?PySet_\w+": "Python sets",
    r"_PyObject_NewVar|_?PyType_\w+|_PyObject_GC_\w+|gc_alloc": _OBJECTS,
}


# Modules of Python's library that keep data of programs; they may be built into the interpreter.
_DATA_FUNCTION = r"(new)?array(object|_\w+)|mmap_\w+"

INTERPRETER_NAMES = frozenset(_CPYTHON_FUNCTIONS.values())
"""The names of objects of the interpreter, whatever variables refer to them."""


def is_python_name(name: str) -> bool:
    """Whether all objects of a type, or of a NumPy function, have this name."""
    return name in INTERPRETER_NAMES or name == "numpy" or name.startswith("numpy.")


def interpreters_name(frames: Sequence[CallFrame]) -> str | None:
    """The built-in type of objects of the interpreter.

    None if the memory is not of one.
    """
    frame = next((frame for frame in frames if not is_library_frame(frame)), None)
    name = None if frame is None else _builtin_name(frame.function, frame_module(frame))
    # The C library maps memory for its own purposes, while a function of the interpreter runs.
    maps = frames and is_library_module(frame_module(frames[0]))
    return None if name == _OBJECTS and maps else name


def numpys_name(frames: Sequence[CallFrame]) -> tuple[str, CallFrame] | None:
    """The NumPy function as Python sees it (`numpy.empty`, `numpy.ndarray.copy`), with its frame.

    None if the allocation is not NumPy's.
    """
    own: CallFrame | None = None
    caller: CallFrame | None = None
    for frame in frames:
        if re.match(_NUMPY_MODULE, frame_module(frame)):
            own = frame
        elif own is not None:
            caller = frame
            break
        elif not is_library_frame(frame):
            return None
    # The outermost of NumPy's own frames is the function that Python called.
    return None if own is None else (_numpy_name(own, caller), own)


def _numpy_name(own: CallFrame, caller: CallFrame | None) -> str:
    if own.function.startswith(("ufunc_", "PyUFunc_")):
        return "numpy.ufunc"
    match = re.match(_NUMPY_FUNCTION, own.function)
    if match is None:
        return "numpy" if own.function.startswith("0x") else f"numpy.{own.function}"
    is_method = caller is not None and caller.function.startswith("method_")
    return f"{'numpy.ndarray' if is_method else 'numpy'}.{match[1]}"


@lru_cache(maxsize=1 << 14)
def _builtin_name(function: str, module: str) -> str | None:
    if not re.match(_PYTHON_MODULE, module):
        return None
    for functions, name in _CPYTHON_FUNCTIONS.items():
        if re.fullmatch(functions, function):
            return name
    is_known = not function.startswith("0x")  # the interpreter may have few symbols
    return _OBJECTS if is_known and not re.match(_DATA_FUNCTION, function) else None
