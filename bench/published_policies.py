# SPDX-License-Identifier: Apache-2.0
"""Compares the published times of page placement policies with predictions of these cases.

Published (bench/published): D. Beniamine, M. Diener, G. Huard, P. O. A. Navaux, "TABARNAC:
Visualizing and Resolving Memory Access Issues on NUMA Architectures", VPA 2015, and the raw runs of
its repository tabarnac_expe; 64 threads on 4 x Intel Xeon X7550, Linux 3.13. Smaller runs of our
examples stand for its programs; docs/prediction.md describes the differences.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from bench.programs import EXAMPLES
from numascape.machine import Machine, open_machine
from numascape.prediction import (
    Demand,
    Prediction,
    Speeds,
    demand_of,
    first_touch,
    interleave,
    predict,
    speeds_of,
)
from numascape.prediction.balancing import BalancingKernel, balancing_start
from numascape.prediction.layout import LayoutName, NodeArray, laid_out
from numascape.prediction.load import RunPlacement, Tuning
from numascape.prediction.model import calibrated
from numascape.prediction.policies import replaced
from numascape.prediction.speeds import Floats
from numascape.trace import Trace

PUBLISHED = Path(__file__).parent / "published"
THREADS = 64
KERNEL = BalancingKernel(deferred_faults=16)
"""Linux 3.13."""


@dataclass(frozen=True)
class Recording:
    """A run of an example, with the assumed cache of a thread: size and ways."""

    name: str
    cache: str
    command: tuple[str, ...]


def _recording(name: str, cache: str, command: str) -> Recording:
    program, *arguments = command.split()
    return Recording(name, cache, (str(EXAMPLES / program), *arguments, "-t", str(THREADS)))


# A thread of the machine has 18 MiB / 16 of last-level cache. A bucket of class D takes 1 MiB of
# it. While each of its lines is used once on average, the keys that pass through the cache fill the
# rest. The same is true here with 34 KiB. Rows of the wave's cube (4 KB at its size) and columns of
# the matrix (256 KiB) are a quarter and an eighth as long here, and so is the cache.
RECORDINGS = (
    *(
        _recording(f"bucketsort-{s}", "34k,17,64", f"bucketsort -n 24 -m 21 -b 8 {s}")
        for s in ("dynamic", "cyclic", "halves")
    ),
    _recording("seismic-serial", "320k,10,64", "seismic -n 128 -s 3 serial"),
    _recording("seismic-parallel", "320k,10,64", "seismic -n 128 -s 3 parallel"),
    _recording("matmul-naive", "160k,10,64", "matmul -n 520 naive"),
    _recording("matmul-block", "160k,10,64", "matmul -n 520 block"),
)


@dataclass(frozen=True)
class Result:
    """Speedups in percent, 100 (1 - t / t of the base); the published one has a standard error.

    The base, to which all policies are relative, does not count as a result.
    """

    case: str
    policy: str
    published: float
    error: float
    predicted: float
    low: float
    high: float
    limit: str
    counts: bool = True

    @property
    def is_pinned(self) -> bool:
        """Whether threads were bound to CPUs."""
        return self.policy.startswith("affinity")


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded run that stands for a published one.

    `demand` is that of the timed part; `placed` gives first touch for threads on nodes.
    """

    trace: Trace
    demand: Demand
    placed: Callable[[NodeArray], pl.DataFrame]


class Bench:
    """Predictions of one program's cases, relative to its base."""

    def __init__(self, machine: Machine, speeds: Speeds) -> None:
        self.machine, self.speeds = machine, speeds
        self.tuning = Tuning()
        self.base: Prediction | None = None
        # The time of the published run over that of the recorded one, and its memory.
        self.scale, self.resident_bytes = 1.0, 0.0

    def begin(
        self,
        base: Run,
        resident_bytes: float,
        scale: float | None = None,
        measured_s: float | None = None,
    ) -> None:
        """Predict the base: unpinned threads, first touch.

        If `scale` and the published time of the base are given, this time calibrates the model. If
        only the time is given, it determines the scale.
        """
        threads = self.threads("scatter", base)
        pages = base.placed(threads)
        if scale and measured_s:
            self.tuning = calibrated(
                base.demand, self.speeds, RunPlacement(pages, threads), measured_s / scale
            )
        self.base = self._predicted(base, pages, threads)
        self.scale = scale or (measured_s or 1.0) / self.base.seconds
        self.resident_bytes = resident_bytes

    def threads(self, layout: LayoutName, run: Run) -> NodeArray:
        """Nodes of the run's threads; a main thread that only waits is in addition to the 64."""
        return np.resize(laid_out(THREADS, self.machine, layout), run.demand.threads)

    def predict(self, run: Run, layout: LayoutName, policy: str) -> Prediction:
        """Policy: first-touch, balancing, or interleave, which balancing does not change."""
        threads = self.threads(layout, run)
        if policy == "interleave":
            return self._predicted(run, interleave(run.trace, self.machine), threads)
        found = self._predicted(run, run.placed(threads), threads)
        for _ in range(10 if policy == "balancing" else 0):
            start = balancing_start(run.trace, self.machine, threads, kernel=KERNEL)
            moved = start.after(found.seconds * self.scale, self.resident_bytes)
            found = self._predicted(run, moved.pages, threads, moved.thread_seconds / self.scale)
        return found

    def _predicted(
        self, run: Run, pages: pl.DataFrame, threads: NodeArray, thread_seconds: float = 0.0
    ) -> Prediction:
        return predict(
            run.demand,
            self.speeds,
            RunPlacement(pages, threads, thread_seconds=thread_seconds),
            reference=self.base,
            tuning=self.tuning,
        )


