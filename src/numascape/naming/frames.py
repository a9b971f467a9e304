# SPDX-License-Identifier: Apache-2.0
"""Classifies the code of the frames of a call stack."""

import re
from functools import lru_cache
from typing import Protocol, TypeVar


class CallFrame(Protocol):
    """A function active in a call stack, as `numascape._native.symbols.Frame` describes it.

    `column` (1-based, bytes), `offset` (bytes from the function's start) and `call_notes` (of
    numascape-cc, about the calls there) are used if present.
    """

    @property
    def function(self) -> str:
        """Readable name; the hexadecimal address if unknown."""

    @property
    def file(self) -> str:
        """Source file; empty if unknown."""

    @property
    def line(self) -> int:
        """Line in `file`, 1-based; 0 if unknown."""

    @property
    def module(self) -> str:
        """Path of the ELF file."""


_Frame = TypeVar("_Frame", bound=CallFrame)

# Patterns are texts here: `re` compiles a pattern when it is first used, and keeps it. Most
# programs need few of them. Compiling all takes longer than naming a small program's structures.

_LIBRARY_FUNCTION = (
    r"std::|__gnu_cxx::|operator (new|delete)\b|__cxa_|_gfortran_|_Znwm|_Znam"
    r"|(boost|absl|folly|tbb|Eigen|Kokkos|arma|blaze|xt|thrust|numascape)::"  # containers
    r"|<(alloc|core|std|hashbrown)::|__rust_|__rdl_|__rg_"
    r"|_?Py(Object|Mem)_(Raw)?(Malloc|Calloc|Realloc)\b|_PyMem_"
    r"|(__libc_|__GI_)?_*(malloc|calloc|realloc|memalign|aligned_alloc|posix_memalign|mmap)\b"
)

# Rust's crates. Without a file name, they could also be C++ namespaces with the same name.
_RUST_LIBRARY_FUNCTION = r"(alloc|core|hashbrown)::"

# Headers of compilers and packages: templates and inline functions.
_LIBRARY_FILE = r"/usr/include/|/usr/lib/|/c\+\+/|/rustc/|/rust/library/|/library/alloc/"

_LIBRARY_MODULE = (
    r"lib(stdc\+\+|c\+\+|c\+\+abi|gfortran|gomp|omp|iomp5|quadmath|c|m|dl|pthread|jemalloc|tcmalloc"
    r"|mimalloc|asan|numa|gcc_s|numascape_placer)([-.]|_minimal)|ld-linux|ld-\d"
)

# The headers of include/numascape with the functions for marks.
_MARK_FILE = r"(^|/)numascape/(phase|region)\.h$"

_ALLOCATOR = r"(?i)(malloc|calloc|realloc|memalign)(\d|_\w\w?|array){0,2}$|_alloc$"


def frame_module(frame: CallFrame) -> str:
    """The file name of the frame's module."""
    return frame.module.rpartition("/")[2]


def outside_marks(frames: list[_Frame]) -> list[_Frame]:
    """Remove the inline function by which a program marks a phase or a region of memory."""
    return [frame for frame in frames if not re.search(_MARK_FILE, frame.file)] or frames


@lru_cache(maxsize=1 << 10)
def is_library_module(name: str) -> bool:
    """Whether a module of this file name is a library of a language or of the system."""
    return re.match(_LIBRARY_MODULE, name) is not None


def is_library_code(function: str, file: str) -> bool:
    """Whether a place in the source belongs to a language's own library, by its names."""
    return bool(re.match(_LIBRARY_FUNCTION, function) or re.search(_LIBRARY_FILE, file))


def is_library_frame(frame: CallFrame) -> bool:
    """Whether the frame belongs to a language's own library; the user's frame is further out."""
    return is_library_place(frame.function, frame.file, frame.module)


@lru_cache(maxsize=1 << 16)
def is_library_place(function: str, file: str, module: str) -> bool:
    """Like `is_library_frame`, of a frame in a module with this path."""
    return bool(
        is_library_code(function, file)
        or (not file and re.match(_RUST_LIBRARY_FUNCTION, function))
        or is_library_module(module.rpartition("/")[2])
    )


@lru_cache(maxsize=1 << 14)
def base_name(function: str) -> str:
    """The last part of a function's name: `data` for `ns::Class<T>::data<int>`."""
    depth = 0
    start = 0
    end = len(function)
    for index, character in enumerate(function):
        if character == "<" and not function.endswith("operator<", 0, index + 1):
            end = index if depth == 0 else end
            depth += 1
        elif character == ">" and depth:
            depth -= 1
        elif depth == 0 and function.startswith("::", index):
            start = index + 2
            end = len(function)
    return function[start : max(start, end)]


def source_function(frame: CallFrame) -> str | None:
    """The name of the frame's function in the source; None if it has none there.

    The text of OpenMP's outlined regions (`main._omp_fn.0`, `.omp_outlined.`) is in their function.
    Lambdas and operators are not searched by name.
    """
    name = base_name(frame.function).split("._omp_fn")[0]
    return name if re.fullmatch(r"~?[A-Za-z_]\w*", name) and name != "operator" else None


@lru_cache(maxsize=1 << 14)
def is_allocator(function: str) -> bool:
    """Whether a function is an allocator by its name: `xmalloc`, `Memory::srealloc`, `g_malloc0`.

    `allocate_grid` is not, because it knows the purpose of the memory. An `allocate` of a class may
    know the purpose, so it is not either.
    """
    return re.search(_ALLOCATOR, base_name(function)) is not None


def is_constructor(function: str) -> bool:
    """Whether a C++ function is a constructor: `ns::Grid<double>::Grid`."""
    depth = 0
    outside = []
    for part in re.split(r"([<>])", function):
        depth += (part == "<") - (part == ">")
        if depth == 0 and part not in "<>":
            outside.append(part)
    parts = "".join(outside).split("::")
    return len(parts) > 1 and parts[-1] == parts[-2]
