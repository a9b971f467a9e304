# SPDX-License-Identifier: Apache-2.0
"""Programs that the tests compile, their modules as a process maps them, and call stacks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from numascape._native.symbols import Frame, Module, Symbols

PROGRAMS = Path(__file__).parent / "programs"
COMPILERS = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran", ".f": "gfortran"}

Compile = Callable[..., Path]


@dataclass(frozen=True)
class Run:
    """A program's large allocations, as the preloaded library logged them."""

    symbols: Symbols
    stacks: list[tuple[int, list[Frame]]]  # (bytes, frames with the innermost first), in order


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that compile programs: all that use the fixture compile_program."""
    for item in items:
        if "compile_program" in getattr(item, "fixturenames", ()):
            item.add_marker("compiler")


@pytest.fixture(scope="session")
def compile_program(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compile source files with these flags; the same program is compiled once."""
    folder = tmp_path_factory.mktemp("programs")
    known: dict[tuple[str, ...], Path] = {}

    def compile_them(*sources: Path, flags: str = "-O0 -g", name: str = "") -> Path:
        key = (*map(str, sources), flags, name)
        if key not in known:
            compiler = COMPILERS[sources[0].suffix]
            if shutil.which(compiler) is None:
                pytest.skip(f"{compiler} is not installed")
            output = folder / (name or f"{sources[0].stem}{len(known)}")
            command = [compiler, *flags.split(), *map(str, sources), "-o", str(output)]
            subprocess.run(command, check=True, cwd=folder)
            known[key] = output
        return known[key]

    return compile_them


@pytest.fixture(scope="session")
def modules_of() -> Callable[[list[str]], list[Module]]:
    """The ELF files in the lines of a /proc/PID/maps."""
    return modules_in


def modules_in(mappings: list[str]) -> list[Module]:
    ranges: dict[str, list[int]] = {}
    for line in mappings:
        match = re.match(r"(\w+)-(\w+) \S+ \w+ \S+ \d+\s+(/.*)$", line)
        if match is None:
            continue
        start, end = int(match[1], 16), int(match[2], 16)
        first = ranges.setdefault(match[3], [start, end])
        first[1] = max(first[1], end)
    return [Module(path, a, b, load_bias(Path(path), a)) for path, (a, b) in ranges.items()]


def load_bias(path: Path, start: int) -> int:
    """0 for a program at a fixed address (ET_EXEC), else the place of the file's address 0."""
    with path.open("rb") as file:
        elf_type = int.from_bytes(file.read(18)[16:18], "little")
    return 0 if elf_type == 2 else start


@pytest.fixture(scope="session")
def run_with_log(compile_program: Compile, tmp_path_factory: pytest.TempPathFactory):
    """Run a program and give the call stacks of its allocations of at least 100 000 bytes."""
    log = tmp_path_factory.mktemp("logs") / "allocations"
    library = compile_program(PROGRAMS / "allocation_log.c", flags="-O2 -shared -fPIC")

    def run(program: Path) -> Run:
        environment = {**os.environ, "LD_PRELOAD": str(library), "ALLOCATION_LOG": str(log)}
        subprocess.run([program], env=environment, check=True, capture_output=True)
        lines = log.read_text().splitlines()
        symbols = Symbols(modules_in(lines))
        stacks = []
        for line in lines:
            if re.fullmatch(r"\d+( [0-9a-f]+)+", line):
                size, *pcs = line.split()
                frames = [f for pc in pcs for f in symbols.frames(int(pc, 16) - 1)]
                stacks.append((int(size), frames))
        return Run(symbols, stacks)

    return run
