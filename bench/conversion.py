# SPDX-License-Identifier: Apache-2.0
"""Measures the CPU time and memory of conversions, and compares them with another version.

Each program is recorded once. Its shards are then converted by both versions in turn: by this one
with an empty cache of symbols, and with a full one. Both must write the same tables. Then the whole
command `record` is measured with small programs, where starting Numascape costs most.
"""

import dataclasses
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from bench.measure import CommandError, machine
from bench.observers import COMMAND
from bench.tables import ResultTable, publish
from numascape.recorders.record import record_session
from numascape.recording.options import RecorderName, RecordOptions
from numascape.recording.request import RecordRequest

PROGRAMS = Path(__file__).parent / "kernels" / "conversion"
console = Console(stderr=True)


_Rows = list[list[str | float | None]]


@dataclass(frozen=True)
class RecordedProgram:
    """A program that is recorded; `build` is run before in the folder of the recording."""

    name: str
    command: tuple[str, ...]
    recorder: RecorderName = "binary"
    build: tuple[str, ...] = ()


_BUILD = ("g++", "-g", "-O1", "-std=c++20")
_STENCIL = ("gcc", "-g", "-O2", "-fopenmp", "-o", "stencil", str(PROGRAMS / "stencil.c"))
_REDIS = ("redis-server", "--port", "0", "--unixsocket", "socket", "--save", "")
CASES = (
    RecordedProgram("true, page faults only", ("true",), "faults"),
    RecordedProgram("true", ("true",)),
    RecordedProgram("gcc -c, ten lines", ("gcc", "-c", str(PROGRAMS / "ten_lines.c"))),
    RecordedProgram(
        "C++ containers, -g",
        ("./containers",),
        build=(*_BUILD, "-o", "containers", str(PROGRAMS / "containers.cpp")),
    ),
    RecordedProgram("C, 2 x 32 MiB", ("./stencil", "32"), build=_STENCIL),
    RecordedProgram("C, 2 x 128 MiB", ("./stencil", "128"), build=_STENCIL),
    RecordedProgram("Python and NumPy", (sys.executable, str(PROGRAMS / "numpy_sum.py"))),
    RecordedProgram(
        "node -e", ("node", "-e", "let a = []; for (let i = 0; i < 1e5; i++) a.push({i})")
    ),
    RecordedProgram("redis-server, a second", ("timeout", "1", *_REDIS)),
)


@dataclass(frozen=True)
class Version:
    """A command `numascape`, and the environment to run it in."""

    name: str
    command: Sequence[str]
    environment: dict[str, str]


@dataclass
class SmallestCost:
    """The smallest CPU time of all rounds, because other work on the machine only adds to it."""

    cpu_s: float = float("inf")
    memory_mib: float = 0.0
    trace: Path = field(default_factory=Path)

    def add(self, cpu_s: float, memory_mib: float) -> None:
        if cpu_s < self.cpu_s:
            self.cpu_s, self.memory_mib = cpu_s, memory_mib


