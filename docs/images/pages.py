# SPDX-License-Identifier: Apache-2.0
"""The traces and pages that render.py photographs: of the examples, and of each verb with a page.

All are made by the commands that a user gives, in the folder that the caller names.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "build"
NUMASCAPE = Path(sysconfig.get_path("scripts")) / "numascape"
SERIAL = ("seismic", "serial", "-t", "16")
# Four nodes of eight cores.
FOUR_NODES = "numa32"
# Open MPI does not start as root, as in a container, without these.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def trace_of(run: tuple[str, ...], folder: Path, options: tuple[str, ...] = ()) -> Path:
    """The trace of the run; each run is recorded only once."""
    trace = folder / f"{'-'.join((*run, *options))}.numascape"
    if trace.exists():
        return trace
    command = [NUMASCAPE, "record", "-q", *options, "-o", trace, "--", *run]
    subprocess.run(command, check=True, cwd=folder, env={"PATH": str(EXAMPLES)})
    return trace


def prediction_page(folder: Path) -> Path:
    """The policies of the serial run."""
    file = folder / "policies.html"
    trace = trace_of(SERIAL, folder)
    subprocess.run([NUMASCAPE, "predict", trace, "-m", FOUR_NODES, "-o", file], check=True)
    return file


def job_page(folder: Path) -> Path:
    """A job of four ranks that share a window."""
    trace, file = folder / "halo.numascape", folder / "halo.html"
    ranks = ["mpirun", "--oversubscribe", "-n", "4", NUMASCAPE, "record", "-q", "-o", trace]
    command = [*ranks, "--", EXAMPLES / "halo", "serial"]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, **AS_ROOT})
    subprocess.run([NUMASCAPE, "report", "-q", trace, "-o", file], check=True)
    return file


def machine_page(folder: Path) -> Path:
    """A published machine of four nodes, with factors between them."""
    file = folder / "machine.html"
    subprocess.run([NUMASCAPE, "machine", "show", "epyc-9354p-nps4", "-o", file], check=True)
    return file


def experiment_page(folder: Path) -> Path:
    """The page cache of this machine, with small files, so that it takes a few seconds."""
    what = ["--sizes", "0,32M,64M,128M", "--fill", "0.02", "--ways", "first touch,swept"]
    command = [NUMASCAPE, "host", "experiment", "-q", *what, "--folder", folder]
    subprocess.run([*command, "-o", folder / "cache"], check=True)
    return folder / "cache.html"


def pages_page(folder: Path) -> Path:
    """The memory of two examples that run."""
    words = [EXAMPLES / "seismic", "-s", "1000000", "-t", "4", "serial"]
    running = [subprocess.Popen(words), subprocess.Popen([*words, "-n", "200"])]
    try:
        time.sleep(2)
        file = folder / "pages.html"
        pids = ",".join(str(process.pid) for process in running)
        subprocess.run([NUMASCAPE, "pages", "-p", pids, "-o", file], check=True)
    finally:
        for process in running:
            process.kill()
            process.wait()
    return file


VIEWS = {
    "prediction": prediction_page,
    "job": job_page,
    "machine": machine_page,
    "experiment": experiment_page,
    "pages": pages_page,
}
"""The pages of other verbs, each in light and dark."""