def results(traces: Path) -> list[Result]:
    """All published cases, predicted from the recordings in a folder."""
    machine = open_machine("xeon-x7550")
    bench = Bench(machine, speeds_of(machine))
    found: list[Result] = []
    for cases in (sorting_cases, wave_cases, matrix_cases):
        found += cases(bench, traces)
        bench = Bench(bench.machine, bench.speeds)
    return found


def rows(name: str) -> list[dict[str, str]]:
    with (PUBLISHED / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def result(case: str, policy: str, published: float, error: float, found: Prediction) -> Result:
    predicted, low, high = (100 * (1 - r) for r in (found.relative, found.high, found.low))
    return Result(case, policy, published, error, predicted, low, high, found.limit)


# --- IS, class D ----------------------------------------------------------------------------------


def sorting_cases(bench: Bench, traces: Path) -> list[Result]:
    """Three schedules, with or without pinning, balancing and interleaving."""
    published = rows("tabarnac_is_d_turing")
    base = next(row for row in published if row["schedule"] == "dynamic")
    assert [base[name] for name in ("affinity", "numa_balancing", "interleave")] == ["off"] * 3
    base_s = float(base["mean_s"])
    ours = {"dynamic": "dynamic", "cyclic": "cyclic", "tabarnac": "halves"}
    runs = {name: sorting_run(bench, traces, schedule) for name, schedule in ours.items()}
    # The memory of the published run: two arrays of 2^31 keys of 8 bytes, and 2^27 counters.
    bench.begin(runs["dynamic"], 8.0 * (2**32 + 2**27), scale=2.0**7, measured_s=base_s)
    found = [base_result("IS.D dynamic", base)]
    for row in published:
        if row is base:
            continue
        policy = "first-touch" if row["numa_balancing"] == "off" else "balancing"
        policy = "interleave" if row["interleave"] == "on" else policy
        layout: LayoutName = "numbered" if row["affinity"] == "on" else "scatter"
        names = ("affinity", "numa_balancing", "interleave")
        label = ", ".join(name for name in names if row[name] == "on") or "none"
        found.append(
            result(
                f"IS.D {row['schedule']}",
                label.replace("numa_", ""),
                *speedup(row, base_s),
                bench.predict(runs[row["schedule"]], layout, policy),
            )
        )
    return found


def base_result(case: str, row: dict[str, str]) -> Result:
    _, error = speedup(row, float(row["mean_s"]))
    return Result(case, "none", 0.0, error, 0.0, 0.0, 0.0, "", counts=False)


def speedup(row: dict[str, str], base_s: float) -> tuple[float, float]:
    """The speedup in percent, and the standard error of its time."""
    mean, deviation, count = (float(row[name]) for name in ("mean_s", "sd_s", "runs"))
    return 100 * (1 - mean / base_s), 100 * deviation / count**0.5 / base_s


def sorting_run(bench: Bench, traces: Path, schedule: str) -> Run:
    """Our bucket sort, changed to what IS does: ten timed iterations, keys of 8 bytes instead of 4.

    Keys therefore take twice as many lines. In IS, counters also have 8 bytes, but each is for
    twice as many keys, so they take the same number of lines. IS zeroes the sorted keys in parallel
    before it begins; ours does not, so their first touch is set to equal parts. With a dynamic
    schedule, any thread takes a bucket. The recording machine has few cores, so only running
    threads take buckets; each thread therefore gets the same part of every page.
    """
    trace = Trace.read(traces / f"bucketsort-{schedule}.numascape")
    number = dict(trace.structures.select("name", "structure").iter_rows())
    sorted_keys, counters = number["bucketed_keys"], number["key_buffer"]
    pages = trace.structures.item(sorted_keys, "pages")
    mine = pl.col("structure") == sorted_keys
    part = (pl.col("page").cast(pl.UInt64) * THREADS // pages).cast(pl.UInt32)
    # Replaces the value from the file.
    vars(trace)["first_touch"] = trace.first_touch.with_columns(
        thread=pl.when(mine).then(part.clip(0, THREADS - 1)).otherwise(pl.col("thread"))
    )
    timed = trace.phases.filter(pl.col("repetitions") == 10)["phase"].to_list()
    assert len(timed) == 2
    demand = demand_of(trace, bench.speeds).of_phases(timed)
    structure = demand.pages["structure"].to_numpy()[demand.page]
    wider = np.where(structure == counters, 1.0, 2.0)
    demand = replace(
        demand,
        lines=wider * demand.lines,
        moved=wider * demand.moved,
        once=2 * demand.once,
        rounds=demand.rounds * wider / 2,
    )
    if schedule != "dynamic":
        return Run(trace, demand, lambda threads: first_touch(trace, bench.machine, threads))

    def placed(threads: NodeArray) -> pl.DataFrame:
        touched = first_touch(trace, bench.machine, threads)
        return replaced(touched, interleave(trace, bench.machine), [counters])

    return Run(trace, spread_evenly(demand, 1), placed)


def spread_evenly(demand: Demand, phase: int) -> Demand:
    """The demand if every thread does an equal part of each phase."""
    threads, chosen = demand.threads, demand.phase == phase
    pages, at = np.unique(demand.page[chosen], return_inverse=True)
    accesses = demand.accesses.copy()
    accesses[phase] = accesses[phase].mean()

    def spread(amount: Floats) -> Floats:
        whole = np.bincount(at, amount[chosen])
        return np.concatenate([amount[~chosen], np.repeat(whole / threads, threads)])

    every = np.tile(np.arange(threads), len(pages))
    return replace(
        demand,
        page=np.concatenate([demand.page[~chosen], np.repeat(pages, threads)]),
        thread=np.concatenate([demand.thread[~chosen], every]),
        phase=np.concatenate([demand.phase[~chosen], np.full(len(every), phase)]),
        counts=spread(demand.counts),
        lines=spread(demand.lines),
        moved=spread(demand.moved),
        rounds=np.concatenate(
            [
                demand.rounds[~chosen],
                np.repeat(np.bincount(at, demand.rounds[chosen]) / np.bincount(at), threads)
                / threads,
            ]
        ),
        accesses=accesses,
    )


# --- Ondes3D --------------------------------------------------------------------------------------


def wave_cases(bench: Bench, traces: Path) -> list[Result]:
    """Serial first touch, the kernel's balancing, parallel first touch pinned, and interleaved."""
    published = {row["policy"]: row for row in rows("tabarnac_ondes3d_turing")}
    serial, parallel = (wave_run(bench, traces, name) for name in ("serial", "parallel"))
    base_s = float(published["base"]["mean_s"])
    bench.begin(serial, 11.3 * (1 << 30), measured_s=base_s)
    predictions = {
        "balancing": bench.predict(serial, "scatter", "balancing"),
        "tabarnac": bench.predict(parallel, "numbered", "first-touch"),
        "interleave": bench.predict(serial, "scatter", "interleave"),
    }
    return [
        base_result("Ondes3D", published["base"]),
        *(
            result("Ondes3D", policy, *speedup(published[policy], base_s), found)
            for policy, found in predictions.items()
        ),
    ]


def wave_run(bench: Bench, traces: Path, version: str) -> Run:
    """Its two compute loops, because initialisation is a small part of the published runs."""
    trace = Trace.read(traces / f"seismic-{version}.numascape")
    loops = trace.phases.filter(pl.col("name").str.contains("update_"))["phase"].to_list()
    assert len(loops) == 2
    demand = demand_of(trace, bench.speeds).of_phases(loops)
    return Run(trace, demand, lambda threads: first_touch(trace, bench.machine, threads))


# --- Matrix multiplication ------------------------------------------------------------------------


def matrix_cases(bench: Bench, traces: Path) -> list[Result]:
    """The naive and the block version, each relative to itself without a policy."""
    found: list[Result] = []
    for row in rows("tabarnac_matmul_turing"):
        run = matrix_run(bench, traces, row["version"])
        mine = Bench(bench.machine, bench.speeds)
        # 4096 x 4096 instead of 520 x 520.
        mine.begin(run, 3 * 8 * 4096.0**2, scale=(4096 / 520) ** 3)
        prediction = mine.predict(run, "scatter", row["policy"])
        case = f"matrix, {row['version']}"
        if case not in {earlier.case for earlier in found}:
            found.append(Result(case, "none", 0.0, 0.5, 0.0, 0.0, 0.0, "", counts=False))
        found.append(result(case, row["policy"], float(row["speedup_percent"]), 0.5, prediction))
    return found


def matrix_run(bench: Bench, traces: Path, version: str) -> Run:
    """Its 64 workers, without main, which initialises and checks in time quadratic in the size."""
    trace = Trace.read(traces / f"matmul-{version}.numascape")
    demand = demand_of(trace, bench.speeds)
    kept = demand.thread > 0
    accesses = demand.accesses.copy()
    accesses[:, 0] = 0.0
    demand = replace(
        demand,
        page=demand.page[kept],
        thread=demand.thread[kept],
        phase=demand.phase[kept],
        counts=demand.counts[kept],
        lines=demand.lines[kept],
        moved=demand.moved[kept],
        rounds=demand.rounds[kept],
        accesses=accesses,
    )
    return Run(trace, demand, lambda threads: first_touch(trace, bench.machine, threads))
