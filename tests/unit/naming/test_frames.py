# SPDX-License-Identifier: Apache-2.0
"""Code addresses become functions and lines; with damaged files, only symbols or addresses."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from numascape._native.symbols import Module, Symbols
from numascape.naming import name_allocation
from numascape.naming.frames import is_constructor

PROGRAMS = Path(__file__).parent / "programs"

INLINED = """\
#include <stdlib.h>
char *kept;
static inline __attribute__((always_inline)) void inner(int n) {
  kept = static_cast<char *>(malloc(n));
}
namespace ns {
struct Outer {
  inline __attribute__((always_inline)) void middle(int n) { inner(n + 100001); }
};
}
__attribute__((noinline)) void outer(ns::Outer &object) {
  object.middle(0); kept[0] = 1;
}
int main() {
  ns::Outer object;
  outer(object); kept[1] = 2;
}
"""


@pytest.fixture
def inlined(tmp_path):
    source = tmp_path / "inlined.cpp"
    source.write_text(INLINED)
    return source


@pytest.mark.parametrize("flags", ["-O2 -g", "-O2 -g -no-pie", "-O2 -gdwarf-4", "-O2 -g -gz"])
def test_inlined_functions_are_frames_of_their_own(inlined, flags, compile_program, run_with_log):
    run = run_with_log(compile_program(inlined, flags=flags))
    ((_, frames),) = run.stacks
    file = str(inlined)
    assert [(f.function, f.file, f.line, f.inlined) for f in frames[:4]] == [
        ("inner", file, 4, True),
        ("ns::Outer::middle", file, 8, True),
        ("outer", file, 12, False),
        ("main", file, 16, False),
    ]
    assert [f.column for f in frames[:2]] == [36, 67]


OUTLINED = """\
#include <vector>
std::vector<char> kept;
namespace ns {
void fill(long n) {
  #pragma omp parallel num_threads(1)
  kept.resize(n);
}
}
int main() {
  ns::fill(100001);
  #pragma omp parallel num_threads(1)
  kept.reserve(100002);
}
"""


def test_an_outlined_region_has_the_name_of_its_function(tmp_path, compile_program, run_with_log):
    source = tmp_path / "outlined.cpp"
    source.write_text(OUTLINED)
    run = run_with_log(compile_program(source, flags="-O1 -g -fopenmp"))
    expected = {100001: "ns::fill._omp_fn.0", 100002: "main._omp_fn.0"}
    for size, frames in run.stacks:
        found = name_allocation(frames)
        assert (found.name, found.function) == ("kept", expected.pop(size))
    assert not expected


BASES = """\
#include <vector>
template <typename T> struct Buffer {
  T* start;
  explicit Buffer(long n) { start = new T[n]; }
  Buffer(long n, T value) : Buffer(n) { start[0] = value; }
};
struct Base {
  std::vector<char> lines;
  explicit Base(long n) { lines.resize(n); }
};
struct Derived : public Base {
  long n_;
  explicit Derived(long n) :
      Base(n), n_(n) {}
};
int main() {
  Buffer<char> degrees(100001, 'a');
  Derived options(100002);
  return degrees.start[1] + options.lines[1];
}
"""


def test_constructors_of_bases_and_other_constructors_of_the_class(
    tmp_path, compile_program, run_with_log
):
    source = tmp_path / "bases.cpp"
    source.write_text(BASES)
    run = run_with_log(compile_program(source, flags="-O0 -g"))
    names = {size: name_allocation(frames).name for size, frames in run.stacks}
    assert names == {100001: "degrees.start", 100002: "options.lines"}


def test_a_relative_source_path_starts_from_the_compiler_s_folder(inlined, tmp_path, run_with_log):
    command = ["g++", "-g", "-O2", f"../{tmp_path.name}/./inlined.cpp", "-o", "program"]
    subprocess.run(command, check=True, cwd=tmp_path)
    ((_, frames),) = run_with_log(tmp_path / "program").stacks
    assert {f.file for f in frames[:3]} == {str(inlined)}


def test_without_debug_information_the_symbol_and_offset(inlined, compile_program, run_with_log):
    run = run_with_log(compile_program(inlined, flags="-O2"))
    ((_, frames),) = run.stacks
    assert [(f.function, f.file, f.line) for f in frames[:2]] == [("outer", "", 0), ("main", "", 0)]
    assert all(0 < f.offset < 200 for f in frames[:2])


def test_separate_debug_information_next_to_the_file(
    inlined, compile_program, run_with_log, tmp_path
):
    program = compile_program(inlined, flags="-O2 -g -Wl,--build-id=none")
    separate = tmp_path / "program"
    debug = tmp_path / ".debug" / "program.debug"
    debug.parent.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(
        ["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program, separate], check=True
    )
    ((_, frames),) = run_with_log(separate).stacks
    assert [(f.function, f.line) for f in frames[:2]] == [("inner", 4), ("ns::Outer::middle", 8)]

    debug.write_bytes(debug.read_bytes() + b"changed")
    ((_, frames),) = run_with_log(separate).stacks
    assert frames[0].function.startswith("0x")


def test_an_unknown_address_is_hexadecimal(tmp_path):
    symbols = Symbols([Module(str(tmp_path / "gone"), 0x10000, 0x20000, 0x10000)])
    (outside,) = symbols.frames(0x123)
    (inside,) = symbols.frames(0x10123)
    assert (outside.function, outside.module) == ("0x123", "")
    assert (inside.function, inside.module) == ("0x123", str(tmp_path / "gone"))


def test_of_overlapping_modules_the_first_is_taken():
    symbols = Symbols(
        [
            Module("/a", 0x1000, 0x3000, 0x1000),
            Module("/b", 0x2000, 0x4000, 0x2000),
            Module("/c", 0x3000, 0x4000, 0x3000),
            Module("/empty", 0x9000, 0x9000, 0),
        ]
    )
    addresses = (0xFFF, 0x1000, 0x2FFF, 0x3000, 0x3FFF, 0x4000, 0x9000)
    assert [symbols.frames(pc)[0].module for pc in addresses] == [
        "",
        "/a",
        "/a",
        "/c",
        "/c",
        "",
        "",
    ]


def test_segments_of_a_file_are_one_module():
    symbols = Symbols([Module("/a", 0x3000, 0x4000, 0), Module("/a", 0x1000, 0x2000, 0)])
    assert [symbols.frames(pc)[0].module for pc in (0x1000, 0x2800, 0x3FFF)] == ["/a"] * 3


def test_a_module_may_be_anything(tmp_path):
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\n")
    for path in (
        text,
        tmp_path,
        "/dev/zero",
        "/proc/self/mem",
        "[vdso]",
        "/x (deleted)",
        "",
        "/\0",
    ):
        try:
            symbols = Symbols([Module(str(path), 0x1000, 0x9000, 0x1000)])
        except ValueError:
            assert "\0" in str(path)
            continue
        assert symbols.frames(0x2000)[0].function == "0x1000"
        assert symbols.globals() == []
        assert symbols.unwind([0x2000] * 17, 0x2000, b"") == [0x2000]


def test_wrong_arguments_are_refused():
    symbols = Symbols([])
    with pytest.raises(TypeError):
        symbols.unwind([0] * 16, 0, b"")
    with pytest.raises(TypeError):
        symbols.frames(-1)


EXERCISE = """
import sys
from numascape._native.symbols import Module, Symbols
from numascape.naming import name_allocation
for path in sys.argv[1:]:
    symbols = Symbols([Module(path, 0x10000, 0x40000, 0x10000)])
    symbols.globals()
    for pc in range(0x11000, 0x12400, 3):
        symbols.frames(pc)
    registers = [0x7000] * 16
    for pc in range(0x11000, 0x12400, 7):
        symbols.unwind([*registers, pc], 0x7000, bytes(range(256)) * 4)
print("done")
"""


def test_damaged_files_are_survived(inlined, compile_program, tmp_path):
    original = compile_program(inlined, flags="-O2 -g").read_bytes()
    generator = random.Random(2)
    damaged = []
    for number in range(120):
        content = bytearray(original)
        if number % 4 == 0:
            content = content[: generator.randrange(len(content))]
        for _ in range(generator.choice([1, 10, 100])):
            if content:
                content[generator.randrange(len(content))] = generator.randrange(256)
        damaged.append(tmp_path / f"damaged{number}")
        damaged[-1].write_bytes(content)
    result = subprocess.run(
        [sys.executable, "-c", EXERCISE, *map(str, damaged)], capture_output=True, text=True
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), re.sub(r"\s+", " ", result.stderr)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("ns::Grid<double>::Grid", True),
        ("pvector<EdgePair<int, NodeWeight<int, int> > >::pvector", True),
        ("A<B<C<D<E>>>>::A", True),
        ("Grid::grow", False),
        ("Grid<Grid>::operator<", False),
        ("Grid", False),
    ],
)
def test_constructors_have_the_name_of_their_class(function, expected):
    assert is_constructor(function) is expected
