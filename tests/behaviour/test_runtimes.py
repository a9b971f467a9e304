# SPDX-License-Identifier: Apache-2.0
"""Programs of seven languages' runtimes, with threads, collectors and generated code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from behaviour.conftest import RUNTIMES, Native, needed
from behaviour.waiting import LIMIT_S
from behaviour.ways import ATTACH, ATTACHES, BINARY, COMPILED, FAULTS, PLAN, behave
from integration.attaching import record
from integration.conftest import make

# The commands that each needs to build and to run.
LANGUAGES: dict[str, tuple[str, ...]] = {
    "openmp": (),
    "fields": ("gfortran",),
    "concurrent": ("go",),
    "workers": ("rustc",),
    "Concurrent.class": ("javac", "java"),
    "events.js": ("node",),
    "threads.py": (),
}
COMPILERS_PROGRAMS = ("openmp", "fields")
# No library can be loaded into a static program.
REFUSED = {(PLAN, "concurrent"): "is linked statically"}
# node starts a worker in each round, and all of its code is translated again after each attach.
FEWER_ATTACHES = {"events.js": 1}
# Attaching: a recorder enters and leaves while they work.
CELLS = [(way, program) for way in (BINARY, FAULTS, PLAN, ATTACH) for program in LANGUAGES]


def command_of(program: str, build: Path) -> list[str | Path]:
    if program == "Concurrent.class":
        return ["java", "-cp", build, "Concurrent"]
    if program == "events.js":
        return ["node", RUNTIMES / program]
    if program == "threads.py":
        return [sys.executable, RUNTIMES / program]
    return [build / program]


@pytest.fixture(scope="session")
def build(request: pytest.FixtureRequest) -> Path:
    return Path(request.config.cache.mkdir("runtimes"))


@pytest.fixture(scope="session")
def compiled_build(request: pytest.FixtureRequest, compilers: list[str]) -> Path:
    folder = Path(request.config.cache.mkdir("compiled-runtimes"))
    make(RUNTIMES, f"BUILD={folder}", *compilers, *(str(folder / p) for p in COMPILERS_PROGRAMS))
    return folder


@pytest.mark.parametrize(("way", "program"), CELLS)
def test_as_by_itself(build: Path, native: Native, tmp_path: Path, way: str, program: str) -> None:
    needed(*LANGUAGES[program])
    if not program.endswith((".js", ".py")):
        make(RUNTIMES, f"BUILD={build}", str(build / program))
    command = command_of(program, build)
    by_itself = native(*command)
    assert by_itself.status == 7, by_itself
    found = behave(way, tmp_path, command, attaches=FEWER_ATTACHES.get(program, ATTACHES))
    if reason := REFUSED.get((way, program)):
        assert (found.output, found.status, found.errors.count("\n")) == ("", 2, 1)
        assert reason in found.errors
    else:
        assert found == by_itself


@pytest.mark.parametrize("program", COMPILERS_PROGRAMS)
def test_compiled_as_by_itself(
    compiled_build: Path, native: Native, tmp_path: Path, program: str
) -> None:
    by_itself = native(compiled_build / program)
    assert by_itself.status == 7, by_itself
    assert behave(COMPILED, tmp_path, [compiled_build / program]) == by_itself


def test_a_java_interpreter_is_as_by_itself(native: Native, tmp_path: Path) -> None:
    # The Java virtual machine generates the code of its interpreter when it starts.
    needed("java")
    command = ["java", "-Xint", "-version"]
    by_itself = native(*command)
    assert by_itself.status == 0
    assert behave(BINARY, tmp_path, command) == by_itself


def test_a_go_program_goes_on_after_attaching(tmp_path: Path) -> None:
    needed("gofmt")
    with subprocess.Popen(["gofmt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            for cycle in range(3):
                recorded = record(process.pid, tmp_path / f"{cycle}.numascape", "--seconds", "0.5")
                assert recorded.returncode == 0, recorded.stderr
                assert process.poll() is None
        finally:
            output, _ = process.communicate(b"package  a\nvar   b=1\n", timeout=LIMIT_S)
    assert (output, process.returncode) == (b"package a\n\nvar b = 1\n", 0)
