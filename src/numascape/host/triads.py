# SPDX-License-Identifier: Apache-2.0
"""Runs the vector triad in MPI processes or threads; see src/native/host/triad.cpp."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from numascape.errors import NumascapeError
from numascape.installation import installed_file

TriadPolicy = Literal["first-touch", "bind", "interleave"]
_SECONDS: Final = 3600
# By default, Open MPI refuses to run as root, or with more processes than cores. It also binds
# processes, but the program does this itself. These variables are for version 4, then 5. Other
# launchers ignore them.
_LAUNCHER: Final = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}


@dataclass(frozen=True)
class Worker:
    """One process or thread: its node, the MFlop/s of all in each sample, and its pages by node."""

    worker: int
    node: int
    mflops: tuple[float, ...]
    pages: dict[int, int]


@dataclass(frozen=True)
class Triad:
    """The result of all workers: MFlop/s of each sample, and the nodes of their pages."""

    mflops: tuple[float, ...]
    pages: dict[int, int]
    local_share: float


_WORKER: Final = TypeAdapter(Worker)


def mpi_launcher() -> str | None:
    """The path of mpirun, if there is one."""
    return shutil.which("mpirun")


def run_triad(
    size: int, nodes: list[int], policy: TriadPolicy, samples: int, workers: int, mpi: bool
) -> Triad:
    """Run the triad with `size` bytes; raises NumascapeError if it fails."""
    numbers = ",".join(map(str, nodes))
    command = [str(installed_file("_host/triad")), "--bytes", str(size), "--nodes", numbers]
    command += ["--policy", policy, "--samples", str(samples)]
    with tempfile.TemporaryDirectory(prefix="numascape-") as folder:
        if mpi and workers > 1:
            launcher = [mpi_launcher() or "mpirun", "-n", str(workers)]
            meeting = str(Path(folder) / "meeting")
            command = [*launcher, *command, "--ranks", str(workers), "--meeting", meeting]
        else:
            command += ["--threads", str(workers)]
        result = _run(command)
    lines = [line for line in result.splitlines() if line.startswith("{")]
    try:
        found = [_WORKER.validate_json(line) for line in lines]
    except ValidationError as error:
        raise NumascapeError("the triad's output is damaged: install Numascape again") from error
    if len(found) != workers:
        raise NumascapeError(f"only {len(found)} of the triad's {workers} workers answered")
    return summarised(found)


def _run(command: list[str]) -> str:
    try:
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, **_LAUNCHER},
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NumascapeError(f"the triad did not end within {_SECONDS} s") from error
    if result.returncode != 0:
        reason = " ".join(result.stderr.split()) or f"it ended with status {result.returncode}"
        hint = "" if command[0].endswith("triad") else " (without --mpi, it runs in threads)"
        raise NumascapeError(f"the triad failed{hint}: {reason[-400:]}")
    return result.stdout


def summarised(workers: list[Worker]) -> Triad:
    """Join the workers' results; the speed of a sample is that of its slowest worker."""
    pages: dict[int, int] = {}
    local = 0
    for worker in workers:
        local += worker.pages.get(worker.node, 0)
        for node, count in worker.pages.items():
            pages[node] = pages.get(node, 0) + count
    samples = zip(*(worker.mflops for worker in workers), strict=True)
    return Triad(
        tuple(min(sample) for sample in samples),
        dict(sorted(pages.items())),
        local / max(1, sum(pages.values())),
    )
