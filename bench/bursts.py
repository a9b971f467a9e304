# SPDX-License-Identifier: Apache-2.0
"""Measures repeated short attaches: their cost, and what their counts say about the whole run.

The first table is the cost of one attach to processes that only wait, so that all CPU time of the
process is the recorder's. The second table runs programs natively and with attaches in turn.
"""

import itertools
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import CommandError, machine, run
from bench.programs import PROGRAMS, Program, build
from bench.tables import ResultTable, publish
from numascape.conversion.shards import read_shards
from numascape.installation import installed_file
from numascape.recorders.binary import client_options
from numascape.recording.options import RecordOptions

NAMES = ("matmul naive", "seismic serial", "spmv", "fft", "pointer_chase")
SLEEPING_THREADS = """
import sys, threading
for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""
console = Console(stderr=True)


@dataclass(frozen=True)
class Burst:
    """One attach.

    `overhead_s` is the wall time beyond the requested time. `helper_s` is the CPU time of
    numascape-attach. `cpu_s` is the CPU time of the process from before the attach until after the
    release.
    """

    overhead_s: float
    helper_s: float
    cpu_s: float
    accesses: int
    bytes: int


def cpu_seconds(pid: int) -> float:
    """CPU seconds of all threads that a process has had; 0 if it has ended."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # clock_getcpuclockid(3); Python does not offer it
    except OSError:
        return 0.0


def attach(pid: int, seconds: float) -> Burst | None:
    """Attach for this time; None if the process ended before or while it was recorded."""
    home = installed_file("_recorder")
    with tempfile.TemporaryDirectory() as folder:
        options = client_options(RecordOptions())
        command = [home / "numascape-attach", home, folder, options, pid, seconds]
        before = cpu_seconds(pid)
        try:
            helper = run([str(word) for word in command])
        except CommandError:
            return None
        cpu_s = cpu_seconds(pid) - before
        shards = read_shards(sorted(Path(folder).glob("*.shard")))
        size = sum(file.stat().st_blocks * 512 for file in Path(folder).iterdir() if file.is_file())
    if cpu_s <= 0:
        return None
    accesses = sum(sum(shard.counted) for shard in shards)
    return Burst(helper.wall_s - seconds, helper.cpu_s, cpu_s, accesses, size)


