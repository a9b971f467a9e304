# SPDX-License-Identifier: Apache-2.0
"""The time that a cache line takes from one core to another: measured here, or from a file.

It is half a round trip of a line that two threads write in turn, on the first CPU of each core.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape.errors import NumascapeError
from numascape.machine.description import CoreMatrix, Machine, Provenance
from numascape.machine.measuring import run_probe

_MAX_CPUS: Final = 4096
_MAX_BYTES: Final = 256 << 20
_SAMPLES: Final = 5
_SAMPLE_MS: Final = 1.0


@dataclass(frozen=True, eq=False)
class CoreLatencies:
    """A CPU of each core, and the ns between each pair of them; nan where nothing is known."""

    cpus: tuple[int, ...]
    ns: npt.NDArray[np.float64]


def first_cpus(machine: Machine) -> tuple[int, ...]:
    """The first usable CPU of each core."""
    usable = set(machine.usable_cpus)
    cores = machine.cores or tuple((cpu,) for cpu in machine.cpus)
    return tuple(sorted(min(cpus) for core in cores if (cpus := usable & set(core))))


def measure_core_latencies(
    machine: Machine, done: Callable[[int, int], None] = lambda _at, _all: None
) -> CoreLatencies:
    """Measure all pairs of cores of this host.

    `done` is called with the number of measured pairs and of all pairs. Raises NumascapeError if
    there is only one core, or the probe fails.
    """
    cpus = first_cpus(machine)
    if len(cpus) < 2:
        raise NumascapeError("latencies between cores need at least two cores that may be used")
    ns = np.full((len(cpus), len(cpus)), np.nan)
    pairs = list(combinations(range(len(cpus)), 2))
    for number, (i, j) in enumerate(pairs, 1):
        options = {"from": cpus[i], "to": cpus[j], "samples": _SAMPLES, "sample_ms": _SAMPLE_MS}
        (point,) = run_probe("cores", **options).points
        # Other programs only lengthen a sample.
        ns[i, j] = ns[j, i] = min(point.samples)
        done(number, len(pairs))
    return CoreLatencies(cpus, ns)


def stored_core_latencies(matrix: CoreMatrix) -> CoreLatencies:
    """The latencies in the description of a machine."""
    rows = [[math.nan if ns is None else ns for ns in row] for row in matrix.values]
    return CoreLatencies(matrix.cpus, np.array(rows, np.float64).reshape(len(rows), -1))


def with_core_latencies(machine: Machine, latencies: CoreLatencies, date: str) -> Machine:
    """The description with these latencies. Raises NumascapeError if they are not the machine's."""
    other = sorted(set(latencies.cpus) - set(machine.cpus))
    if other:
        raise NumascapeError(f"{machine.name} has no CPU {other[0]}: it is another machine")
    rows = tuple(
        tuple(None if math.isnan(ns) else float(f"{ns:.4g}") for ns in row)
        for row in latencies.ns.tolist()
    )
    source = Provenance("measured", "numascape machine cores", date)
    return replace(machine, core_latencies=CoreMatrix(latencies.cpus, rows, source))


def core_latencies_csv(latencies: CoreLatencies) -> str:
    """The matrix as CSV: a heading of CPUs, and a row for each, which begins with its CPU."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["cpu", *latencies.cpus])
    for cpu, row in zip(latencies.cpus, latencies.ns.tolist(), strict=True):
        writer.writerow([cpu, *("" if math.isnan(ns) else f"{ns:.4g}" for ns in row)])
    return text.getvalue()


def read_core_latencies(path: Path) -> CoreLatencies:
    """Read such a matrix. Raises NumascapeError."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise NumascapeError(f"{path} is too large for latencies between cores")
        rows = [row for row in csv.reader(path.read_text().splitlines()) if row]
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise NumascapeError(f"{path} is not a CSV file of latencies between cores") from error
    if not rows or rows[0][0].strip() != "cpu" or not 1 < len(rows) <= _MAX_CPUS + 1:
        raise NumascapeError(
            f"{path} has no heading cpu,0,1,... as `numascape machine cores` writes it"
        )
    if any(len(row) != len(rows) for row in rows):
        raise NumascapeError(f"{path}: the matrix of latencies is not a square")
    cpus = tuple(_cpu(path, word) for word in rows[0][1:])
    if len(set(cpus)) < len(cpus) or cpus != tuple(_cpu(path, row[0]) for row in rows[1:]):
        raise NumascapeError(f"{path}: rows and columns are not the same CPUs, each once")
    ns = np.array([[_ns(path, word) for word in row[1:]] for row in rows[1:]])
    return CoreLatencies(cpus, ns)


def _cpu(path: Path, word: str) -> int:
    if not word.strip().isdecimal() or len(word) > 9:
        raise NumascapeError(f"{path}: {word[:20]!r} is not the number of a CPU")
    return int(word)


def _ns(path: Path, word: str) -> float:
    if not word.strip():
        return math.nan
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise NumascapeError(f"{path}: {word[:20]!r} is not a latency in ns")
    return value
