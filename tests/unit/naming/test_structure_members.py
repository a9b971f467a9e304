# SPDX-License-Identifier: Apache-2.0
"""Large members of a variable that is a structure are variables, with the names of the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape._native.symbols import Global, Module, Symbols

C = """\
struct pair { double x[600]; double y[600]; };
static struct {
    double a[1000];
    struct { long hits, misses; } stats;
    double b[1000];
    int count;
    double time;
    struct pair field;
    struct { char text[100]; } names[100];
    int last;
    union { double d[600]; float f[600]; } either;
    union { double d[600]; char c[600]; };
    struct { double inner[700]; long more; };
} world;
struct { double data[1000]; } wrapped;
struct { char p[3000]; char q[3000]; } small;
struct pair several[3];
_Thread_local struct pair own;
int main(void) {
    static struct { double one[600]; double two[600]; } kept;
    return (int)(world.a[1] + wrapped.data[1] + small.p[1] + several[1].x[1] + kept.one[1]);
}
"""
CPP = """\
#include <array>
namespace sim {
struct Base { double old[1000]; };
class Grid : public Base {
  public:
    static double common[1000];
    std::array<double, 1000> values;
    double* pointer;
};
double Grid::common[1000];
static Grid grid;
static std::array<Grid, 2> grids;
}
int main() { return int(sim::grid.values[1] + sim::grid.old[1] + sim::grids[1].old[1]); }
"""
FORTRAN = """\
module flow
  type state
    real(8) :: u(1000)
    real(8) :: v(20, 100)
    real(8), allocatable :: w(:)
    integer :: steps
  end type
  type(state), save, target :: now
end module
program main
  use flow
  type parts
    sequence
    real(8) :: left(1000)
    real(8) :: right(1000)
  end type
  type(parts) :: both
  integer :: other(2000)
  common /work/ both, other
  now%u = 1
  both%left = 2
  other = 3
  print *, now%u(3), now%v(1, 1), both%right(3), other(1)
end program
"""
EXPECTED = {
    "c": [
        ("world.a", 8000), ("world.stats", 16), ("world.b", 8000), ("world", 16),
        ("world.field.x", 4800), ("world.field.y", 4800), ("world.names", 10000),
        ("world.last", 4), ("world.either", 4800), ("world", 4800), ("world.inner", 5600),
        ("world.more", 8),
        ("wrapped", 8000), ("small", 6000), ("several", 28800), ("kept.one", 4800),
        ("kept.two", 4800),
    ],
    "cpp": [
        ("sim::Grid::common", 8000), ("sim::grid", 8000), ("sim::grid.values", 8000),
        ("sim::grid.pointer", 8), ("sim::grids", 2 * 16008),
    ],
    "f90": [
        ("flow::now%u", 8000), ("flow::now%v", 16000), ("flow::now%steps", 4),
        ("/work/ both%left", 8000), ("/work/ both%right", 8000), ("/work/ other", 8000),
    ],
}  # fmt: skip
SOURCES = {"c": C, "cpp": CPP, "f90": FORTRAN}


@pytest.fixture
def variables(compile_program, tmp_path):
    def of(language: str, flags: str) -> tuple[Path, list[Global]]:
        source = tmp_path / f"members.{language}"
        source.write_text(SOURCES[language])
        program = compile_program(source, flags=f"{flags} -no-pie")
        found = Symbols([Module(str(program), 0x400000, 1 << 40, 0)]).globals()
        own = [one for one in found if one.file in (str(source), source.name)]
        # gfortran has a variable with the initial values of each type.
        return source, [one for one in own if "__def_init" not in one.name]

    return of


@pytest.mark.parametrize("flags", ["-O0 -g", "-O0 -gdwarf-4", "-g -gsplit-dwarf"])
@pytest.mark.parametrize("language", EXPECTED)
def test_large_members_are_variables(language, flags, variables):
    _, found = variables(language, flags)
    sizes = [(one.name, one.size) for one in found]
    assert sorted(sizes) == sorted(EXPECTED[language])


def test_members_are_where_the_program_has_them(variables):
    _, found = variables("c", "-O0 -g")
    places = {one.name: one.address for one in found if one.name != "world"}
    begin = places["world.a"]
    assert places["world.stats"] == begin + 8000
    assert places["world.b"] == begin + 8016
    assert places["world.field.x"] == begin + 16032
    assert places["world.field.y"] == begin + 16032 + 4800


def test_members_have_the_line_of_their_declaration(variables):
    source, found = variables("c", "-O0 -g")
    lines = source.read_text().splitlines()
    by_name = {one.name: lines[one.line - 1].strip() for one in found}
    assert by_name["world.b"] == "double b[1000];"
    assert by_name["world.field.y"].startswith("struct pair { double x[600]; double y[600]")
    assert by_name["world"] == "} world;"
