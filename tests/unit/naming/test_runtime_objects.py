# SPDX-License-Identifier: Apache-2.0
"""Call stacks of runtime libraries' own memory, as seen in real programs."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from numascape.naming import AllocationName, name_allocation


@dataclass(frozen=True)
class SymbolFrame:
    function: str
    module: str
    file: str = ""
    line: int = 0
    offset: int = 0x10


LINKER = "/lib64/ld-linux-x86-64.so.2"
C = "/lib/x86_64-linux-gnu/libc.so.6"
GOMP = "/lib/x86_64-linux-gnu/libgomp.so.1.0.0"
OMP = "/lib/x86_64-linux-gnu/libomp.so.5"
FORTRAN = "/lib/x86_64-linux-gnu/libgfortran.so.5.0.0"
CXX = "/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"
GO = "/home/user/server"
USER = SymbolFrame("main", "/home/user/program", "main.c", 7)


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ([("__minimal_malloc", LINKER), ("_dl_map_object", LINKER)], "dynamic linker"),
        (
            [("__minimal_malloc", LINKER), ("_dl_allocate_tls_storage", LINKER)],
            "thread-local storage",
        ),
        (
            [("calloc", LINKER), ("allocate_dtv", LINKER), ("pthread_create", C)],
            "thread-local storage",
        ),
        ([("0xd09c", GOMP), ("GOMP_parallel", GOMP)], "OpenMP runtime"),
        ([("___kmp_allocate", OMP), ("__kmpc_fork_call", OMP)], "OpenMP runtime"),
        ([("0x20d18", FORTRAN), ("_gfortran_st_write", FORTRAN)], "Fortran runtime"),
        (
            [("__strndup", C), ("0x20f5c", FORTRAN), ("_gfortran_st_open", FORTRAN)],
            "Fortran runtime",
        ),
        ([("0x20da6", FORTRAN), ("call_init", LINKER)], "Fortran runtime"),
        ([("0x20d18", FORTRAN), ("0x26b167", FORTRAN)], "Fortran runtime"),
        ([("_IO_file_doallocate", C), ("printf", C)], "standard I/O buffers"),
        ([("__newlocale", C), ("_gfortran_st_open", FORTRAN)], "locale"),
        ([("qsort_r", C)], "qsort's buffer"),
        ([("__strdup", C), ("tzset_internal", C), ("__tz_convert", C), ("ctime", C)], "time zone"),
        ([("__tzfile_read", C), ("tzset_internal", C), ("__tz_convert", C)], "time zone"),
        ([("runtime.mmap", GO), ("runtime.sysReserve", GO), ("runtime.main", GO)], "Go heap"),
        ([("runtime.sysMmap.abi0", GO), ("runtime.mmap.func1", GO)], "Go heap"),
        ([("__numascape_enter", GO), ("main", GO)], "counters of numascape-cc"),
    ],
)
def test_memory_that_a_runtime_allocates_for_itself(stack, name):
    frames = [SymbolFrame(function, module) for function, module in stack]
    assert name_allocation([*frames, USER]) == AllocationName(name, "", "", 0)


@pytest.mark.parametrize(
    "stack",
    [
        [("omp_aligned_alloc", GOMP)],
        [("_gfortran_reshape", FORTRAN)],
        [("strdup", C)],
        [("operator new(unsigned long)", CXX)],
        [],
    ],
)
def test_memory_that_a_runtime_allocates_for_the_program(stack):
    frames = [SymbolFrame(function, module) for function, module in stack]
    assert name_allocation([*frames, USER]).function == "main"
