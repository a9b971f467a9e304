# SPDX-License-Identifier: Apache-2.0
"""Memory of Python programs has the names of the program's variables."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KNOWN = tuple(f"3.{minor}" for minor in range(10, 14))
ASK = (
    "import os, sys; version = sys.version_info; "
    "print(f'{version[0]}.{version[1]}', os.path.realpath('/proc/self/exe'))"
)
PROGRAM = """
import array, os, sys, threading

def doubles(n):
    return array.array("d", bytes(8 * n))

class Grid:
    def __init__(self, n):
        self.cells = doubles(n)

def work():
    mine.append(doubles(50_000))

grid = Grid(100_000)
u = doubles(20_000)
v = doubles(30_000)
rows = [doubles(10_000) for _ in range(3)]
mine = []
thread = threading.Thread(target=work)
thread.start()
thread.join()
if len(sys.argv) > 1 and os.fork() == 0:
    late = doubles(70_000)
    os._exit(0)
os.environ.get("none")
"""
SIZES = {"grid.cells": 800_000, "u": 160_000, "v": 240_000, "rows": 80_000, "mine": 400_000}


def interpreters() -> dict[str, Path]:
    """The interpreters on this system that the recorder supports, by version and path."""
    found: dict[str, Path] = {}
    for name in (sys.executable, "/usr/bin/python3", *(f"python{version}" for version in KNOWN)):
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "-c", ASK], capture_output=True, text=True, check=False)
        version, _, real = said.stdout.partition(" ")
        if said.returncode == 0 and version in KNOWN:
            # A program of another name may be a script that starts the interpreter.
            found.setdefault(f"{version} {real.strip()}", Path(path))
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("python") / "arrays.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize("interpreter", interpreters())
def test_arrays_have_the_names_of_their_variables(
    record: Any, program: Path, interpreter: str
) -> None:
    trace = record(interpreters()[interpreter], program).trace
    for name, size in SIZES.items():
        (row,) = trace.structures.filter(name=name, kind="heap").iter_rows(named=True)
        assert Path(row["file"]) == program
        sizes = trace.instances.filter(structure=row["structure"])["size"].to_list()
        assert len(sizes) == (3 if name == "rows" else 1)
        assert all(size <= found <= 1.1 * size for found in sizes)
    line = PROGRAM.splitlines().index("u = doubles(20_000)") + 1
    assert trace.structures.filter(name="u")["line"].to_list() == [line]


def test_a_forked_process_names_its_own(record: Any, program: Path) -> None:
    trace = record(sys.executable, program, "fork").trace
    late = trace.structures.filter(name="late")
    assert late["process"].to_list() == [1]


def test_objects_of_the_interpreter_are_one_structure_for_each_kind(
    record: Any, program: Path
) -> None:
    trace = record(Path(sys.executable), program).trace
    objects = trace.structures.filter(name="Python objects")
    assert objects.height == objects["kind"].n_unique()
