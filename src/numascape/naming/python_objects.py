# SPDX-License-Identifier: Apache-2.0
"""Names the memory of Python programs by the C functions of CPython and NumPy."""

import re
from collections.abc import Sequence

from numascape.naming.frames import CallFrame, is_library, module_name

_NUMPY_MODULE = re.compile(r"(_multiarray_umath|multiarray|umath)\.")
_NUMPY_FUNCTION = re.compile(r"array_(\w+?)(_namespace)?$")

_PYTHON_MODULE = re.compile(r"(lib)?python3?[\d.]*(d|t)?([.-]|$)")
# CPython's small objects (up to 512 bytes) of all types share arenas.
_CPYTHON_FUNCTIONS = {
    r"_PyObject_Arena\w+|new_arena|allocate_from_new_pool": "Python objects",
    r"list_\w+|PyList_\w+|_PyList_\w+": "Python lists",
    r"new_keys_object|new_values|dictresize|dict_\w+|PyDict_\w+|_PyDict_\w+": "Python dictionaries",
    r"_?PyBytes_\w+": "Python bytes",
    r"_?PyByteArray_\w+|bytearray_\w+": "Python byte arrays",
    r"_?PyUnicode_\w+|unicode_\w+|resize_compact": "Python strings",
    r"set_\w+|_?PySet_\w+": "Python sets",
    r"_PyObject_NewVar|_?PyType_\w+|_PyObject_GC_\w+|gc_alloc": "Python objects",
}


_PYTHON_NAMES = frozenset(_CPYTHON_FUNCTIONS.values())


def is_python_name(name: str) -> bool:
    """Whether `python_name` gives this name: to all objects of a type, or of a NumPy function."""
    return name in _PYTHON_NAMES or name == "numpy" or name.startswith("numpy.")


def python_name(frames: Sequence[CallFrame]) -> tuple[str, CallFrame] | None:
    """The memory's name for a Python programmer, with the frame that gives it.

    A NumPy function as Python sees it (`numpy.empty`, `numpy.ndarray.copy`), or a built-in type.
    None if the allocation is neither NumPy's nor the interpreter's.
    """
    own: CallFrame | None = None
    caller: CallFrame | None = None
    for frame in frames:
        if _NUMPY_MODULE.match(module_name(frame)):
            own = frame
        elif own is not None:
            caller = frame
            break
        elif not is_library(frame):
            return _builtin_name(frame)
    # The outermost of NumPy's own frames is the function that Python called.
    return None if own is None else (_numpy_name(own, caller), own)


def _numpy_name(own: CallFrame, caller: CallFrame | None) -> str:
    if own.function.startswith(("ufunc_", "PyUFunc_")):
        return "numpy.ufunc"
    match = _NUMPY_FUNCTION.match(own.function)
    if match is None:
        return "numpy" if own.function.startswith("0x") else f"numpy.{own.function}"
    is_method = caller is not None and caller.function.startswith("method_")
    return f"{'numpy.ndarray' if is_method else 'numpy'}.{match[1]}"


def _builtin_name(frame: CallFrame) -> tuple[str, CallFrame] | None:
    if not _PYTHON_MODULE.match(module_name(frame)):
        return None
    for functions, name in _CPYTHON_FUNCTIONS.items():
        if re.fullmatch(functions, frame.function):
            return name, frame
    return None
