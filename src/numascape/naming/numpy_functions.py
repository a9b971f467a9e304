# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions as Python sees them, from the C functions that carry them out."""

import re
from collections.abc import Sequence

from numascape.naming.frames import CallFrame, is_library, module_name

_NUMPY_MODULE = re.compile(r"(_multiarray_umath|multiarray|umath)\.")
_FUNCTION = re.compile(r"array_(\w+?)(_namespace)?$")


def python_function(frames: Sequence[CallFrame]) -> tuple[str, CallFrame] | None:
    """The NumPy function that allocates, with its frame: `numpy.empty`, `ndarray.copy`.

    It is the outermost of NumPy's own frames; `numpy` alone where symbols are stripped. None when
    the allocation is not NumPy's.
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
            return None
    if own is None:
        return None
    return _python_name(own, caller), own


def _python_name(own: CallFrame, caller: CallFrame | None) -> str:
    if own.function.startswith(("ufunc_", "PyUFunc_")):
        return "numpy.ufunc"
    match = _FUNCTION.match(own.function)
    if match is None:
        return "numpy" if own.function.startswith("0x") else f"numpy.{own.function}"
    is_method = caller is not None and caller.function.startswith("method_")
    return f"{'numpy.ndarray' if is_method else 'numpy'}.{match[1]}"
