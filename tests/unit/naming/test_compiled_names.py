# SPDX-License-Identifier: Apache-2.0
"""The notes of numascape-cc give the same names as the sources, also if these are missing."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from numascape.naming import name_allocations
from numascape.naming.compiled_destination import find_destination
from numascape.naming.destination import Destination, DestinationKind, DestinationQuery
from unit.naming.test_real_programs import PROGRAMS, given_names, promised_names

COMPILERS = {".c": "numascape-cc", ".cpp": "numascape-c++"}
FLAGS = {".c": ["-fno-builtin"], ".cpp": ["-std=c++20"]}

WRAPPED = """\
#include <stdlib.h>
#include "pair.h"
struct grid { double *first, *second; };
static __attribute__((noinline)) void *xmalloc(size_t n) { return malloc(n); }
double *x, *y, *kept[4];
int main(void) {
  struct grid *grid = xmalloc(100000);
  PAIR(grid->first, y, 100001);
  for (int i = 0; i < 4; ++i) kept[i] = xmalloc(100011 + i);
  grid->second = xmalloc(100020), x = xmalloc(100021);
}
"""


def compile_at(source: Path, *flags: str) -> Path:
    compiler = Path(sysconfig.get_path("scripts")) / COMPILERS[source.suffix]
    program = source.with_suffix("")
    command = [compiler, *flags, *FLAGS[source.suffix], source, "-o", program]
    subprocess.run([str(word) for word in command], check=True)
    return program


@pytest.mark.parametrize(
    ("file", "flags", "least"), [("names.c", "-O2 -g -flto -gz", 42), ("names.cpp", "-O0 -g", 35)]
)
def test_every_allocation_gets_its_name(file, flags, least, tmp_path, run_with_log):
    source = tmp_path / file
    source.write_text((PROGRAMS / file).read_text())
    program = compile_at(source, *flags.split())
    promised = promised_names(source)
    given = given_names(run_with_log(program))
    assert given == {size: promised[size] for size in given}  # clang leaves some out
    assert len(given) >= least

    source.unlink()
    without = given_names(run_with_log(program))
    others = [name for size in given if without[size] != given[size] for name in without[size]]
    assert len(others) < len(given) / 3
    # Without a note, the name is the function and line, or the member of an object.
    assert all(re.fullmatch(r"[\w:]+\+\d+|v[xyz]", name) for name in others), others


def test_names_need_no_source_and_believe_no_changed_one(tmp_path, run_with_log):
    (tmp_path / "pair.h").write_text(
        "#define PAIR(a, b, n) do { a = malloc(n); b = malloc(n + 1); } while (0)\n"
    )
    source = tmp_path / "wrapped.c"
    source.write_text(WRAPPED)
    program = compile_at(source, "-O2", "-g")
    source.write_text(WRAPPED.replace("grid", "other").replace("kept", "wrong"))
    run = run_with_log(program)
    names = [name.name for name in name_allocations([frames for _, frames in run.stacks])]
    assert dict(zip([size for size, _ in run.stacks], names, strict=True)) == {
        100000: "grid",
        100001: "grid->first",
        100002: "y",
        **{100011 + i: "kept[i]" for i in range(4)},
        100020: "grid->second",
        100021: "x",
    }


NOTES = "v\tv\t-1\ttmp\nh\tv\t-1\tgrid->cells\no\tm\t-1\t\n0\tp\t1\t*out\n"


@pytest.mark.parametrize(
    ("notes", "wanted", "found"),
    [
        (NOTES, DestinationQuery(), Destination(DestinationKind.VARIABLE, "grid->cells")),
        (
            NOTES,
            DestinationQuery(member="rows"),
            Destination(DestinationKind.MEMBER, "rows", member="rows"),
        ),
        (
            NOTES,
            DestinationQuery(argument=0),
            Destination(DestinationKind.PARAMETER, "*out", argument=1),
        ),
        (NOTES, DestinationQuery(argument=1), None),
        ("v*list", DestinationQuery(suffix=".x"), None),
        (
            "v\tv\t-1\t*list\n",
            DestinationQuery(suffix=".x"),
            Destination(DestinationKind.VARIABLE, "list->x"),
        ),
        (
            "v\tv\t-1\tmine\nh\tv\t-1\tx\n",
            DestinationQuery(),
            Destination(DestinationKind.VARIABLE, "mine"),
        ),
        ("v\tx\t-1\ta\nv\tv\tb\ta\nv\n\t\t\t\n", DestinationQuery(), None),
        (
            "v\tv\t-1\ta\x1b[31m\n",
            DestinationQuery(),
            Destination(DestinationKind.VARIABLE, "a [31m"),
        ),
        ("", DestinationQuery(), None),
    ],
)
def test_notes_say_what_is_asked(notes, wanted, found):
    assert find_destination(notes, wanted) == found
