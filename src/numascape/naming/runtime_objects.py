# SPDX-License-Identifier: Apache-2.0
"""Names memory that a runtime library allocates for itself.

Such a block is not named after a statement of the program: the statement that caused it (the first
parallel region, the first `printf`) would be a misleading name.
"""

import re
from collections.abc import Sequence

from numascape.naming.frames import CallFrame, frame_module

_LINKER = r"ld-linux|ld-\d"
_C_LIBRARY = r"libc([-.]|$)"
_OPENMP = r"lib(gomp|omp|iomp5)[.-]"
_FORTRAN = r"libgfortran[.-]"

# OpenMP's functions that allocate for the program.
_OPENMP_ALLOCATES = r"(GOMP|omp|__kmpc)_(aligned_)?(alloc|calloc|realloc)"
_FORTRAN_INPUT_OUTPUT = r"_gfortran_(st|transfer)_\w+"
_THREAD_LOCAL = r"_?_?(_dl_)?(allocate_(tls|dtv)|tls_get_addr|allocate_and_init)\w*"
_C_FUNCTIONS = {
    r"_IO_file_doallocate": "standard I/O buffers",
    r"_nl_\w+|(__)?newlocale|(__)?setlocale": "locale",
    r"(__)?qsort(_r)?": "qsort's buffer",
    r"(__)?tz(set|file)\w*|__tz_convert|(c|local|mk)time(_r)?|strftime(_l)?": "time zone",
}

# Go's runtime maps memory, and divides it among objects and goroutines' stacks by itself.
_GO_MAPS = r"runtime\.(mmap|sys(Mmap|Alloc|Reserve|Map)\w*)(\.abi0)?"

# Variables of Go's runtime, and constants that its compiler made: types, dictionaries of generic
# functions, numbers.
_GO_DATA = r"(internal/)?runtime(/\w+)*\..*|(go|type):.*|\$f(32|64)\..*|.*\.\.(dict|inittask)\b.*"

# In programs that numascape-cc built: where to count if no compiled recorder is there.
_COUNTS = r"__numascape_\w+"

_OF_GO, _OF_COMPILER = "Go heap", "counters of numascape-cc"
_OF_FORTRAN, _OF_OPENMP = "Fortran runtime", "OpenMP runtime"
_LOCAL, _OF_LINKER = "thread-local storage", "dynamic linker"

RUNTIME_NAMES = frozenset(
    {_OF_GO, _OF_COMPILER, _OF_FORTRAN, _OF_OPENMP, _LOCAL, _OF_LINKER, *_C_FUNCTIONS.values()}
)
"""All names that runtime_name gives."""


def runtime_name(frames: Sequence[CallFrame]) -> tuple[str, CallFrame] | None:
    """The name of a runtime library's own memory, with the frame that gives it.

    None if the innermost frames are not those of such a library, or if it allocates for the program
    (an array, `omp_alloc`).
    """
    fortran: CallFrame | None = None
    for frame in frames:
        module = frame_module(frame)
        if re.match(_LINKER, module):
            if fortran is not None:  # its constructor, called by the linker
                return _OF_FORTRAN, fortran
            is_local = re.fullmatch(_THREAD_LOCAL, frame.function)
            if is_local or not _is_allocation_function(frame):
                return (_LOCAL if is_local else _OF_LINKER), frame
        elif re.match(_OPENMP, module):
            allocates = any(re.match(_OPENMP_ALLOCATES, f.function) for f in frames)
            return None if allocates else (_OF_OPENMP, frame)
        elif re.match(_FORTRAN, module):
            if re.fullmatch(_FORTRAN_INPUT_OUTPUT, frame.function):
                return _OF_FORTRAN, frame
            fortran = frame
        elif re.match(_C_LIBRARY, module):
            for functions, name in _C_FUNCTIONS.items():
                if re.fullmatch(functions, frame.function):
                    return name, frame
        elif re.fullmatch(_GO_MAPS, frame.function):
            return _OF_GO, frame
        elif re.fullmatch(_COUNTS, frame.function):
            return _OF_COMPILER, frame
        elif fortran is not None and fortran.function.startswith("0x"):
            return _OF_FORTRAN, fortran  # its functions that allocate for programs have names
        else:
            return None
    return None if fortran is None else (_OF_FORTRAN, fortran)


def is_data_of_go(name: str) -> bool:
    """Whether a variable of a Go program belongs to the runtime or was made by the compiler."""
    return re.fullmatch(_GO_DATA, name) is not None


def _is_allocation_function(frame: CallFrame) -> bool:
    """Whether the frame is the dynamic linker's malloc; its caller shows the purpose."""
    return re.fullmatch(r"(__minimal_|__rtld_)?(malloc|calloc|realloc)", frame.function) is not None
