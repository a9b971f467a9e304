# SPDX-License-Identifier: Apache-2.0
"""Variables with static storage have the addresses that the running program prints."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from numascape._native.symbols import Module, Symbols

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def variables(modules_of):
    """Run a program; return the variables that it prints, and those that its file has."""

    def run(program: Path, **environment: str):
        output = subprocess.run(
            [program], check=True, capture_output=True, text=True, env=environment
        ).stdout.splitlines()
        printed = {}
        for line in output:
            if match := re.fullmatch(r"(\S+) 0x(\w+) (\d+)", line):
                printed[match[1]] = (int(match[2], 16), int(match[3]))
        return printed, Symbols(modules_of(output)).globals()

    return run


def named(found) -> dict[str, tuple[int, int]]:
    """The variables by the names that the programs print: `function.variable` for local statics."""
    by_name = {}
    for variable in found:
        scope = f"{variable.function}." if variable.function else ""
        by_name[(scope + variable.name).replace(" ", "_")] = (variable.address, variable.size)
    return by_name


LIBRARY_FLAGS = "-O2 -g -shared -fPIC -Wl,-soname,lib1.so"
C_FLAGS = [
    "-O0 -g",
    "-O2 -g",
    "-O2 -g -no-pie",
    "-O2 -g -static",
    "-O2 -gdwarf-4 -fcommon",
    "-g -gsplit-dwarf",
]


@pytest.mark.parametrize("flags", C_FLAGS)
def test_c_variables(flags, compile_program, variables):
    sources = [PROGRAMS / "variables.c", PROGRAMS / "library.c"]
    printed, found = variables(compile_program(*sources, flags=flags))
    assert len(printed) == 7
    assert named(found).items() >= printed.items()


@pytest.mark.parametrize("flags", ["-O0 -g", "-O2 -g -no-pie"])
def test_cpp_variables(flags, compile_program, variables):
    printed, found = variables(compile_program(PROGRAMS / "variables.cpp", flags=flags))
    assert len(printed) == 6
    assert named(found).items() >= printed.items()


@pytest.mark.parametrize("flags", ["-O0 -g", "-O2 -g -no-pie"])
def test_fortran_variables_and_members_of_common(flags, compile_program, variables):
    printed, found = variables(compile_program(PROGRAMS / "variables.f90", flags=flags))
    assert len(printed) == 7
    assert named(found).items() >= printed.items()
    assert not [v.name for v in found if "whole" in v.name]


def test_variables_of_a_shared_library(compile_program, variables):
    library = compile_program(PROGRAMS / "library.c", flags=LIBRARY_FLAGS, name="lib1.so")
    program = compile_program(PROGRAMS / "variables.c", library, flags="-O2 -g -Wl,-rpath,$ORIGIN")
    printed, found = variables(program)
    # If the program uses a variable of a library, it has a copy of it (copy relocation).
    assert named(v for v in found if v.module == str(program)).items() >= printed.items()
    hidden = [v for v in found if v.name == "hidden"]
    assert [(v.module, v.size) for v in hidden] == [(str(library), 32 * 8)]


def test_without_debug_information_symbols_name_the_variables(compile_program, variables):
    sources = [PROGRAMS / "variables.c", PROGRAMS / "library.c"]
    printed, found = variables(compile_program(*sources, flags="-O2"))
    names = {name.split(".")[-1]: place for name, place in printed.items() if name != "count.cache"}
    by_place = {(v.address, v.size): v.name for v in found}
    assert {name: by_place.get(place) for name, place in names.items()} == {n: n for n in names}
    assert all(v.file == "" and v.line == 0 for v in found if v.name == "A")


def test_debug_information_adds_the_line(compile_program, variables):
    source = PROGRAMS / "variables.c"
    _, found = variables(compile_program(source, PROGRAMS / "library.c", flags="-O2 -g"))
    (cache,) = [v for v in found if (v.name, v.function) == ("cache", "count_too")]
    line = source.read_text().splitlines().index("    static int cache[19];") + 1
    assert (cache.file, cache.line) == (str(source), line)


def test_of_aliases_one_is_chosen_and_nothing_overlaps(compile_program, variables):
    sources = [PROGRAMS / "variables.c", PROGRAMS / "library.c"]
    _, found = variables(compile_program(*sources, flags="-O2 -g"))
    assert [v.name for v in found if v.name in ("original", "another_name", "_original")] == [
        "original"
    ]
    ends = [(v.address, v.address + v.size) for v in found]
    assert all(a[1] <= b[0] for a, b in pairwise(ends))
    assert all(v.size > 0 for v in found)


def test_thread_local_variables_are_left_out(compile_program, variables):
    for sources in (["variables.c", "library.c"], ["variables.cpp"]):
        _, found = variables(compile_program(*(PROGRAMS / s for s in sources), flags="-O0 -g"))
        assert not [v for v in found if "per_thread" in v.name]


def test_a_stripped_program_has_the_variables_of_its_dynamic_symbols(
    compile_program, variables, tmp_path
):
    library = compile_program(PROGRAMS / "library.c", flags=LIBRARY_FLAGS, name="lib1.so")
    stripped = tmp_path / "lib1.so"
    subprocess.run(["strip", "-o", stripped, library], check=True)
    program = compile_program(PROGRAMS / "variables.c", library, flags="-O2 -g")
    _, found = variables(program, LD_LIBRARY_PATH=str(tmp_path))
    own = [(v.name, v.size) for v in found if v.module == str(stripped)]
    assert own == [("library_counts", 64 * 4)]


def test_missing_files_have_no_variables(tmp_path):
    assert Symbols([Module(str(tmp_path / "gone"), 0x1000, 0x2000, 0x1000)]).globals() == []


POINTERS = {
    "c": (
        "typedef double *row; double *a; row b; static void *const c; double d[2]; long e;"
        "struct { double *x; } f; int main(void) { return c != 0; }",
        {"a", "b", "c"},
    ),
    "cpp": (
        "#include <memory>\n#include <vector>\n"
        "namespace n { std::vector<double> a; } std::unique_ptr<double[]> b; struct v { char* x; };"
        "v c; int main() { return 0; }",
        {"n::a", "b"},
    ),
    "f90": (
        "module n\nreal(8), allocatable, target :: a(:, :)\nreal(8), pointer :: b(:)\n"
        "real(8) :: c(4)\n"
        "end module\nprogram p\nuse n\nallocate (a(2, 2))\nb => a(:, 1)\nc = a(1, 1)\n"
        "print *, c, b\nend program\n",
        {"n::a", "n::b"},
    ),
}


@pytest.mark.parametrize("language", POINTERS)
def test_variables_that_point_to_their_data(language, compile_program, tmp_path):
    source, expected = POINTERS[language]
    file = tmp_path / f"pointers.{language}"
    file.write_text(source)
    program = compile_program(file, flags="-g -O0 -no-pie")
    found = Symbols([Module(str(program), 0x400000, 1 << 40, 0)]).globals()
    own = [v for v in found if v.file == str(file) or v.file == file.name]
    assert {v.name for v in own if v.points_to_data} == expected
    assert len(own) > len(expected)
