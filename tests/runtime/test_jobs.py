# SPDX-License-Identifier: Apache-2.0
"""Real jobs: ranks that Open MPI starts, and engines that read their parts."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import numascape
from numascape.balance.formats import write_graph
from numascape.balance.generators import mesh
from numascape.findings import Kind
from numascape.jobs.engines import dask_engine
from numascape.jobs.job import analyse_job
from numascape.jobs.stored_sums import read_stored
from numascape.jobs.tables import merge
from numascape.jobs.task import Task
from synthetic.job import write_job

SCRIPTS = Path(sysconfig.get_path("scripts"))
HALO = Path(__file__).parents[2] / "examples" / "halo" / "halo.c"
HYBRID = Path(__file__).parents[2] / "examples" / "hybrid" / "hybrid.c"
RANKS = 4
STARTS_S = 200  # a scheduler, or a worker


def run(*command: object, folder: Path, status: int | None = 0, **variables: str) -> str:
    """Run a command with this exit status (None: any); its output and errors."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **variables},
    )
    assert status in (None, done.returncode), done.stdout[-3000:]
    return done.stdout


def mpirun(*command: object, folder: Path, ranks: int = RANKS, status: int | None = None) -> str:
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed")
    options = ("--allow-run-as-root", "--oversubscribe", "-n", ranks)
    # A rank may end with another status without ending the others.
    survive = ("--mca", "orte_abort_on_non_zero_status", 0)
    return run("mpirun", *options, *survive, *command, folder=folder, status=status)


def record(*words: object, folder: Path, **options: int) -> str:
    return mpirun(SCRIPTS / "numascape", "record", *words, folder=folder, **options)


