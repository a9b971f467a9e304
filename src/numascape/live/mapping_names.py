# SPDX-License-Identifier: Apache-2.0
"""Names of mappings, from what the kernel writes beside them (proc(5), /proc/PID/maps)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from numascape.live.mappings import Mapping
from numascape.live.threads import Thread
from numascape.quantities import bytes_text

# glibc, malloc/arena.c: HEAP_MAX_SIZE. A heap of an arena begins at a multiple of it, and reserves
# all memory up to the next one. Other mappings may begin there too: the kernel aligns large ones.
_ARENA: Final = 64 << 20
# Smaller anonymous mappings have one name together.
_SMALL: Final = 2 << 20
# Shared memory without a file, by the executables of the servers that make it.
_SHARED_BY_SERVERS: Final = {"postgres": "PostgreSQL's shared memory"}
# A C library may put the thread's own data, and a guard, beside the stack.
_MORE_THAN_A_STACK: Final = 64 << 10


@dataclass(frozen=True)
class Name:
    """A name and a kind.

    Kinds: global, heap, stack, mapping, file, tensor, column, section, shared memory.
    """

    name: str
    kind: str


ARENAS: Final = Name("heap of threads (malloc arenas)", "heap")


def name_mappings(
    mappings: Sequence[Mapping], threads: Sequence[Thread], stack_bytes: int
) -> list[Name]:
    """The name of each mapping. A mapping with a thread's stack pointer is the stack of the thread.

    `stack_bytes` is the size of a thread's stack. The kernel may join a stack with the mapping
    above it: such a mapping is not called a stack, but has one at its beginning.
    """
    arenas = _arenas(mappings)
    server = _server(mappings)
    return [
        ARENAS
        if mapping.start in arenas
        else Name(server, "shared memory")
        if server and mapping.is_shared and _is_anonymous(mapping)
        else _name(mapping, [] if stack_end(mapping, stack_bytes) else threads_on(mapping, threads))
        for mapping in mappings
    ]


def _server(mappings: Sequence[Mapping]) -> str:
    """The name of the shared memory of a known server with these mappings; empty for others."""
    code = (file_name(mapping.path) for mapping in mappings if "x" in mapping.permissions)
    return next((_SHARED_BY_SERVERS[name] for name in code if name in _SHARED_BY_SERVERS), "")


def _is_anonymous(mapping: Mapping) -> bool:
    """Whether it is memory that the kernel keeps in a file without a name of its own."""
    return mapping.is_file and mapping.path in {"", "/dev/zero", "/anon_hugepage"}


def threads_on(mapping: Mapping, threads: Sequence[Thread]) -> list[Thread]:
    """The threads whose stack pointer is in the mapping."""
    return [
        one
        for one in threads
        if one.stack_pointer and mapping.start <= one.stack_pointer < mapping.end
    ]


def stack_end(mapping: Mapping, stack_bytes: int) -> int:
    """The end of a stack at the beginning of the mapping; 0 if it can be the whole mapping."""
    is_larger = mapping.end - mapping.start > stack_bytes + _MORE_THAN_A_STACK
    return mapping.start + stack_bytes if is_larger else 0


def stack_name(thread: Thread) -> Name:
    """The name of a thread's stack."""
    return Name(f"stack of thread {thread.tid} ({thread.name})", "stack")


def _name(mapping: Mapping, threads: Sequence[Thread]) -> Name:
    path = mapping.path
    if mapping.is_file:
        return _file_name(mapping)
    if path == "[stack]":
        return Name("stack of the main thread", "stack")
    if path == "[heap]":
        return Name("heap", "heap")
    if path.startswith(("[anon:", "[anon_shmem:")):  # prctl(PR_SET_VMA_ANON_NAME)
        return Name(path.partition(":")[2].removesuffix("]"), "mapping")
    if path.startswith("["):
        return Name(path, "mapping")
    if threads:
        return stack_name(threads[0])
    if mapping.end - mapping.start < _SMALL:
        return Name(f"mappings under {bytes_text(_SMALL)}", "mapping")
    return Name(f"mapping at {mapping.start:#x}", "mapping")


def _file_name(mapping: Mapping) -> Name:
    path = mapping.path
    if path.startswith("/SYSV"):
        key = f"key 0x{path.removeprefix('/SYSV')}"
        return Name(f"SysV segment {mapping.inode}, {key}", "shared memory")
    if path.startswith("/dev/shm/"):
        return Name(f"shared memory {path.removeprefix('/dev/shm')}", "shared memory")
    if path.startswith("/memfd:"):
        return Name(f"memfd {path.removeprefix('/memfd:')}", "shared memory")
    if _is_anonymous(mapping):
        large = " in huge pages" if path == "/anon_hugepage" else ""
        if mapping.is_shared:
            return Name(f"shared anonymous memory{large} at {mapping.start:#x}", "shared memory")
        return Name(f"mapping{large} at {mapping.start:#x}", "mapping")
    if not mapping.is_shared and "w" in mapping.permissions:
        return Name(data_name(path), "global")
    return Name(path, "file")


def data_name(path: str) -> str:
    """The name of the data of an executable or library, except its large variables."""
    return f"data of {file_name(path)}"


def file_name(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2] or path


def _arenas(mappings: Sequence[Mapping]) -> set[int]:
    """The start addresses of the heaps that glibc's malloc makes for threads.

    A heap that is full reserves no more memory, and looks like any other mapping of its size. The
    arena then has another heap, which is not full.
    """
    possible = [
        mapping
        for mapping in mappings
        if mapping.start % _ARENA == 0
        and mapping.permissions == "rw-p"
        and not (mapping.is_file or mapping.path)
    ]
    growing = {one.start for one in possible if one.reserved_end == one.start + _ARENA}
    full = {one.start for one in possible if one.end == one.start + _ARENA}
    return growing | full if growing else set()
