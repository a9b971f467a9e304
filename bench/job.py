# SPDX-License-Identifier: Apache-2.0
"""Measures how quickly the parts of a synthetic job are summed up, merged and analysed."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import machine
from bench.tables import ResultTable, print_table, write_results

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from numascape.trace.job import part_folder
from synthetic.job import rank_pattern, write_rank

console = Console()
FIELDS = 11  # with the window, 12 structures
THREADS = 64
PAGES = 256


WRITTEN = 16


def write_ranks(folder: Path, size: int) -> float:
    """Write the job; return the MB of its parts.

    Only WRITTEN ranks are computed. The files of the others are links to theirs, because writing
    thousands of traces takes longer than all that is measured.
    """
    for rank in range(WRITTEN):
        work = 3.0 if rank == WRITTEN // 2 else 1.0
        options = {"threads": THREADS, "fields": FIELDS, "pages": PAGES, "work": work}
        pattern = rank_pattern(rank, WRITTEN, **options, parallel=rank > 0)  # type: ignore[arg-type]
        write_rank(folder, rank, size, pattern)
    for rank in range(WRITTEN, size):
        like, own = part_folder(folder, rank % WRITTEN), part_folder(folder, rank)
        own.mkdir()
        for table in like.glob("*.parquet"):
            (own / table.name).hardlink_to(table)
        info = json.loads((like / "trace.json").read_text())
        info["part"]["rank"] = rank
        (own / "trace.json").write_text(json.dumps(info))
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


@dataclass(frozen=True)
class Measured:
    """A command: wall and CPU seconds of all its processes, MiB of the largest, and its output."""

    wall_s: float
    cpu_s: float
    memory: float
    output: str


def measured(*arguments: str) -> Measured:
    """Run a verb, and measure it."""
    code = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "cpu = used.ru_utime + used.ru_stime\n"
        "print(json.dumps([cpu, used.ru_maxrss / 1024, done.stdout]))\n"
    )
    begin = time.perf_counter()
    command = [sys.executable, "-c", code, sys.executable, "-m", "numascape", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Measured(time.perf_counter() - begin, *json.loads(done.stdout))


def row(size: int) -> list[str | int | float]:
    """Measure a job of this size."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "run.numascape"
        megabytes = write_ranks(folder, size)
        merge = measured("merge", str(folder))
        show = measured("show", str(folder), "--json")
        advise = measured("advise", str(folder))
        page = Path(parent) / "run.html"
        report = measured("report", "-q", str(folder), "-o", str(page))
        page_mb = page.stat().st_size / 1e6
        document = json.loads(show.output)
        assert len(document["ranks"]) == size
        assert document["left_out"] == []
    steps = (merge, show, advise, report)
    cpu = sum(one.cpu_s for one in steps)
    return [
        *(size, megabytes),
        *(one.wall_s for one in steps),
        sum(one.wall_s for one in steps),
        cpu,
        cpu / size * 1e3,
        max(one.memory for one in steps),
        page_mb,
    ]


def main(
    sizes: Annotated[str, typer.Option(help="Numbers of ranks.")] = "64,256,1024",
    write: Annotated[bool, typer.Option(help="Write bench/results/job.md and .json.")] = True,
) -> None:
    """Measure merging and analysing jobs of 12 structures and 64 threads in each rank."""
    load = os.getloadavg()[0]
    rows: list[list[str | int | float]] = []
    for size in map(int, sizes.split(",")):
        console.print(f"{size} ranks")
        rows.append(row(size))
        console.print(", ".join(f"{value:.3g}" for value in rows[-1] if not isinstance(value, str)))
    table = ResultTable(
        "Jobs",
        [
            *("ranks", "parts MB", "merge s", "show s", "advise s", "report s", "all s"),
            *("CPU s", "CPU ms/rank", "memory MiB", "page MB"),
        ],
        rows,
        f"Each rank has {FIELDS + 1} structures, {PAGES} pages in each field, {THREADS} threads. "
        "Merge: `numascape merge` with processes on this machine. Memory: of the largest process "
        "(two at a time read parts). The parts are 16 different ones, linked. Show, advise and "
        "report use the merged sums. Times are wall times; CPU: of all four.",
    )
    print_table(table)
    if write:
        # Times, unlike ratios, are only good if the machine is idle.
        about = {**machine(), "other_work": f"load average {load:.1f} before the first job"}
        for path in write_results("job", about, [table]):
            console.print(f"wrote {path}")


if __name__ == "__main__":
    typer.run(main)
