# SPDX-License-Identifier: Apache-2.0
"""Recording small programs with the installed command, and reading their counts."""

import dataclasses
import fcntl
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import numascape
from integration.attaching import Attach, record_enough
from integration.attaching import record as record_running
from integration.loaded_command import run_loaded
from integration.totals import check_totals
from numascape.installation import installed_file
from numascape.trace import Trace

PROGRAMS = Path(__file__).parent / "programs"
EXAMPLES = Path(__file__).parents[2] / "examples"
COMMAND = Path(sysconfig.get_path("scripts")) / "numascape"

Pages = dict[int, tuple[int, int]]


@dataclass(frozen=True)
class Recording:
    """A trace, and what the recorded program printed and returned."""

    trace: Trace
    output: str
    errors: str
    status: int  # negative: the signal that ended it

    def rows(self, structure: str, process: int | None = None) -> pl.DataFrame:
        """Return the rows of `accesses` to structures of this name, by threads of the process."""
        wanted = self.trace.structures.filter(pl.col("name") == structure)
        rows = self.trace.accesses.join(wanted.select("structure"), on="structure", how="semi")
        if process is None:
            return rows
        threads = self.trace.threads.filter(pl.col("process") == process).select("thread")
        return rows.join(threads, on="thread", how="semi")

    def total(self, structure: str, process: int | None = None) -> tuple[int, int]:
        """Return reads and writes of all instances, pages and threads."""
        rows = self.rows(structure, process)
        return int(rows["reads"].sum()), int(rows["writes"].sum())

    def pages(self, structure: str) -> Pages:
        """Return reads and writes of each page that was accessed, over all threads."""
        rows = self.rows(structure).group_by("page").agg(pl.col("reads", "writes").sum())
        return {page: (reads, writes) for page, reads, writes in rows.iter_rows() if reads | writes}

    def pages_by_thread(self, structure: str) -> dict[int, Pages]:
        """Return, for each thread that accessed the structure, its pages."""
        keys = ["thread", "page"]
        rows = self.rows(structure).group_by(keys).agg(pl.col("reads", "writes").sum())
        threads: dict[int, Pages] = {}
        for thread, page, reads, writes in rows.iter_rows():
            if reads | writes:
                threads.setdefault(thread, {})[page] = (reads, writes)
        return threads


Record = Callable[..., Recording]


def make(directory: Path, *arguments: str) -> None:
    """Build with make, in one test process at a time; the output of make is shown on failure."""
    environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MFLAGS"}}
    with (directory / "Makefile").open() as makefile:
        fcntl.flock(makefile, fcntl.LOCK_EX)
        run = subprocess.run(
            ["make", "-C", str(directory), *arguments],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
    if run.returncode != 0:
        pytest.fail(f"make -C {directory} failed:\n{run.stdout}{run.stderr}", pytrace=False)


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> Path:
    """Build the test programs, if they have changed, and return their folder."""
    build = request.config.cache.mkdir("programs")
    make(PROGRAMS, f"BUILD={build}")
    return build


@pytest.fixture(scope="session")
def examples() -> Path:
    """Build the examples and return their folder."""
    make(EXAMPLES)
    return EXAMPLES / "build"


@pytest.fixture(scope="session")
def record(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Return record(program, *arguments, **options) -> Recording.

    A program is the name of a test program or a path. Options are those of `numascape record`:
    `no_stack=True` is `--no-stack`, `seconds=2` is `--seconds 2`. The same call twice in a session
    records once.
    """

    @cache
    def run(program: str | Path, *arguments: str | int | Path, **options: object) -> Recording:
        path = programs / program  # an absolute path stays itself
        trace = tmp_path_factory.mktemp("recording") / f"{path.name}.numascape"
        command: list[object] = ["record", "-q", "-o", trace]
        for name, value in options.items():
            command.append("--" + name.replace("_", "-"))
            if value is not True:
                command.append(value)
        command += ["--", path, *arguments]
        finished = run_loaded(command)
        if not trace.is_dir():
            pytest.fail(f"no trace; numascape record said:\n{finished.stderr}", pytrace=False)
        opened = numascape.open(trace)
        for table in opened.info.tables:
            opened.table(table)  # the reader's checks must accept it
        check_totals(opened)
        return Recording(opened, finished.stdout, finished.stderr, finished.returncode)

    return run


@pytest.fixture(scope="session")
def command() -> Path:
    """Return the installed command `numascape`."""
    return COMMAND


@pytest.fixture(scope="session")
def opened() -> Callable[[Path], Recording]:
    """Return opened(trace) -> Recording, for traces that a test made itself."""

    def open_and_check(path: Path) -> Recording:
        trace = numascape.open(path)
        check_totals(trace)
        return Recording(trace, "", "", 0)

    return open_and_check


@pytest.fixture
def attach(tmp_path: Path, opened: Callable[[Path], Recording]) -> Attach:
    """Return attach(pid, *options, seconds=None) -> Recording; None: until enough was counted."""

    def run(pid: int, *options: str, seconds: float | None = None) -> Recording:
        trace = tmp_path / "run.numascape"
        shutil.rmtree(trace, ignore_errors=True)
        if seconds is None:
            finished = record_enough(pid, trace, *options)
        else:
            finished = record_running(pid, trace, "--seconds", str(seconds), *options)
        assert finished.returncode == 0, finished.stderr
        assert not list(trace.parent.glob("*.recording-*"))
        return dataclasses.replace(opened(trace), errors=finished.stderr)

    return run


@pytest.fixture(scope="session")
def built(request: pytest.FixtureRequest) -> Path:
    """The test programs, compiled with the wrappers, at -O1."""
    build = request.config.cache.mkdir("compiled-programs")
    compilers = [
        f"{variable}={COMMAND.parent / name}"
        for variable, name in (("CC", "numascape-cc"), ("CXX", "numascape-c++"))
    ]
    fortran = [f"FC={COMMAND.parent / 'numascape-fc'}", "FFLAGS=-O1 -g"]
    parts = " ".join(str(part) for part in installed_file("_compiler").iterdir())
    more = [f"KERNELS={build}/kernels.o", f"COMPILED_WITH={parts}"]
    make(PROGRAMS, f"BUILD={build}", *more, *compilers, *fortran, "compiled")
    return build


@pytest.fixture(scope="session")
def compiled(built: Path, record: Record) -> Record:
    """Return compiled(program, ...) -> Recording, like `record` for programs of other compilers."""

    def run(program: str, *arguments: str | int | Path, **options: object) -> Recording:
        recording = record(built / program, *arguments, **options)
        assert recording.trace.info.recorder.name == "compiled"
        return recording

    return run
