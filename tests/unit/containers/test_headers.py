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
# Headers with the names for users; the other headers are parts of these.
WITH_EXAMPLES = {
    "algorithm",
    "boost_iterators",
    "executor",
    "executor_openmp",
    "executor_tbb",
    "flattened",
    "layout",
    "layout_parts",
    "layout_text",
    "machine_document",
    "machine_layout",
    "mdspan",
    "memory_resource",
    "numa_vector",
    "parallel_algorithm",
    "per_node",
    "replicated",
    "segmented_vector",
    "sort",
    "spans",
    "topology",
    "work_division",
}


def test_every_type_has_an_example() -> None:
    assert {name.split(".")[0] for name in EXAMPLES} >= WITH_EXAMPLES | {"containers"}


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_a_header_needs_no_other_before_it(header: Path) -> None:
    """Its example also includes everything that it needs."""
    own = [program for name, program in EXAMPLES.items() if name.split()[0] == header.name]
    source = f'#include "numascape/{header.name}"\n{"".join(own)}'
    result = compiled(source, "-fsyntax-only", "-fopenmp")
    assert result.returncode == 0, result.stderr[:3000]


def all_examples() -> str:
    """One program of all: its argument is the number of the example that it runs."""
    includes = {f'#include "numascape/{header.name}"' for header in HEADERS} | {
        "#include <cstdlib>"
    }
    functions = []
    for number, program in enumerate(EXAMPLES.values()):
        includes.update(re.findall(r"^#include <[^/]+>$", program, re.MULTILINE))
        body = re.sub(r"^#include.*\n", "", program, flags=re.MULTILINE)
        body = body.replace("int main(", f"int example_{number}(").rstrip().removesuffix("}")
        functions.append(f"{body}    return 0;\n}}\n")  # only main may omit it
    cases = "".join(f"case {n}: return example_{n}();\n" for n in range(len(functions)))
    main = (
        f"int main(int, char** words) {{ switch (std::atoi(words[1])) {{\n{cases}}} return 99; }}"
    )
    return "\n".join([*sorted(includes), *functions, main, ""])


def test_clang_accepts_what_gcc_accepts() -> None:
    result = compiled(all_examples(), "-fsyntax-only", "-fopenmp", compiler="clang++-19")
    assert result.returncode == 0, result.stderr[:3000]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples") / "examples"
    result = compiled(all_examples(), "-o", path, "-fopenmp", "-pthread", "-ltbb")
    assert result.returncode == 0, result.stderr[:3000]
    return path


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(program: Path, name: str) -> None:
    number = str(list(EXAMPLES).index(name))
    subprocess.run([program, number], check=True, capture_output=True, timeout=300)


def test_examples_of_a_document_stand_alone() -> None:
    for name, text in EXAMPLES.items():
        if name.startswith(DOCUMENT.name):
            result = compiled(text, "-fsyntax-only")
            assert result.returncode == 0, result.stderr[:3000]


def test_the_headers_have_no_global_state() -> None:
    """Every variable at namespace scope in the headers is a constant."""
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
