# SPDX-License-Identifier: Apache-2.0
"""Wrong uses do not compile, and the compiler prints the library's reason."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from unit.containers.compiling import compiled, precompiled

INCLUDES = """
#include <numascape/algorithm.hpp>
#include <numascape/memory_resource.hpp>
#include <numascape/numa_vector.hpp>
#include <numascape/per_node.hpp>
#include <numascape/replicated.hpp>
#include <numascape/segmented_vector.hpp>
#include <numascape/sort.hpp>
#include <memory>
"""
PROLOGUE = """
using namespace numascape;
struct Throwing { ~Throwing() noexcept(false) {} };
struct NoDefault { explicit NoDefault(int) {} };
struct NotAnExecutor {};
void use(node_threads& workers) {
    (void)workers;
"""
MISUSES = {
    "references": ("segmented_vector<int&> v;", "elements are objects, not references"),
    "arrays": ("numa_vector<int[3]> v;", "elements are objects, not references"),
    "const elements": ("segmented_vector<const int> v;", "neither const nor volatile"),
    "volatile elements": ("per_node<volatile int> v;", "neither const nor volatile"),
    "throwing destructors": ("segmented_vector<Throwing> v;", "destructor must not throw"),
    "copies of what cannot be copied": (
        "replicated<std::unique_ptr<int>> r{nullptr};",
        "what is replicated can be copied",
    ),
    "allocators of const": (
        "placed_allocator<const int> a{page_policy::on_node(0)};",
        "an allocator's elements are objects",
    ),
    "empty blocks": ("segmented_vector<int, layout<block_cyclic<0>>> v;", "at least one element"),
    "elements without a default": (
        "segmented_vector<NoDefault> v{layout{}, 3};",
        "no matching function for call|not default|could not convert|uninitialized",
    ),
    "an executor without bulk": (
        "segmented_vector<int> v{NotAnExecutor{}, layout{}, 3, 0};",
        "no matching function for call|constraints",
    ),
    "writing into a constant vector": (
        "const segmented_vector<int> v{layout{}, 3}; v[0] = 1;",
        "assignment of read-only",
    ),
    "writing into a replica": (
        "replicated<int[]> r{std::span<const int>{}}; r.local()[0] = 1;",
        "assignment of read-only",
    ),
    "sorting what is constant": (
        "const segmented_vector<int> v{layout{}, 3}; numascape::sort(workers, v);",
        "read-only|const",
    ),
    "a parallel algorithm over what has no segments": (
        "std::vector<int> v(3); numascape::fill(workers, v, 1);",
        "placed_range",
    ),
    "a layout with a negative node at compile time": (
        "constexpr node_list nodes{-1}; (void)nodes;",
        "a node's number must not be negative|invalid_argument",
    ),
}


@pytest.fixture(scope="module")
def prologue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The headers, compiled once: GCC takes the file beside them of this name."""
    header = tmp_path_factory.mktemp("prologue") / "prologue.hpp"
    header.write_text(INCLUDES)
    precompiled(header)
    return header


def checked(prologue: Path, statement: str) -> subprocess.CompletedProcess[str]:
    source = f"{PROLOGUE}    {statement}\n}}\n"
    return compiled(source, "-include", prologue, "-fsyntax-only", "-Winvalid-pch")


def test_the_prologue_compiles(prologue: Path) -> None:
    result = checked(prologue, "")
    assert result.returncode == 0, result.stderr[:3000]


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_is_a_compile_error_that_says_why(prologue: Path, misuse: str) -> None:
    statement, message = MISUSES[misuse]
    result = checked(prologue, statement)
    assert result.returncode != 0
    assert any(words in result.stderr for words in message.split("|")), result.stderr[:3000]
