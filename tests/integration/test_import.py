# SPDX-License-Identifier: Apache-2.0
"""Recordings that perf makes here: page faults, with their addresses."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import numascape
from integration.conftest import PROGRAMS, make
from numascape.trace import Trace
from numascape.trace.schema import SCHEMAS

Numascape = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest) -> Path:
    build = request.config.cache.mkdir("parity-programs")
    compilers = ["CC=clang-19", "CXX=clang++-19", "FC=flang-new-19", "FFLAGS=-O1 -g"]
    make(PROGRAMS, f"BUILD={build}", "KERNELS=", *compilers, "parity")
    return build / "parity_c"


def perf(target: Path, *command: str | Path) -> Path:
    options = ["-q", "-c", "1", "-e", "page-faults:u", "-o", str(target)]
    subprocess.run(["perf", "record", *options, *map(str, command)], check=True)
    return target


@pytest.fixture(scope="module")
def trace(program: Path, command: Path, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("import")
    data = perf(folder / "perf.data", "-d", program, "parallel")
    subprocess.run([command, "import", data, "-o", folder / "t.numascape"], check=True)
    opened = numascape.open(folder / "t.numascape")
    for name in SCHEMAS:
        opened.table(name)
    return opened


def rows(trace: Trace, table: str, name: str) -> pl.DataFrame:
    named = trace.structures.filter(pl.col("name") == name)
    return trace.table(table).join(named.select("structure"), on="structure")


def test_page_faults_alone_are_first_touches(trace: Trace, program: Path) -> None:
    assert trace.info.recorder.counts == "first touches"
    assert trace.accesses.is_empty()
    assert (trace.info.program, trace.info.arguments) == (str(program), ("parallel",))
    assert trace.threads.height == 2


def test_a_variable_has_its_pages_threads_and_line(trace: Trace) -> None:
    table = rows(trace, "first_touch", "table")
    assert table.height == table["page"].n_unique() == 128 * 1024 // 4096
    by_thread = {thread: set(part["page"]) for (thread,), part in table.group_by("thread")}
    assert by_thread == {0: set(range(16)), 1: set(range(16, 32))}
    (named,) = trace.structures.filter(pl.col("name") == "table").to_dicts()
    assert (named["kind"], named["size"], Path(named["file"]).name) == (
        "global",
        128 * 1024,
        "parity_c.c",
    )
    assert {Path(file).name for file in table["file"]} == {"parity_c.c"}


def test_samples_without_addresses_are_refused(
    program: Path, command: Path, tmp_path: Path
) -> None:
    data = perf(tmp_path / "perf.data", program)
    done: Any = subprocess.run(
        [command, "import", data, "-o", tmp_path / "t.numascape"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "have no addresses: record with perf mem record, or perf record -d" in done.stderr


def test_no_file_of_perfs_is_refused(command: Path, tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(b"PERFILE2" + bytes(200))
    done: Any = subprocess.run(
        [command, "import", tmp_path / "perf.data", "-o", tmp_path / "t.numascape"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "t.numascape").exists()
