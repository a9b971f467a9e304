# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of observed events: for a server, for a switch of threads, for a sample."""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from bench.busy_processes import cpu_s, load, memcached, obeying, redis
from bench.tables import ResultTable
from numascape.installation import installed_file
from numascape.recorders.sampled_events import (
    RUNNING_FREQUENCY,
    THREADS_FREQUENCY,
    chosen_events,
    events_of_running,
    in_bursts,
)
from numascape.recording.options import TASK_CLOCK, RecordOptions

KERNELS: Final = Path(__file__).parent / "kernels"
WITHOUT_FAULTS: Final = "--without-faults"
# For each: how to start it, the program that must be installed, and the requests of a round.
SERVERS: Final = {
    "redis": (redis, "redis-server", 20_000),
    "memcached": (memcached, "memcached", 60_000),
}


def ways_to_watch() -> dict[str, list[str]]:
    """Arguments of numascape-faults: the events of each recorder, and other uses of the clock."""
    (clock,) = events_of_running(RecordOptions("samples", event=TASK_CLOCK))
    seldom = replace(clock, period=clock.period_of_threads, period_of_threads=0)
    often = RecordOptions("samples", event=TASK_CLOCK, frequency=1000)
    cpus, threads = "clock of the CPUs", "clock of the threads"
    return {
        "faults": [],
        f"{cpus}, {RUNNING_FREQUENCY}/s": [clock.words, WITHOUT_FAULTS],
        f"{cpus}, 1000/s": [events_of_running(often)[0].words, WITHOUT_FAULTS],
        f"{cpus}, {RUNNING_FREQUENCY}/s, and faults": [clock.words],
        f"{threads}, {THREADS_FREQUENCY}/s": [seldom.words, WITHOUT_FAULTS],
        f"{threads}, {THREADS_FREQUENCY}/s, in bursts": [in_bursts(seldom).words, WITHOUT_FAULTS],
        f"{threads}, 1000/s, and faults": [chosen_events(often)[0].words],
    }


@contextmanager
def observed(events: list[str] | None, pid: int, folder: Path) -> Iterator[None]:
    """Let the recorder observe these events while the context is entered; None: no event."""
    if events is None:
        yield
        return
    log = folder / "faults"
    log.unlink(missing_ok=True)
    words = [str(installed_file("_recorder/numascape-faults")), str(folder), "--pid", str(pid), "0"]
    with subprocess.Popen([*words, *events]) as process:
        while not log.exists():
            time.sleep(0.02)
        yield
        process.terminate()


def in_turn(
    pid: int, work: Callable[[], None], ways: dict[str, list[str] | None], rounds: int, folder: Path
) -> dict[str, list[float]]:
    """The CPU seconds of the same work under each of these ways, in random order in each round."""
    seen: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way in random.sample(list(ways), len(ways)):
            with observed(ways[way], pid, folder):
                begin = cpu_s(pid)
                work()
                seen[way].append(cpu_s(pid) - begin)
    return seen


def servers(folder: Path, rounds: int) -> ResultTable:
    """The cost of each way for a server."""
    ways: dict[str, list[str] | None] = {"alone": None, **ways_to_watch()}
    rows: list[list[str | float | None]] = []
    for name, (serve, program, amount) in SERVERS.items():
        if shutil.which(program) is None:
            continue
        with serve(folder) as (pid, work):
            work(amount)
            seen = in_turn(pid, partial(work, amount), ways, rounds, folder)
        alone = statistics.median(seen["alone"])
        for way, costs in seen.items():
            low, _, high = statistics.quantiles(costs, n=4)
            # The error of a median, from the quartiles of a normal distribution.
            error = 1.25 * (high - low) / 1.35 / len(costs) ** 0.5
            cost = statistics.median(costs)
            rows.append([name, way, 1000 * cost, 100 * (cost / alone - 1), 100 * error / alone])
    return ResultTable(
        "Watching a server",
        ["server", "observed", "CPU ms", "more, %", "standard error, %"],
        rows,
        f"Medians of {rounds} rounds, in random order. {load()}",
    )


def switches_and_samples(folder: Path, rounds: int) -> ResultTable:
    """The cost of each way at a switch between threads, and the cost of a sample."""
    words = str(folder / "passes")
    subprocess.run(["make", "-s", "-C", str(KERNELS), f"BUILD={folder}", words], check=True)
    ways: dict[str, list[str] | None] = {"alone": None, **ways_to_watch()}
    passes, turns, per_s = 200_000, 100_000_000, 20_000
    rows: list[list[str | float | None]] = []
    with obeying([words], "{} 0") as (pid, work):
        seen = in_turn(pid, partial(work, passes), ways, rounds, folder)
    alone = min(seen["alone"])
    rows = [
        [f"a switch: {way}", 1e6 * min(costs) / passes, 1e6 * (min(costs) - alone) / passes]
        for way, costs in seen.items()
    ]
    fast = RecordOptions("samples", event=TASK_CLOCK, frequency=per_s)
    ways = {
        "alone": None,
        "CPUs": [events_of_running(fast)[0].words, WITHOUT_FAULTS],
        "threads": [chosen_events(fast)[0].words, WITHOUT_FAULTS],
    }
    with obeying([words], "0 {}") as (pid, work):
        seen = in_turn(pid, partial(work, turns), ways, rounds, folder)
    alone = min(seen["alone"])
    for way in ("CPUs", "threads"):
        least = min(seen[way])
        rows.append([f"a sample: clock of the {way}", None, 1e6 * (1 - alone / least) / per_s])
    return ResultTable(
        "A switch between threads, and a sample",
        ["what", "CPU us", "more, us"],
        rows,
        f"The least of {rounds} rounds. Samples: at {per_s} in a second. {load()}",
    )
