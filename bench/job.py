# SPDX-License-Identifier: Apache-2.0
"""Measures how quickly the parts of a synthetic job are summed up, merged and analysed."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import machine
from bench.tables import ResultTable, print_table, write_results

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from synthetic.job import rank_pattern, write_rank

console = Console()
FIELDS = 11  # with the window, 12 structures
THREADS = 64
PAGES = 256


def write_ranks(folder: Path, size: int) -> float:
    """Write the job; return the MB of its parts."""
    for rank in range(size):
        work = 3.0 if rank == size // 2 else 1.0  # one outlier
        pattern = rank_pattern(
            rank, size, threads=THREADS, fields=FIELDS, pages=PAGES, work=work, parallel=rank > 0
        )
        write_rank(folder, rank, size, pattern)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def measured(*arguments: str) -> tuple[float, float, str]:
    """Seconds of a command, MiB of its largest process, and its output."""
    code = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(json.dumps([used / 1024, done.stdout]))\n"
    )
    begin = time.perf_counter()
    command = [sys.executable, "-c", code, sys.executable, "-m", "numascape", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    memory, output = json.loads(done.stdout)
    return time.perf_counter() - begin, memory, output


def row(size: int) -> list[str | int | float]:
    """Measure a job of this size."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "run.numascape"
        megabytes = write_ranks(folder, size)
        merge_s, memory, _ = measured("merge", str(folder))
        show_s, _, shown = measured("show", str(folder), "--json")
        advise_s, _, _ = measured("advise", str(folder))
        page = Path(parent) / "run.html"
        report_s, report_memory, _ = measured("report", "-q", str(folder), "-o", str(page))
        page_mb = page.stat().st_size / 1e6
        document = json.loads(shown)
        assert len(document["ranks"]) == size
        assert document["left_out"] == []
    total = merge_s + show_s + advise_s + report_s
    peak = max(memory, report_memory)
    return [
        size,
        megabytes,
        merge_s,
        show_s,
        advise_s,
        report_s,
        total,
        total / size * 1e3,
        peak,
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
    table = ResultTable(
        "Jobs",
        [
            *("ranks", "parts MB", "merge s", "show s", "advise s", "report s", "all s"),
            *("ms/rank", "memory MiB", "page MB"),
        ],
        rows,
        f"Each rank has {FIELDS + 1} structures, {PAGES} pages in each field, {THREADS} threads. "
        "Merge: `numascape merge` with processes on this machine. Memory: of the largest process "
        "(two at a time read parts). Show, advise and report use the merged sums. Wall times.",
    )
    print_table(table)
    if write:
        # Times, unlike ratios, are only good if the machine is idle.
        about = {**machine(), "other_work": f"load average {load:.1f} before the first job"}
        for path in write_results("job", about, [table]):
            console.print(f"wrote {path}")


if __name__ == "__main__":
    typer.run(main)
