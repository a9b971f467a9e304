# SPDX-License-Identifier: Apache-2.0
"""Allocations of compiled programs get the names that the comments in their sources promise."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from numascape.naming import name_allocations

PROGRAMS = Path(__file__).parent / "programs"
LANGUAGE_FLAGS = {".c": "-fno-builtin", ".cpp": "-std=c++20", ".f90": ""}


def promised_names(source: Path) -> dict[int, list[str]]:
    """By bytes, sorted."""
    names = defaultdict(list)
    comment = re.compile(r"(?://|!) (\d{6}): (.+?)(?= (?://|!) \d{6}: |$)", re.M)
    for match in comment.finditer(source.read_text()):
        names[int(match[1])].append(match[2].strip())
    return {size: sorted(found) for size, found in names.items()}


def given_names(run) -> dict[int, list[str]]:
    names = defaultdict(list)
    stacks = [frames for _, frames in run.stacks]
    for (size, _), name in zip(run.stacks, name_allocations(stacks), strict=True):
        names[size].append(name.name)
    return {size: sorted(found) for size, found in names.items()}


@pytest.mark.parametrize(
    "flags", ["-O0 -g", "-O2 -g", "-O3 -g -no-pie", "-O2 -gdwarf-4", "-O2 -g -gsplit-dwarf"]
)
@pytest.mark.parametrize("file", ["names.c", "names.cpp", "names.f90"])
def test_every_allocation_gets_its_name(file, flags, compile_program, run_with_log):
    source = PROGRAMS / file
    program = compile_program(source, flags=f"{flags} {LANGUAGE_FLAGS[source.suffix]}")
    assert given_names(run_with_log(program)) == promised_names(source)


def test_the_sources_promise_enough_to_matter():
    assert (
        sum(len(n) for f in LANGUAGE_FLAGS for n in promised_names(PROGRAMS / f"names{f}").values())
        > 90
    )


def test_the_place_is_where_the_name_was_found(compile_program, run_with_log):
    source = PROGRAMS / "names.c"
    run = run_with_log(compile_program(source, flags="-O2 -g -fno-builtin"))
    stacks = dict(run.stacks)
    (name,) = name_allocations([stacks[130001]])
    line = next(n for n, text in enumerate(source.read_text().splitlines(), 1) if "130001:" in text)
    assert (name.function, name.file, name.line) == ("wrapped", str(source), line)


def test_without_its_source_a_name_is_function_and_line(compile_program, run_with_log, tmp_path):
    source = tmp_path / "gone.c"
    source.write_text("#include <stdlib.h>\nint main(void) {\n  return malloc(100001) == 0;\n}\n")
    run = run_with_log(compile_program(source, flags="-g -fno-builtin"))
    source.unlink()
    names = name_allocations([frames for _, frames in run.stacks])
    assert [(n.name, n.function, n.line) for n in names] == [("main+3", "main", 3)]


def test_a_changed_source_gives_no_wrong_name(compile_program, run_with_log, tmp_path):
    source = tmp_path / "changed.c"
    source.write_text(
        "#include <stdlib.h>\nchar *first;\nint main(void) {\n  first = malloc(100001);\n}\n"
    )
    run = run_with_log(compile_program(source, flags="-g -fno-builtin"))
    source.write_text("int other(void) {\n  char *wrong;\n\n  wrong = malloc(100001);\n}\n")
    (name,) = name_allocations([frames for _, frames in run.stacks])
    assert name.name == "main+4"


def test_without_debug_information_a_name_is_the_symbol(compile_program, run_with_log):
    run = run_with_log(compile_program(PROGRAMS / "names.c", flags="-O0 -fno-builtin"))
    names = name_allocations([frames for _, frames in run.stacks])
    assert len(names) == 51
    assert all(re.fullmatch(r"\w+\+0x[0-9a-f]+", name.name) for name in names)
    functions = {name.function for name in names}
    assert functions == {
        *(
            "plain",
            "by_argument",
            "give_block",
            "make_block",
            "make_grid",
            "fill_grid",
            "filled_grid",
            "alloc_array",  # through xmalloc
            "choose",
            "wrapped",
        )
    }


def test_a_stripped_program_s_names_are_addresses_in_it(compile_program, run_with_log, tmp_path):
    program = compile_program(PROGRAMS / "names.c", flags="-O1 -fno-builtin")
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    names = name_allocations([frames for _, frames in run_with_log(stripped).stacks])
    assert len(names) == 51
    assert all(re.fullmatch(r"stripped\+0x[0-9a-f]+", name.name) for name in names)
    assert len({name.name for name in names}) > 30


def test_numpy_s_arrays_are_called_by_the_function_that_python_calls(run_with_log, tmp_path):
    python = tmp_path / "python"
    python.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c '"
        "import numpy as n; a = n.zeros(15001); b = n.empty(15002); c = n.arange(15003.0); "
        "d = b.copy(); e = a[:15000] + 1.0'\n"
    )
    python.chmod(0o755)
    run = run_with_log(python)
    by_size: dict[int, list[str]] = {}
    names = name_allocations([frames for _, frames in run.stacks])
    for (size, frames), name in zip(run.stacks, names, strict=True):
        if any("_multiarray_umath" in frame.module for frame in frames[:4]):
            by_size.setdefault(size, []).append(name.name)
    if any(name == "numpy" for found in by_size.values() for name in found):
        pytest.skip("this NumPy is stripped")
    assert by_size == {
        15001 * 8: ["numpy.zeros"],
        15002 * 8: ["numpy.empty", "numpy.ndarray.copy"],
        15003 * 8: ["numpy.arange"],
        15000 * 8: ["numpy.ufunc"],
    }
