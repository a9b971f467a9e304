# SPDX-License-Identifier: Apache-2.0
"""Measures the bandwidth of vector loops over their length, from the first cache to memory."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from numascape.errors import NumascapeError
from numascape.machine.description import Machine, Operation
from numascape.machine.measuring import ProbeRun, run_probe
from numascape.machine.sizes import outside_bytes, sizes_between, thread_counts

LoopName = Literal["triad", "sum", "copy"]
Touch = Literal["parallel", "serial"]
# a = b + c d, the vector triad; the sum of a; a = b.
OPERATIONS: Final[dict[LoopName, Operation]] = {"triad": "triad", "sum": "read", "copy": "copy"}
BYTES_PER_ELEMENT: Final[dict[LoopName, int]] = {"triad": 32, "sum": 8, "copy": 16}
FLOPS_PER_ELEMENT: Final[dict[LoopName, int]] = {"triad": 2, "sum": 1, "copy": 0}
_SMALLEST: Final = 2048
_PER_OCTAVE: Final = 2


@dataclass(frozen=True)
class Series:
    """A line of the plot: `threads` on `sockets` sockets, with parallel or serial first touch.

    `serial`: the reference, which starts no thread and never waits for one.
    """

    threads: int
    sockets: int
    touch: Touch
    cpus: tuple[int, ...]
    serial: bool = False

    @property
    def label(self) -> str:
        """The name in plot and CSV: `4 threads, 2S, serial first touch`."""
        if self.serial:
            return "serial, without threads"
        threads = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        touch = "" if self.touch == "parallel" else ", serial first touch"
        return f"{threads}, {self.sockets}S{touch}"


@dataclass(frozen=True)
class BandwidthPoint:
    """One point: the bytes of all vectors of all threads, and GB/s with its confidence interval."""

    series: Series
    bytes: int
    gb_s: float
    half_width: float
    interrupted: int


def plan(machine: Machine, sockets: int | None, max_threads: int | None) -> list[Series]:
    """Plan a serial run, and 1, 2, 4, ... threads on one socket and on all.

    On several sockets, each is also with serial first touch. There is one thread per core. Threads
    are distributed evenly over several sockets.
    """
    usable = set(machine.usable_cpus)
    packages = [
        sorted(min(usable & set(core)) for core in machine.cores if usable & set(core) & set(one))
        for one in machine.packages
    ]
    packages = [cores for cores in packages if cores]
    if sockets is not None and sockets > len(packages):
        raise NumascapeError(f"{sockets} sockets are wanted, but there are only {len(packages)}")
    series = [Series(1, 1, "parallel", (packages[0][0],), serial=True)]
    for used in [1, len(packages)] if sockets is None else [sockets]:
        if any(one.sockets == used and not one.serial for one in series):
            continue
        cores = _dealt(packages[:used])
        counts = [n for n in thread_counts(len(cores), [len(cores)]) if n >= used]
        for count in counts:
            if max_threads is None or count <= max_threads:
                touches: tuple[Touch, ...] = ("parallel", "serial") if used > 1 else ("parallel",)
                series += [Series(count, used, touch, tuple(cores[:count])) for touch in touches]
    return series


def _dealt(packages: list[list[int]]) -> list[int]:
    longest = max(map(len, packages))
    return [cores[i] for i in range(longest) for cores in packages if i < len(cores)]


def lengths(machine: Machine, quick: bool) -> list[int]:
    """The bytes of all vectors together: from the first cache to several times the last cache."""
    return sizes_between(_SMALLEST, outside_bytes(machine, quick), 1 if quick else _PER_OCTAVE)


def run_series(
    machine: Machine, experiment: LoopName, series: Series, sizes: list[int]
) -> Iterator[BandwidthPoint]:
    """Measure one line of the plot."""
    home = {cpu: node.node for node in machine.nodes for cpu in node.cpus}
    parallel = series.touch == "parallel"
    # If a node has CPUs only, memory cannot be bound to it; first touch uses the nearest node.
    bound = parallel and all(
        node.memory_bytes for node in machine.nodes if set(node.cpus) & set(series.cpus)
    )
    # Below this size, a thread would have less than one block of each vector.
    least = series.threads * 64 * BYTES_PER_ELEMENT[experiment]
    found: ProbeRun = run_probe(
        "bandwidth",
        operation=OPERATIONS[experiment],
        cpus=series.cpus,
        nodes=[home[cpu] for cpu in series.cpus] if bound else None,
        touch=None if parallel else "serial",
        alone="yes" if series.serial else None,
        bytes=[size for size in sizes if size >= least],
        samples=9,
    )
    for point in found.points:
        known = point.estimate
        yield BandwidthPoint(
            series, int(point.at), known.median, known.half_width, point.interrupted
        )


def bandwidth_csv(experiment: LoopName, results: list[BandwidthPoint]) -> str:
    """A line per point; elements is the length of one vector, over all threads."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["experiment", "threads", "sockets", "first_touch", "bytes", "elements", "gb_s",
         "gb_s_half_width", "gflop_s", "interrupted", "run"]
    )  # fmt: skip
    size, flops = BYTES_PER_ELEMENT[experiment], FLOPS_PER_ELEMENT[experiment]
    for result in results:
        series = result.series
        writer.writerow(
            [experiment, series.threads, series.sockets, series.touch, result.bytes,
             result.bytes // size, f"{result.gb_s:.5g}", f"{result.half_width:.3g}",
             f"{result.gb_s / size * flops:.5g}", result.interrupted,
             "serial" if series.serial else "threads"]
        )  # fmt: skip
    return text.getvalue()