@contextmanager
def waiting(command: list[str]) -> Iterator[int]:
    """A process that has written its first line and now waits."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.5)
        try:
            yield process.pid
        finally:
            process.kill()


def cost_table(attaches: int) -> ResultTable:
    cases = [("sh, 1 thread", ["sh", "-c", "echo ready; read -r line"])]
    cases += [
        (f"python3, {n} threads", [sys.executable, "-c", SLEEPING_THREADS, str(n)])
        for n in (1, 8, 100)
    ]
    if shutil.which("redis-server"):
        cases.append(("redis-server", ["redis-server", "--port", "16399", "--save", ""]))
    rows: list[list[str | float | None]] = []
    for name, command in cases:
        console.print(name)
        with waiting(command) as pid:
            bursts = [burst for _ in range(attaches) if (burst := attach(pid, 0.2))]
        if not bursts:
            raise CommandError(f"{name} ended while it was measured")
        columns = zip(
            *((b.overhead_s, b.helper_s, b.cpu_s, b.bytes / 1e6) for b in bursts), strict=True
        )
        rows.append([name, *map(statistics.median, columns)])
    return ResultTable(
        "One attach for 0.2 s to a process that waits",
        ["process", "wall beyond 0.2 s", "CPU s of numascape-attach", "CPU s in it", "shard MB"],
        rows,
        f"Median of {attaches} attaches.",
    )


def observed(program: Program, seconds: float, every: float) -> tuple[float, list[Burst]]:
    """CPU seconds of a run with an attach at a random moment of each interval, and the bursts."""
    bursts: list[Burst] = []
    begin = time.monotonic()
    process = subprocess.Popen(program.command(), stdout=subprocess.DEVNULL)
    for interval in itertools.count():
        moment = begin + every * interval + random.uniform(0, max(0.0, every - seconds))
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0 and time.monotonic() < moment:
            time.sleep(0.01)
        if ended[0] != 0:
            process.returncode = os.waitstatus_to_exitcode(ended[1])
            break
        if burst := attach(process.pid, seconds):
            bursts.append(burst)
    if process.returncode != 0:
        raise CommandError(f"{program.name} ended with status {process.returncode}")
    return ended[2].ru_utime + ended[2].ru_stime, bursts


def exact(program: Program) -> int:
    """The number of all accesses of a run."""
    home = installed_file("_recorder")
    with tempfile.TemporaryDirectory() as folder:
        launch = [
            str(home / "numascape-launch"),
            str(home),
            folder,
            client_options(RecordOptions()),
        ]
        run([*launch, "--", *program.command()])
        return sum(sum(s.counted) for s in read_shards(sorted(Path(folder).glob("*.shard"))))


def whole_run(bursts: list[Burst], cpu_s: float) -> tuple[float, float]:
    """An estimate of all accesses, from the CPU time of the bursts, and its standard error."""

    def scaled(some: list[Burst]) -> float:
        return sum(b.accesses for b in some) / sum(b.cpu_s for b in some) * cpu_s

    without = [scaled(bursts[:n] + bursts[n + 1 :]) for n in range(len(bursts))]
    centre = statistics.fmean(without)
    spread = sum((value - centre) ** 2 for value in without)
    return scaled(bursts), math.sqrt((len(bursts) - 1) / len(bursts) * spread)


def run_row(
    program: Program, rounds: int, seconds: float, every: float
) -> list[str | float | None]:
    natives, ratios, bursts, lived = [], [], [], 0.0
    for _ in range(rounds):
        natives.append(run(program.command()).cpu_s)
        cpu_s, some = observed(program, seconds, every)
        ratios.append(cpu_s / natives[-1])
        bursts += some
        lived += cpu_s
    if len(bursts) < 2:
        raise CommandError(f"{program.name} ended before two attaches")
    total = exact(program) * rounds
    value, error = whole_run(bursts, lived)
    share = sum(b.cpu_s for b in bursts) / lived
    return [
        program.name,
        statistics.median(natives),
        statistics.median(ratios),
        float(len(bursts)),
        100 * share,
        100 * sum(b.accesses for b in bursts) / total,
        value / total,
        error / total,
    ]


def runs_table(rounds: int, seconds: float, every: float) -> ResultTable:
    rows = []
    for program in (p for p in PROGRAMS if p.name in NAMES):
        console.print(f"{program.name}: {rounds} rounds")
        rows.append(run_row(program, rounds, seconds, every))
    return ResultTable(
        f"Attaches for {seconds:g} s in every {every:g} s",
        [
            "program",
            "native CPU s",
            "CPU / native",
            "bursts",
            "CPU in bursts, %",
            "accesses in bursts, %",
            "whole_run / exact",
            "its stated error",
        ],
        rows,
        f"{rounds} rounds, runs without and with attaches alternating. The whole_run is the "
        "accesses of the bursts, divided by their share of the CPU time; its stated error is the "
        "standard error by the jackknife over bursts.",
    )


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each program.")] = 5,
    attaches: Annotated[int, typer.Option(min=1, help="Attaches to each waiting process.")] = 9,
    seconds: Annotated[float, typer.Option(min=0.01, help="Length of a burst.")] = 0.2,
    every: Annotated[float, typer.Option(min=0.1, help="One burst in so many seconds.")] = 1.0,
    write: Annotated[bool, typer.Option(help="Write bench/results/bursts.md and .json.")] = True,
) -> None:
    """Measure the cost of attaching in bursts, and how well the counts describe the whole run."""
    try:
        build()
        tables = [cost_table(attaches), runs_table(rounds, seconds, every)]
    except CommandError as failure:
        console.print(str(failure), markup=False)
        raise typer.Exit(1) from None
    publish("bursts", machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
