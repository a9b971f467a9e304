# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of looking at running processes: reading a large one, watching a busy one.

The busy process does a fixed amount of work, alternately alone and watched from outside. Its CPU
time is compared, so that other work on the machine disturbs less. Servers do many short pieces of
work, because their CPU time varies by some percent from one to the next.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from bench.busy_processes import Work, cpu_s, load, started, touching
from bench.measure import machine, run
from bench.tables import ResultTable, publish
from bench.watched_servers import servers, switches_and_samples

ROOT: Final = Path(__file__).parents[1]
KERNELS: Final = ROOT / "bench" / "kernels"
NUMASCAPE: Final = str(ROOT / ".venv/bin/numascape")
# Recorders that do not enter the process; page faults as samples are the most frequent event.
RECORDERS: Final = {
    "faults": ("--recorder", "faults"),
    "samples": ("--recorder", "samples", "--event", "page-faults"),
    "clock": ("--recorder", "samples", "--event", "task-clock"),
    "damon": ("--recorder", "damon"),
}

FAULTS: Final = 256  # in each of these areas
MANY: Final = 20_000


def resident(pid: int) -> int:
    match = re.search(r"VmRSS:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(match[1]) * 1024 if match else 0


def faults(pid: int) -> int:
    """The page faults of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[7]) + int(fields[9])


def reading(folder: Path, gib: int, rounds: int) -> ResultTable:
    """`pages` on a process that has `gib` in its page tables, in pages of 4 KiB."""
    subprocess.run(
        ["make", "-s", "-C", str(KERNELS), f"BUILD={folder}", f"{folder}/mapped"], check=True
    )
    rows: list[list[str | float | None]] = []
    once_mib = 2048
    with started([str(folder / "mapped"), str(once_mib), str(gib * 1024 // once_mib)]) as process:
        for how, options in (("", ()), ("--exact", ("--exact",))):
            before = faults(process.pid)
            costs = [run([NUMASCAPE, "pages", "--pid", str(process.pid), *options])
                     for _ in range(rounds)]  # fmt: skip
            rows.append([
                f"pages {how}".strip(), resident(process.pid) / 2**30,
                min(cost.wall_s for cost in costs), min(cost.cpu_s for cost in costs),
                faults(process.pid) - before,
            ])  # fmt: skip
    return ResultTable(
        "Reading a large process",
        ["command", "in memory, GiB", "seconds", "CPU seconds", "page faults of the process"],
        rows,
        f"The fastest of {rounds}, with the start of the command. {load()}",
    )


@contextmanager
def watched(recorder: str, pid: int, folder: Path) -> Iterator[None]:
    """Let the recorder look at the process while the context is entered."""
    words = [NUMASCAPE, "record", *RECORDERS[recorder], "--pid", str(pid)]
    target = folder / "watched.numascape"
    with subprocess.Popen([*words, "-o", str(target)], stderr=-1, text=True) as process:
        assert process.stderr is not None
        assert "Looking at" in process.stderr.readline()
        time.sleep(1.0)  # until the events are open
        yield
        process.terminate()
        process.stderr.read()
    shutil.rmtree(target, ignore_errors=True)


def cpu_of_pairs(
    recorder: str, pid: int, work: Callable[[], None], rounds: int, folder: Path
) -> tuple[float, float]:
    """The median CPU seconds of the same work: alone and watched, in turn."""
    alone, seen = [], []
    for _ in range(rounds):
        begin = cpu_s(pid)
        work()
        alone.append(cpu_s(pid) - begin)
        with watched(recorder, pid, folder):
            begin = cpu_s(pid)
            work()
            seen.append(cpu_s(pid) - begin)
    return statistics.median(alone), statistics.median(seen)


def page_faults(folder: Path, recorders: list[str], rounds: int) -> ResultTable:
    """The additional CPU time for each page fault."""
    touched: list[list[str | float | None]] = []
    areas = 1000
    with touching() as (pid, work):
        for recorder in recorders:
            alone, seen = cpu_of_pairs(recorder, pid, partial(work, areas), rounds, folder)
            each = 1e6 / (areas * FAULTS)
            touched.append([recorder, alone * each, (seen - alone) * each])
    note = f"Medians of {rounds} pairs, alone and watched in turn. {load()}"
    return ResultTable(
        "Watching page faults",
        ["recorder", "a page fault, us of CPU", "more when watched, us"],
        touched,
        note,
    )


def own_cpu(recorder: str, pid: int, work: Work, folder: Path) -> float:
    """The CPUs that the recorder itself needs: a long recording minus a short one, per second."""

    words = [NUMASCAPE, "record", "-q", *RECORDERS[recorder], "--pid", str(pid)]
    words += ["-o", str(folder / "own.numascape"), "--seconds"]

    def recorded_for(seconds: int) -> float:
        with subprocess.Popen([*words, str(seconds)]) as process:
            time.sleep(0.5)
            work(1)
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
        return usage.ru_utime + usage.ru_stime

    return (recorded_for(14) - recorded_for(4)) / 10


def recorders_themselves(folder: Path, recorders: list[str]) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for name, mappings in (("a small process", 0), (f"one with {MANY} mappings", MANY)):
        with touching(mappings) as (pid, work):
            rows += [[name, one, 100 * own_cpu(one, pid, work, folder)] for one in recorders]
    return ResultTable(
        "The recorder itself",
        ["process", "recorder", "of one CPU, %"],
        rows,
        f"CPU time of 14 seconds less that of 4 seconds. {load()}",
    )


def main(
    gib: Annotated[int, typer.Option(min=2, help="In the page tables of the large one.")] = 102,
    rounds: Annotated[int, typer.Option(min=1)] = 9,
    recorder: Annotated[
        list[str] | None, typer.Option(help="faults, samples, clock, damon.")
    ] = None,
    write: Annotated[bool, typer.Option(help="Write bench/results/running.md, .json.")] = True,
) -> None:
    """Measure all recorders. DAMON needs root, and a kernel that supports it for processes."""
    recorders = recorder or ["faults", "samples", "clock"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = [
            reading(folder, gib, 3),
            servers(folder, 5 * rounds),
            switches_and_samples(folder, 2 * rounds),
            page_faults(folder, recorders, rounds),
            recorders_themselves(folder, recorders),
        ]
    publish("running", machine(), tables, write)


if __name__ == "__main__":
    typer.run(main)