def opened(path: Path) -> numascape.Job:
    job = numascape.open(path)
    assert isinstance(job, numascape.Job)
    return job


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two programs: the example, and one without MPI that may end early."""
    made = tmp_path_factory.mktemp("jobs")
    if shutil.which("mpicc") is None:
        pytest.skip("mpicc is not installed")
    # Compiled for recording: only the code of the example is counted, which is fast.
    compiler = str(SCRIPTS / "numascape-cc")
    run("mpicc", "-O2", "-g", HALO, "-o", "halo", "-lm", folder=made, OMPI_CC=compiler)
    options = ("-O2", "-g", "-fopenmp", HYBRID, "-o", "hybrid", "-lm")
    run("mpicc", *options, folder=made, OMPI_CC=compiler)
    (made / "rank.c").write_text(
        "#include <stdlib.h>\n"
        "int main(void) {\n"
        '    int rank = atoi(getenv("OMPI_COMM_WORLD_RANK"));\n'
        "    long* field = malloc(1 << 20);\n"
        "    for (int i = 0; i < 1 << 17; i++) field[i] = rank;\n"
        '    if (rank == 2 && getenv("ABORT")) abort();\n'
        "    return field[77] != rank;\n"
        "}\n"
    )
    run("numascape-cc", "-O0", "-g", "rank.c", "-o", "rank", folder=made, PATH=_path())
    return made


def _path() -> str:
    return f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="module", params=["serial", "parallel"])
def halo(request: pytest.FixtureRequest, folder: Path) -> tuple[str, numascape.Job]:
    version = request.param
    out = record("-o", f"{version}.numascape", "--", "./halo", "-s", 5, version, folder=folder)
    assert "4 ranks" in out
    assert "conserved" in out
    assert out.count("numascape:") == 3  # only rank 0 says what happens
    return version, opened(folder / f"{version}.numascape")


def test_every_rank_has_its_part(halo: tuple[str, numascape.Job]) -> None:
    _, job = halo
    assert (job.info.launcher, job.info.size, job.left_out) == ("Open MPI", RANKS, [])
    assert job.ranks["rank"].to_list() == list(range(RANKS))
    assert job.ranks["pid"].n_unique() == RANKS
    assert job.ranks["exit_status"].to_list() == [0] * RANKS
    tasks = [Task(job.info, rank, job.path / f"rank={rank}") for rank in range(RANKS)]
    stored, others = read_stored(tasks)
    assert others == []
    assert stored.equals(merge(task() for task in tasks))


def test_the_window_is_one_structure_of_all_ranks(halo: tuple[str, numascape.Job]) -> None:
    version, job = halo
    (window,) = job.shared()
    assert window.ranks == tuple(range(RANKS))
    assert window.serial == (version == "serial")
    if version == "serial":
        # Rank 0 filled all slabs; other ranks use three of the four.
        assert (window.first_rank, window.place.function) == (0, "fill")
        assert window.first_share > 0.99
        assert 0.6 < window.foreign_share <= 0.75
    else:
        assert 0.2 < window.first_share < 0.3
        assert window.foreign_share < 0.02


def test_ranks_of_the_example_are_alike(halo: tuple[str, numascape.Job]) -> None:
    (only,) = halo[1].classes()
    assert only.ranks == tuple(range(RANKS))


def test_a_finding_of_all_hybrid_ranks_is_told_once(folder: Path) -> None:
    """MPI with OpenMP: one thread of each rank fills the memory that all its threads use."""
    command = ("./hybrid", "-n", 1 << 19, "-r", 4, "-t", 3, "serial")
    out = record("-o", "hybrid.numascape", "--", *command, folder=folder, ranks=2)
    assert "2 ranks of 3 threads" in out
    assert "right" in out
    job = opened(folder / "hybrid.numascape")
    assert all(threads >= 3 for threads in job.ranks["threads"])
    (only,) = job.classes()
    assert only.ranks == (0, 1)
    found = {one.name: one for one in job.findings() if one.to_do}
    for name in ("x", "y"):
        assert (found[name].kind, found[name].ranks) == (Kind.SERIAL_FIRST_TOUCH, (0, 1))


def test_a_rank_that_dies_leaves_the_others_whole(folder: Path) -> None:
    record("-o", "died.numascape", "--", "env", "ABORT=1", "./rank", folder=folder)
    job = opened(folder / "died.numascape")
    assert job.ranks["exit_status"].to_list() == [0, 0, 134, 0]
    assert job.left_out == []


def test_some_ranks_are_recorded_and_others_run(folder: Path) -> None:
    record("--ranks", "1,3", "-o", "died.numascape", "--", "./rank", folder=folder)
    job = opened(folder / "died.numascape")
    assert job.ranks["rank"].to_list() == [1, 3]
    assert job.left_out == []
    assert not (folder / "died.numascape" / "rank=0").exists()  # of the earlier run


def test_one_rank_writes_a_trace(folder: Path) -> None:
    record("-o", "one.numascape", "--", "./rank", folder=folder, ranks=1)
    assert isinstance(numascape.open(folder / "one.numascape"), numascape.OpenedTrace)


def test_a_refused_rank_is_one_line(folder: Path) -> None:
    (folder / "file").touch()
    out = record("-o", "file/x.numascape", "--", "./rank", folder=folder, ranks=2)
    errors = [line for line in out.splitlines() if line.startswith("numascape:")]
    assert errors == ["numascape: error: cannot write file/x.numascape: file is not a folder"] * 2


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_job(tmp_path_factory.mktemp("synthetic") / "run.numascape", 40, pages=8)


def test_mpi_gives_the_same_sums(synthetic: Path) -> None:
    pytest.importorskip("mpi4py")
    before = analyse_job(synthetic).tables
    program = ("-m", "mpi4py.futures", "-m", "numascape", "merge", "--mpi", synthetic)
    out = mpirun(sys.executable, *program, folder=synthetic.parent, ranks=3, status=0)
    assert out.count("stored the sums") == 1
    assert (synthetic / "merged.json").exists()
    job = opened(synthetic)
    assert job.sums.equals(before.sums)
    assert job.ranks.equals(before.ranks)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with tasks, and beside it their mapping by two groups in this process."""
    folder = tmp_path_factory.mktemp("groups")
    write_graph(folder / "tasks.json", replace(mesh(20, 16), memory=np.full(400, 1 << 20)))
    run(*by_groups(folder / "tasks.json", "here.csv"), folder=folder)
    return folder / "tasks.json"


