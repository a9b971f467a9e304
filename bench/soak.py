# SPDX-License-Identifier: Apache-2.0
"""Attaches to programs repeatedly, and checks that they survive, do not change and do not grow."""

import os
import shutil
import subprocess
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from bench.measure import machine
from bench.soak_programs import PROGRAMS, Running
from bench.tables import ResultTable, publish

console = Console(stderr=True)
NUMASCAPE: Final = Path(sysconfig.get_path("scripts")) / "numascape"
LONGEST_S: Final = 300


@dataclass
class Held:
    """The resources of a process."""

    descriptors: int
    mappings: int
    kib: int


def held(pid: int) -> Held:
    process = Path(f"/proc/{pid}")
    size = int(process.joinpath("statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    maps = process.joinpath("maps").read_text().splitlines()
    return Held(len(list(process.joinpath("fd").iterdir())), len(maps), size >> 10)


def attach(pid: int, seconds: float) -> str:
    """Attach once; return an error, or an empty text."""
    folder = Path(tempfile.mkdtemp())
    words = ["record", "-q", "-o", str(folder / "t"), "--pid", str(pid), "--seconds", str(seconds)]
    try:
        done = subprocess.run(
            [NUMASCAPE, *words], capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def soak(name: str, running: Running, cycles: int, seconds: float) -> list[str | float | None]:
    """Attach `cycles` times; the row of the table."""
    pid = running.attached or running.process.pid
    second = last = held(pid)
    trouble = ""
    done = 0
    while done < cycles and not trouble:
        trouble = attach(pid, seconds)
        if not trouble and running.process.poll() is not None:
            trouble = f"died with {running.process.returncode}"
        if not trouble and not running.check():
            trouble = "answers wrongly"
        done += not trouble
        if not trouble:
            last = held(pid)
            second = last if done == 2 else second
    try:
        right = not trouble and running.end()
    except subprocess.TimeoutExpired:
        right, trouble = False, "does not end"
    running.process.kill()
    return [
        name,
        done,
        trouble or ("right" if right else "wrong"),
        f"{second.descriptors} / {last.descriptors}",
        f"{second.mappings} / {last.mappings}",
        f"{second.kib} / {last.kib}",
    ]


def main(
    cycles: Annotated[int, typer.Option(min=3, help="Attaches to each program.")] = 200,
    seconds: Annotated[float, typer.Option(help="How long to stay attached.")] = 0.2,
    only: Annotated[str, typer.Option(help="Only programs whose name holds this.")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Programs at the same time.")] = 1,
    write: Annotated[bool, typer.Option(help="Write bench/results/soak.md, .json.")] = True,
) -> None:
    """Attach repeatedly."""
    begin = time.monotonic()

    def run(name: str) -> list[str | float | None] | None:
        running = PROGRAMS[name]()
        row = None if running is None else soak(name, running, cycles, seconds)
        console.print(name, *([] if row is None else row[1:3]))
        return row

    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(run, [name for name in PROGRAMS if only in name]))
    rows = [row for row in found if row is not None]
    hours = (time.monotonic() - begin) / 3600
    load = os.getloadavg()[0]
    table = ResultTable(
        "Attached to again and again",
        ["program", "attaches", "afterwards", "descriptors", "mappings", "address space, KiB"],
        rows,
        f"Each attach lasts {seconds:g} s. What a process holds: after the second release and "
        f"after the last. {jobs} programs at a time, {hours:.1f} hours; the load was {load:.0f} at "
        "the end.",
    )
    publish("soak", machine(), [table], write)


if __name__ == "__main__":
    typer.run(main)
