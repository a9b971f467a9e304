# SPDX-License-Identifier: Apache-2.0
"""Measures how quickly the parts of synthetic jobs are merged and analysed, also by engines."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.measure import machine
from bench.tables import ResultTable, Row, publish

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from numascape.jobs.stored_sums import SUMS_FILE, store_sums
from numascape.recorders.process_time import cpu_s_so_far
from numascape.trace.job import part_folder
from synthetic.job import rank_pattern, write_rank

console = Console()
FIELDS = 11  # with the window, 12 structures
THREADS = 64
PAGES = 256
WRITTEN = 16
WORKERS = 2


def write_ranks(folder: Path, size: int, *, sums: bool) -> float:
    """Write the job, with the sums of each rank if wanted; return the size of its parts in MB.

    Only WRITTEN ranks are computed. The files of the others are links to theirs, because writing
    thousands of traces takes longer than all that is measured.
    """
    for rank in range(min(WRITTEN, size)):
        work = 3.0 if rank == WRITTEN // 2 else 1.0
        options = {"threads": THREADS, "fields": FIELDS, "pages": PAGES, "work": work}
        pattern = rank_pattern(rank, WRITTEN, **options, parallel=rank > 0)  # type: ignore[arg-type]
        write_rank(folder, rank, size, pattern)
        if sums:
            store_sums(folder, rank)
    for rank in range(WRITTEN, size):
        _link_rank(part_folder(folder, rank % WRITTEN), part_folder(folder, rank), rank)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _link_rank(like: Path, own: Path, rank: int) -> None:
    """A part as `like`, of another rank."""
    own.mkdir()
    for table in like.glob("*.parquet"):
        (own / table.name).hardlink_to(table)
    info = json.loads((like / "trace.json").read_text())
    info["part"]["rank"] = rank
    text = json.dumps(info)
    (own / "trace.json").write_text(text)
    if (like / SUMS_FILE).exists():
        document = json.loads((like / SUMS_FILE).read_text())
        document["trace"] = zlib.crc32(text.encode())
        for name in ("ranks", "sums", "findings", "shared"):
            columns = document[name]
            columns["rank"] = [rank] * len(columns["rank"])
        (own / SUMS_FILE).write_text(json.dumps(document))


@dataclass(frozen=True)
class CommandCost:
    """A command: wall and CPU seconds of all its processes, MiB of the largest, and its output."""

    wall_s: float
    cpu_s: float
    memory: float
    output: str


def measured(*command: str) -> CommandCost:
    """Run a command, and measure it."""
    code = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "cpu = used.ru_utime + used.ru_stime\n"
        "print(json.dumps([cpu, used.ru_maxrss / 1024, done.stdout]))\n"
    )
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
    )
    return CommandCost(time.perf_counter() - begin, *json.loads(done.stdout))


def numascape(*arguments: str) -> tuple[str, ...]:
    """The command of a verb."""
    return (sys.executable, "-m", "numascape", *arguments)


def size_row(size: int, *, sums: bool) -> Row:
    """Measure a job of this size."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "run.numascape"
        megabytes = write_ranks(folder, size, sums=sums)
        merge = measured(*numascape("merge", str(folder)))
        show = measured(*numascape("show", str(folder), "--json"))
        advise = measured(*numascape("advise", str(folder)))
        page = Path(parent) / "run.html"
        report = measured(*numascape("report", "-q", str(folder), "-o", str(page)))
        page_mb = page.stat().st_size / 1e6
        document = json.loads(show.output)
        assert len(document["ranks"]) == size
        assert document["left_out"] == []
    steps = (merge, show, advise, report)
    cpu = sum(one.cpu_s for one in steps)
    return [
        *(size, "stored" if sums else "computed", megabytes),
        *(one.cpu_s for one in steps),
        *(cpu, cpu / size * 1e3, sum(one.wall_s for one in steps)),
        *(max(one.memory for one in steps), page_mb),
    ]