def by_groups(tasks: Path, output: str, *words: object) -> list[object]:
    options = ("--machine", "numa16", "--groups", 2, "--memory-limit", "32M", "-o", output)
    return [sys.executable, *words, "-m", "numascape", "balance", tasks, *options]


def test_mpi_balances_groups(tasks: Path) -> None:
    pytest.importorskip("mpi4py")
    command = [*by_groups(tasks, "mpi.csv", "-m", "mpi4py.futures"), "--mpi"]
    out = mpirun(*command, folder=tasks.parent, ranks=3, status=0)
    assert out.count("wrote mpi.csv") == 1
    assert tasks.with_name("mpi.csv").read_text() == tasks.with_name("here.csv").read_text()


@contextmanager
def started(command: Sequence[object], folder: Path) -> Iterator[None]:
    with subprocess.Popen(
        [str(word) for word in command], cwd=folder, stderr=subprocess.DEVNULL
    ) as one:
        try:
            yield
        finally:
            one.terminate()
            one.wait(300)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def listens(host: str, port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex((host, port)) == 0


def wait_for(host: str, port: int) -> None:
    """Wait until a scheduler listens there; this takes long on a busy machine."""
    end = time.monotonic() + STARTS_S
    while not listens(host, port):
        assert time.monotonic() < end, "the scheduler did not start"
        time.sleep(0.2)


def wait_for_worker(address: str) -> None:
    """Wait until the scheduler has a worker; then it has also written its file."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(address, timeout=f"{STARTS_S}s", set_as_default=False) as client:
        client.wait_for_workers(1, timeout=STARTS_S)


def test_dask_gives_the_same_sums_and_groups(synthetic: Path, tasks: Path, tmp_path: Path) -> None:
    """A scheduler and a worker in processes of their own, as on a cluster."""
    pytest.importorskip("distributed")
    address = f"127.0.0.1:{free_port()}"
    host, port = address.split(":")
    python = (sys.executable, "-m")
    scheduler = (*python, "distributed.cli.dask_scheduler")
    worker = (*python, "distributed.cli.dask_worker", address, "--nthreads", 1, "--no-dashboard")
    file = tmp_path / "scheduler.json"
    options = ("--host", host, "--port", port, "--scheduler-file", file, "--no-dashboard")
    with started((*scheduler, *options), tmp_path):
        wait_for(host, int(port))  # an earlier worker tries again only after long pauses
        with started(worker, tmp_path):
            wait_for_worker(address)
            tables = analyse_job(synthetic, dask_engine(str(file))).tables
            run(*by_groups(tasks, "dask.csv"), "--dask", address, folder=tasks.parent)
    assert tasks.with_name("dask.csv").read_text() == tasks.with_name("here.csv").read_text()
    assert tables.equals(analyse_job(synthetic).tables)


def test_a_cluster_in_this_process_gives_the_same_sums(synthetic: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        tables = analyse_job(synthetic, client.get_executor).tables
    assert tables.equals(analyse_job(synthetic).tables)


def test_a_dask_scheduler_that_does_not_answer_is_one_line(synthetic: Path) -> None:
    pytest.importorskip("distributed")
    address = f"127.0.0.1:{free_port()}"
    command = (SCRIPTS / "numascape", "show", synthetic, "--dask", address)
    out = run(*command, folder=synthetic.parent, status=2)
    assert out.splitlines()[-1].startswith(
        f"numascape: error: no Dask scheduler with workers answers at {address}"
    )
