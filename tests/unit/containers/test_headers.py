# SPDX-License-Identifier: Apache-2.0
"""Every header stands alone; every example in them and in their document compiles and runs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from quality.external import ROOT
from unit.containers.compiling import HEADERS, INCLUDE, compiled, examples

DOCUMENT = ROOT / "docs" / "containers.md"
EXAMPLES = {
    f"{path.name} {number}": program
    for path in HEADERS
    for number, program in enumerate(examples(path.read_text(), "//     "))
} | {
    f"containers.md {number}": program
    for number, program in enumerate(
        re.findall(r"```cpp\n(#include.*?\n)```", DOCUMENT.read_text(), re.DOTALL)
    )
}
# Headers that define what users name; the others are parts of these.
WITH_EXAMPLES = {
    "algorithm",
    "executor",
    "executor_openmp",
    "executor_tbb",
    "flattened",
    "layout",
    "layout_text",
    "machine_layout",
    "memory_resource",
    "numa_vector",
    "parallel_algorithm",
    "per_node",
    "replicated",
    "segmented_vector",
    "sort",
    "topology",
}


def test_every_type_has_an_example() -> None:
    assert {name.split(".")[0] for name in EXAMPLES} >= WITH_EXAMPLES | {"containers"}


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_a_header_needs_no_other_before_it(header: Path) -> None:
    result = compiled(f'#include "numascape/{header.name}"\n', "-fsyntax-only", "-fopenmp")
    assert result.returncode == 0, result.stderr[:3000]


def test_clang_accepts_what_gcc_accepts() -> None:
    own = "".join(f'#include "numascape/{header.name}"\n' for header in HEADERS)
    mains = [
        re.sub(r"^#include.*\n", "", program, flags=re.MULTILINE).replace("int main(", f"int f{n}(")
        for n, program in enumerate(EXAMPLES.values())
    ]
    standard = {
        line
        for program in EXAMPLES.values()
        for line in re.findall(r"^#include <[^/]+>$", program, re.MULTILINE)
    }
    source = "\n".join([*sorted(standard), own, *mains])
    # An example's main may end without a return.
    options = ["-fsyntax-only", "-fopenmp", "-Wno-return-type"]
    result = compiled(source, *options, compiler="clang++")
    assert result.returncode == 0, result.stderr[:3000]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_compiles_and_runs(name: str, tmp_path: Path) -> None:
    program = tmp_path / "example"
    libraries = ["-ltbb"] if "tbb" in name else []
    result = compiled(EXAMPLES[name], "-o", program, "-fopenmp", "-pthread", *libraries)
    assert result.returncode == 0, result.stderr[:3000]
    subprocess.run([program], check=True, capture_output=True, timeout=60)


def test_the_headers_have_no_global_state() -> None:
    """A namespace-scope variable of them is a constant."""
    variables = re.compile(r"^(?:inline|static|extern|thread_local)\b(?!.*\().*[;{=]", re.MULTILINE)
    found = [line for path in HEADERS for line in variables.findall(path.read_text())]
    assert found
    assert [line for line in found if "constexpr" not in line] == []


def test_the_headers_include_only_the_standard_library_and_linux() -> None:
    linux = {"linux/mempolicy.h", "sched.h", "sys/mman.h", "sys/syscall.h", "unistd.h"}
    for path in HEADERS:
        if path.stem.startswith("executor_"):
            continue  # adapters to a library
        included = set(re.findall(r"^#include <(.+)>", path.read_text(), re.MULTILINE))
        assert {name for name in included if "." in name or "/" in name} <= linux, path.name
        for own in re.findall(r'^#include "(.+)"', path.read_text(), re.MULTILINE):
            assert (INCLUDE / own).is_file()
