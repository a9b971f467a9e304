# SPDX-License-Identifier: Apache-2.0
"""The programs, built by each kind of compiler, and their native behaviour."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from behaviour.servers import PATH
from behaviour.ways import COMMAND, NATIVE, Behaviour, behave
from integration.conftest import make
from numascape.installation import installed_file

PROGRAMS = Path(__file__).parent / "programs"
RUNTIMES = Path(__file__).parent / "runtimes"
Native = Callable[..., Behaviour]


@pytest.fixture(scope="session")
def compilers() -> list[str]:
    """Return the variables for make that name the compilers of numascape."""
    names = (("CC", "numascape-cc"), ("CXX", "numascape-c++"), ("FC", "numascape-fc"))
    parts = " ".join(str(part) for part in installed_file("_compiler").iterdir())
    return [
        *(f"{variable}={COMMAND.parent / name}" for variable, name in names),
        f"COMPILED_WITH={parts}",
        "FFLAGS=-O1 -g",
    ]


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> Path:
    build = request.config.cache.mkdir("behaviours")
    make(PROGRAMS, f"BUILD={build}")
    return build


@pytest.fixture(scope="session")
def compiled_programs(request: pytest.FixtureRequest, compilers: list[str]) -> Path:
    build = request.config.cache.mkdir("compiled-behaviours")
    make(PROGRAMS, f"BUILD={build}", *compilers)
    return build


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    """Return native(program, *arguments) -> Behaviour; the same call runs once."""

    @cache
    def run(*program: str | Path) -> Behaviour:
        return behave(NATIVE, tmp_path_factory.mktemp("native"), program)

    return run


def needed(*commands: str) -> None:
    """Skip without these commands, which packages.apt installs; in CI, this is an error."""
    if missing := [command for command in commands if shutil.which(command, path=PATH) is None]:
        pytest.skip(f"not installed: {' '.join(missing)}")