@contextmanager
def dask_cluster() -> Iterator[tuple[str, Sequence[subprocess.Popen[bytes]]]]:
    """A scheduler and WORKERS workers with one thread each; its address, and its processes."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{one.getsockname()[1]}"
    host, port = address.split(":")
    python = (sys.executable, "-m")
    scheduler = (*python, "distributed.cli.dask_scheduler", "--host", host, "--port", port)
    worker = (*python, "distributed.cli.dask_worker", address, "--nthreads", "1", "--nworkers", "1")
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    processes = [
        subprocess.Popen((*command, "--no-dashboard"), stderr=subprocess.DEVNULL, env=environment)
        for command in (scheduler, *(worker,) * WORKERS)
    ]
    try:
        _wait_until_it_listens(host, int(port))
        yield address, processes
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(60)


def _wait_until_it_listens(host: str, port: int) -> None:
    for _ in range(600):
        with socket.socket() as one:
            if one.connect_ex((host, port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("the scheduler did not start")


def cpu_seconds(processes: Sequence[subprocess.Popen[bytes]]) -> float:
    """CPU seconds of these processes and their children until now."""
    seconds = 0.0
    for parent in processes:
        # The children of all threads: a thread of the watching process starts a worker of Dask.
        lists = [path.read_text() for path in Path(f"/proc/{parent.pid}/task").glob("*/children")]
        for pid in (parent.pid, *map(int, " ".join(lists).split())):
            seconds += cpu_s_so_far(pid) or 0.0
    return seconds


def engine_rows(size: int, *, sums: bool) -> list[Row]:
    """Merge the same job with each engine that is installed, WORKERS processes each."""
    rows: list[Row] = []
    kind = "stored" if sums else "computed"
    with tempfile.TemporaryDirectory() as parent:
        folder = str(Path(parent) / "run.numascape")
        write_ranks(Path(folder), size, sums=sums)
        local = measured(*numascape("merge", folder))
        rows.append(["processes on this machine", size, kind, local.cpu_s, 1.0, local.wall_s])
        with dask_cluster() as (address, processes):
            # The first job loads the code in the workers.
            measured(*numascape("merge", "--dask", address, folder))
            before = cpu_seconds(processes)
            dask = measured(*numascape("merge", "--dask", address, folder))
            cpu = dask.cpu_s + cpu_seconds(processes) - before
        rows.append(["Dask", size, kind, cpu, cpu / local.cpu_s, dask.wall_s])
        if shutil.which("mpirun") is not None:
            ranks = ("--allow-run-as-root", "--oversubscribe", "-n", str(WORKERS + 1))
            # A rank that waits for messages then yields its CPU to others.
            options = (*ranks, "--mca", "mpi_yield_when_idle", "1", "-x", "POLARS_MAX_THREADS=1")
            program = (sys.executable, "-m", "mpi4py.futures", "-m", "numascape", "merge", "--mpi")
            mpi = measured("mpirun", *options, *program, folder)
            rows.append(["MPI", size, kind, mpi.cpu_s, mpi.cpu_s / local.cpu_s, mpi.wall_s])
    return rows


def main(
    sizes: Annotated[str, typer.Option(help="Numbers of ranks.")] = "64,256,1024,4096,16384",
    computed: Annotated[
        str, typer.Option(help="Numbers of ranks without stored sums.")
    ] = "64,256,1024",
    engines: Annotated[int, typer.Option(help="Ranks for the comparison of engines.")] = 512,
    write: Annotated[bool, typer.Option(help="Write bench/results/job.md and .json.")] = True,
) -> None:
    """Measure merging and analysing jobs of 12 structures and 64 threads in each rank."""
    load = os.getloadavg()[0]
    rows: list[Row] = []
    for text, sums in ((sizes, True), (computed, False)):
        for size in map(int, filter(None, text.split(","))):
            rows.append(size_row(size, sums=sums))
            console.print(rows[-1])
    tables = [size_table(rows)]
    if engines:
        tables.append(
            engine_table([*engine_rows(engines, sums=False), *engine_rows(engines, sums=True)])
        )
    # Times, unlike ratios, are meaningful only if the machine is idle.
    about = {**machine(), "other_work": f"load average {load:.1f} before the first job"}
    publish("job", about, tables, write)


def size_table(rows: list[Row]) -> ResultTable:
    """The table of results by the number of ranks."""
    return ResultTable(
        "Jobs",
        [
            *("ranks", "sums", "parts MB", "merge CPU s", "show CPU s", "advise CPU s"),
            *("report CPU s", "all CPU s", "CPU ms/rank", "all wall s", "memory MiB", "page MB"),
        ],
        rows,
        f"Each rank has {FIELDS + 1} structures, {PAGES} pages in each field, {THREADS} threads. "
        "Sums: stored in each part, as `numascape record` does, or computed from its tables by "
        f"`numascape merge` with {WORKERS} processes. Memory: of the largest process. The parts "
        f"are {WRITTEN} different ones, linked. Show, advise and report use the merged sums.",
    )


def engine_table(rows: list[Row]) -> ResultTable:
    """The table of results by engine."""
    return ResultTable(
        "Engines",
        ["engine", "ranks", "sums", "CPU s", "CPU relative to local", "wall s"],
        rows,
        f"`numascape merge` with {WORKERS} workers. CPU: of all processes: with MPI also starting "
        "them, and waiting for messages; with Dask also the scheduler, whose cluster was started "
        "before and had merged one job.",
    )


if __name__ == "__main__":
    typer.run(main)
