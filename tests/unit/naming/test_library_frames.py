# SPDX-License-Identifier: Apache-2.0
"""Frames of libraries are distinguished from those of their users."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from numascape.naming import name_allocation
from numascape.naming.frames import (
    base_name,
    is_allocator,
    is_constructor,
    is_library_frame,
    source_function,
)


@dataclass(frozen=True)
class AnyFrame:
    function: str
    file: str = "/home/ada/solver/main.cpp"
    module: str = "/home/ada/solver/solver"
    line: int = 1


@pytest.mark.parametrize(
    "frame",
    [
        AnyFrame("std::vector<double, std::allocator<double> >::_M_allocate"),
        AnyFrame("operator new"),
        AnyFrame("operator new[]"),
        AnyFrame("Eigen::internal::aligned_malloc"),
        AnyFrame("numascape::system::reservation::reservation"),
        AnyFrame("solve", file="/usr/include/c++/12/bits/new_allocator.h"),
        AnyFrame("solve", file="/usr/include/hdf5/H5Gpublic.h"),
        AnyFrame("alloc::raw_vec::finish_grow", file=""),
        AnyFrame("<alloc::vec::Vec<T> as core::clone::Clone>::clone", file=""),
        AnyFrame("with_capacity", file="/rustc/90b35a6/library/alloc/src/vec/mod.rs"),
        AnyFrame("_IO_file_doallocate", file="", module="/usr/lib/x86_64-linux-gnu/libc.so.6"),
        AnyFrame("0x20da6", file="", module="/usr/lib/x86_64-linux-gnu/libgfortran.so.5.0.0"),
        AnyFrame("_dl_new_object", file="", module="/usr/lib64/ld-linux-x86-64.so.2"),
        AnyFrame("malloc", file="", module="/opt/allocator.so"),
    ],
)
def test_libraries(frame):
    assert is_library_frame(frame)


@pytest.mark.parametrize(
    "frame",
    [
        AnyFrame("main"),
        AnyFrame("core::Grid::allocate"),
        AnyFrame("alloc::pool"),
        AnyFrame("stdlib::read"),
        AnyFrame("malloc_fields"),
        AnyFrame("Operators::apply"),
        AnyFrame("fftw_malloc", file="", module="/usr/lib/libfftw3.so.3"),
        AnyFrame("run", file="", module="/usr/lib/libcudart.so.12"),
    ],
)
def test_users(frame):
    assert not is_library_frame(frame)


def test_the_last_part_of_a_function_s_name():
    names = {
        "main": "main",
        "ns::Class<a::b>::data": "data",
        "alloc_array<std::vector<int> >": "alloc_array",
        "ns::Class::operator<": "operator<",
        "(anonymous namespace)::run": "run",
        "": "",
    }
    assert {name: base_name(name) for name in names} == names


def test_functions_that_sources_do_not_name():
    for name in ("main::{lambda}::operator()", "ns::operator<<", "0x1234", "", "Grid::operator ="):
        assert source_function(AnyFrame(name)) is None
    assert source_function(AnyFrame("main._omp_fn.0")) == "main"
    assert source_function(AnyFrame("Grid::~Grid")) == "~Grid"


def test_constructors():
    assert is_constructor("Buffer<char>::Buffer")
    assert is_constructor("ns::Outer<a::b<c> >::Outer")
    assert not is_constructor("Buffer")
    assert not is_constructor("ns::Buffer<ns>::data")


@pytest.mark.parametrize(
    "function",
    [
        "xmalloc",
        "LAMMPS_NS::Memory::srealloc",
        "g_malloc0",
        "g_malloc0_n",
        "ompi_calloc",
        "av_alloc",
    ],
)
def test_functions_named_malloc_hand_memory_on(function):
    assert is_allocator(function)


@pytest.mark.parametrize(
    "function",
    ["allocate_grid", "ns::Pool<int>::allocate", "malloc_trim_all", "main", "realloc_grid"],
)
def test_functions_that_know_what_they_allocate(function):
    assert not is_allocator(function)


def test_without_source_a_block_is_its_wrapper_s_caller_s():
    def name(*functions):
        return name_allocation([AnyFrame(f, file="", line=0) for f in functions]).name

    assert name("Memory::smalloc", "Memory::srealloc", "Atom::grow", "main") == "Atom::grow+0x0"
    assert name("xmalloc", "0x55375") == "xmalloc+0x0"
    assert name("0x7503", "0x70f0", "sqlite3Select", "0x3b1", "main") == "sqlite3Select+0x0"
    assert name("0x7503", "0x70f0") == "solver+0x7503"
    assert name("xmalloc") == "xmalloc+0x0"
