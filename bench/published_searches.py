# SPDX-License-Identifier: Apache-2.0
"""Compares the published throughput of nearest-neighbour searches with predictions.

Published (bench/published/numa_policies_ann_llama.csv): the results of the repository
riwanou/app-repl-numa-benchmarks: faiss, annoy and usearch with three data sets on two machines, 30
runs each, all hardware threads, the index mapped from a file.

Smaller runs stand for them: random vectors of the same size, a 64th of their number (a 16th for
usearch with sift), a 64th of the effort of a search, 64 threads, and caches that are as much
smaller. The recording machine has few cores, so it does not deal out the queries evenly; each
thread therefore gets as much of the work as any other.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from bench.published_policies import Result, result, rows
from numascape.machine import open_machine
from numascape.prediction import Demand, demand_of, interleave, predict, speeds_of
from numascape.prediction.layout import laid_out
from numascape.prediction.load import RunPlacement
from numascape.trace import Trace

THREADS: Final = 64
PACKAGES: Final = ("faiss-cpu==1.15.1", "annoy==1.17.3", "usearch==2.26.6", "numpy==2.4.6")
SOURCES: Final = Path(__file__).parent / "searches"
MACHINES: Final = {
    "2 x Xeon Silver 4216": "xeon-4216-2s",
    "4 x Xeon Gold 6130": "xeon-6130-4s",
}


@dataclass(frozen=True)
class Search:
    """A recorded search that stands for a published one; `scale` is how many times smaller."""

    library: str
    workload: str
    vectors: int
    size: int
    metric: str
    effort: int
    queries: int
    scale: int = 64

    @property
    def name(self) -> str:
        return f"{self.library}-{self.workload.partition('-')[0]}"

    @property
    def cache(self) -> str:
        """The modelled cache of a thread: 22 MiB / 32 and half a MiB, 64 (16) times smaller."""
        return "18k,9,64" if self.scale == 64 else "72k,9,64"


GLOVE, SIFT, GIST = "glove-100-angular", "sift-128-euclidean", "gist-960-euclidean"
SEARCHES: Final = (
    Search("faiss", GLOVE, 18_492, 100, "angular", 39, 256),
    Search("faiss", SIFT, 15_625, 128, "l2", 10, 256),
    Search("faiss", GIST, 15_625, 960, "l2", 18, 128),
    Search("annoy", GLOVE, 18_492, 100, "angular", 250_000 // 64, 256),
    Search("annoy", SIFT, 15_625, 128, "l2", 40_000 // 64, 512),
    Search("annoy", GIST, 15_625, 960, "l2", 500_000 // 64, 128),
    Search("usearch", GLOVE, 18_492, 100, "angular", 5000 // 64, 512),
    Search("usearch", SIFT, 62_500, 128, "l2", 256 // 16, 1024, scale=16),
    Search("usearch", GIST, 15_625, 960, "l2", 2500 // 64, 256),
)


def record_searches(folder: Path, built: Path) -> None:
    """Make the recordings that are missing in `folder`. `built` keeps the packages and indexes."""
    missing = [one for one in SEARCHES if not (folder / f"{one.name}.numascape").exists()]
    if not missing:
        return
    built.mkdir(parents=True, exist_ok=True)
    python = built / "venv/bin/python"
    if not python.exists():
        venv.create(built / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    mark = built / "libmark.so"
    include = SOURCES.parents[1] / "include"
    words = ["-O2", "-shared", "-fPIC", f"-I{include}", "-o", mark, SOURCES / "phase_mark.c"]
    subprocess.run(["cc", *map(str, words)], check=True)
    for search in missing:
        _record(search, folder, built, python, mark)


def _record(search: Search, folder: Path, built: Path, python: Path, mark: Path) -> None:
    index = built / search.name
    data = (index, search.vectors, search.size, search.metric, search.effort, THREADS)
    words = [str(word) for word in (search.library, *data, search.queries, mark)]
    program = [str(python), str(SOURCES / "program.py")]
    quiet = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    if not index.exists():
        subprocess.run([*program, "build", *words], check=True, env=quiet)
    numascape = str(Path(sys.executable).with_name("numascape"))
    trace = folder / f"{search.name}.numascape"
    options = ["--traffic", "--cache", search.cache, "--no-source-lines", "-q", "-o", str(trace)]
    command = [numascape, "record", *options, "--", *program, "search", *words]
    subprocess.run(command, check=True, env=quiet, stdout=subprocess.DEVNULL)


def search_results(traces: Path) -> list[Result]:
    """All published searches, predicted from the recordings in a folder."""
    published = rows("numa_policies_ann_llama")
    found = []
    for search in SEARCHES:
        trace = Trace.read(traces / f"{search.name}.numascape")
        for machine, short in MACHINES.items():
            mine = [
                row
                for row in published
                if (row["machine"], row["program"], row["workload"])
                == (machine, search.library, search.workload)
            ]
            found += _results(search, trace, short, mine)
    return found


def _results(
    search: Search, trace: Trace, short: str, published: Sequence[dict[str, str]]
) -> list[Result]:
    """The policies of a search on a machine. Base: first touch.

    The pages of the index are where the threads ran that read them first. All threads search the
    whole index, so these are all nodes alike. The kernel's balancing does not look at files that
    are mapped for reading only (task_numa_work in kernel/sched/fair.c), so it changes nothing here.
    """
    machine = open_machine(short)
    speeds = speeds_of(machine)
    speeds = replace(speeds, shared_cache=speeds.shared_cache / search.scale)
    (phase,) = trace.phases.filter(pl.col("name") == "search")["phase"].to_list()
    demand = dealt_evenly(demand_of(trace, speeds).of_phases([phase]))
    threads = np.resize(laid_out(THREADS, machine, "scatter"), demand.threads)
    index = trace.structures.filter(pl.col("name").str.contains(search.name))["structure"].to_list()
    everywhere, one = interleave(trace, machine), interleave(trace, machine, [0])
    placements = {
        "first touch": RunPlacement(everywhere, threads),
        "interleave": RunPlacement(everywhere, threads),
        "balancing": RunPlacement(everywhere, threads),
        "one node": RunPlacement(one, threads),
        "file pages replicated": RunPlacement(
            everywhere, threads, copied=index, copies_are_free=True
        ),
    }
    base = predict(demand, speeds, placements["first touch"])
    (before,) = (row for row in published if row["policy"] == "first touch")
    case = f"{search.name} on {short}"
    found = [Result(case, "first touch", 0.0, _error(before, before), 0.0, 0.0, 0.0, "", False)]
    for row in published:
        if row is not before:
            predicted = predict(demand, speeds, placements[row["policy"]], reference=base)
            speedup = 100 * (1 - float(before["throughput"]) / float(row["throughput"]))
            found.append(result(case, row["policy"], speedup, _error(row, before), predicted))
    return found


def _error(row: dict[str, str], base: dict[str, str]) -> float:
    """The standard error of the speedup in percent, of 30 runs."""
    ratio = float(base["throughput"]) / float(row["throughput"])
    relative = float(row["standard_deviation"]) / float(row["throughput"]) / 30**0.5
    return float(100 * ratio * relative)


def dealt_evenly(demand: Demand) -> Demand:
    """The demand of one phase if each thread does as much as any other.

    Idle threads get the work of busy ones; then all work is scaled to the same number of lines.
    """
    threads = demand.threads
    made = np.bincount(demand.thread, demand.lines, threads)
    busy = np.flatnonzero(made > made.max() / 100)
    stands_for = busy[np.arange(threads) % len(busy)]
    stands_for[busy] = busy
    order = np.argsort(demand.thread, kind="stable")
    first = np.searchsorted(demand.thread[order], np.arange(threads + 1))
    row = np.concatenate([order[first[one] : first[one + 1]] for one in stands_for])
    thread = np.repeat(np.arange(threads), (first[1:] - first[:-1])[stands_for])
    scale = made[busy].mean() / made[demand.thread[row]]
    return replace(
        demand,
        page=demand.page[row],
        thread=thread,
        phase=demand.phase[row],
        counts=demand.counts[row] * scale,
        lines=demand.lines[row] * scale,
        moved=demand.moved[row] * scale,
        rounds=demand.rounds[row],
        accesses=np.full_like(demand.accesses, demand.accesses[0, busy].mean()),
    )