def _run(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """CPU seconds of the command and its children, and MiB of the largest of them."""
    with Path(os.devnull).open("w") as nowhere:
        actions = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        pid = os.posix_spawnp(command[0], list(command), environment, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise CommandError(f"{' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _record(case: RecordedProgram, folder: Path) -> Path | None:
    """The folder of the recording; None if the program is not installed."""
    if case.build:
        _run(case.build, dict(os.environ))
    elif shutil.which(case.command[0]) is None:
        return None
    options = dataclasses.replace(RecordOptions(), recorder=case.recorder)
    request = RecordRequest(list(case.command), folder / "recorded", options)
    session, _, _ = record_session(request, request.program, folder / "recorded", lambda _: None)
    return session.folder


def _convert(version: Version, recording: Path, folder: Path) -> tuple[float, float, Path]:
    copy, trace = folder / "copy", folder / f"{version.name.replace(' ', '-')}.numascape"
    # A copy without the holes of the sparse tables would take long to read.
    _run(["cp", "-r", "--sparse=always", str(recording), str(copy)], dict(os.environ))
    cpu_s, memory = _run(
        [*version.command, "convert", str(copy), "--quiet", "-o", str(trace)], version.environment
    )
    return cpu_s, memory, trace


def _differences(one: Path, other: Path) -> str:
    """The tables that differ. The counts of estimated lines may differ by rounding."""
    found = []
    for path in sorted(one.glob("*.parquet")):
        left, right = pl.read_parquet(path), pl.read_parquet(other / path.name)
        if left.equals(right):
            continue
        if path.stem != "source_lines":
            found.append(path.stem)
            continue
        key = ["structure", "phase", "function", "file", "line"]
        both = left.join(right, on=key, how="full", coalesce=True).fill_null(0)
        change = [
            (pl.col(name).cast(pl.Int64) - pl.col(f"{name}_right").cast(pl.Int64)).abs().max()
            for name in ("reads", "writes")
        ]
        found.append(f"lines (by at most {max(both.select(change).row(0))})")
    return ", ".join(found) or "none"


def _measure(
    case: RecordedProgram, versions: Callable[[Path], list[Version]], rounds: int
) -> list[str | float | None] | None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        here = Path.cwd()
        os.chdir(folder)
        try:
            recording = _record(case, folder)
        finally:
            os.chdir(here)
        if recording is None:
            console.print(f"{case.name}: not installed")
            return None
        measured: dict[str, SmallestCost] = {}
        for _ in range(rounds):
            for version in versions(folder):
                if version.name == "first":
                    shutil.rmtree(version.environment["NUMASCAPE_CACHE"], ignore_errors=True)
                cpu_s, memory, trace = _convert(version, recording, folder)
                of_version = measured.setdefault(version.name, SmallestCost())
                of_version.add(cpu_s, memory)
                of_version.trace = trace
        size = sum(path.stat().st_blocks * 512 for path in recording.iterdir()) / 2**20
        row: list[str | float | None] = [case.name, size]
        for of_version in measured.values():
            row += [of_version.cpu_s, of_version.memory_mib]
        if "other" in measured:
            row.append(measured["other"].cpu_s / measured["again"].cpu_s)
            row.append(_differences(measured["other"].trace, measured["again"].trace))
        return row


_SMALL = (
    RecordedProgram("true", ("true",)),
    RecordedProgram(
        "C, 2 x 1 MiB",
        ("./stencil", "1"),
        build=_STENCIL,
    ),
)


def _measure_whole(
    case: RecordedProgram, versions: Callable[[Path], list[Version]], rounds: int
) -> list[str | float | None]:
    """CPU seconds of the program, and of `numascape record` of it with a full cache of symbols."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        here = Path.cwd()
        os.chdir(folder)
        try:
            if case.build:
                _run(case.build, dict(os.environ))
            recorded = ["record", "-q", "-o", "t.numascape", "--", *case.command]
            measured: dict[str, SmallestCost] = {}
            for _ in range(rounds):
                measured.setdefault("alone", SmallestCost()).add(
                    *_run(case.command, dict(os.environ))
                )
                for version in versions(folder)[1:]:
                    cost = _run([*version.command, *recorded], version.environment)
                    measured.setdefault(version.name, SmallestCost()).add(*cost)
        finally:
            os.chdir(here)
    row: list[str | float | None] = [case.name, measured["alone"].cpu_s]
    for version_name in ("again", "other"):
        if version_name in measured:
            row += [measured[version_name].cpu_s, measured[version_name].memory_mib]
    return row


def _versions(against: str | None) -> Callable[[Path], list[Version]]:
    def versions(folder: Path) -> list[Version]:
        # As for a user, the modules of Python are compiled only once.
        own = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        own |= {
            "NUMASCAPE_CACHE": str(folder / "cache"),
            "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "bench-conversion-own"),
        }
        found = [Version("first", [str(COMMAND)], own), Version("again", [str(COMMAND)], own)]
        if against is not None:
            prefix = str(Path(tempfile.gettempdir()) / "bench-conversion-other")
            other = own | {"PYTHONPYCACHEPREFIX": prefix}
            found.append(Version("other", shlex.split(against), other))
        return found

    return versions


def _tables(rows: _Rows, whole: _Rows, rounds: int, compared: bool) -> list[ResultTable]:
    """The tables of conversions and of whole commands; `compared` with another version."""
    columns = ["program", "shards, MiB", "first, s", "first, MiB", "again, s", "again, MiB"]
    if compared:
        columns += ["other, s", "other, MiB", "other / again", "different tables"]
    conversions = ResultTable(
        "CPU time and peak memory of `numascape convert`",
        columns,
        rows,
        f"The least of {rounds} rounds, with all versions in turn. `first` has an empty cache of "
        "symbols, `again` a full one. The times include the start of Python.",
    )
    columns = ["program", "alone, s", "record, s", "record, MiB"]
    if compared:
        columns += ["other, s", "other, MiB"]
    commands = ResultTable(
        "CPU time and peak memory of `numascape record -q`",
        columns,
        whole,
        f"The least of {rounds} rounds, with all versions in turn and a full cache of symbols. The "
        "times include the program and the start of Python.",
    )
    return [conversions, commands]


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 3,
    against: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="The command `numascape` of another version."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only programs with TEXT in their names.")
    ] = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/conversion.md, .json.")] = True,
) -> None:
    """Measure the CPU time and the memory of conversions."""
    rows: _Rows = []
    whole: _Rows = []
    try:
        for case in CASES:
            if only is not None and only not in case.name:
                continue
            console.print(f"{case.name}: {rounds} rounds")
            row = _measure(case, _versions(against), rounds)
            if row is not None:
                rows.append(row)
        for case in _SMALL:
            if only is None or only in case.name:
                console.print(f"record, {case.name}: {rounds} rounds")
                whole.append(_measure_whole(case, _versions(against), rounds))
    except CommandError as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    tables = _tables(rows, whole, rounds, against is not None)
    publish("conversion", machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
