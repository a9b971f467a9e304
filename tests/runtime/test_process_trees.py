# SPDX-License-Identifier: Apache-2.0
"""Programs that are trees of processes: memory that they share is one structure of all of them."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import polars as pl
import pytest

from behaviour.servers import SERVERS, not_as_root
from numascape.findings import Kind, examine, findings_of
from numascape.trace import Trace

COMMAND = Path(sysconfig.get_path("scripts")) / "numascape"
LIMIT_S = 240

WORKERS = 3
ARRAY = """
import sys
from multiprocessing import get_context
from multiprocessing.shared_memory import SharedMemory
import numpy as np

def work(first):
    mine = SharedMemory(memory.name)
    slab = np.ndarray((3, 1 << 19), dtype=np.float64, buffer=mine.buf)[first]
    for _ in range(4):
        slab += 1.0
    del slab
    mine.close()

memory = SharedMemory(create=True, size=3 << 22)
array = np.ndarray((3, 1 << 19), dtype=np.float64, buffer=memory.buf)
array[:] = 0.0
context = get_context("fork")
workers = [context.Process(target=work, args=(i,)) for i in range(3)]
for one in workers: one.start()
for one in workers: one.join()
print(memory.name, array[2, 7] == 4.0)
del array
memory.close()
memory.unlink()
"""


def users(trace: Trace, structure: int) -> dict[int, int]:
    """The accesses of each process to the structure."""
    rows = (
        trace.accesses.filter(pl.col("structure") == structure)
        .join(trace.threads.select("thread", "process"), on="thread")
        .group_by("process")
        .agg((pl.col("reads") + pl.col("writes")).sum().alias("accesses"))
    )
    return dict(rows.iter_rows())


def test_an_array_in_shared_memory_of_python(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ARRAY)
    command = [
        str(COMMAND),
        "record",
        "-q",
        "-o",
        "run.numascape",
        "--",
        sys.executable,
        "program.py",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    name, right = done.stdout.split()
    assert right == "True"
    trace = Trace.read(tmp_path / "run.numascape")
    (array,) = trace.structures.filter(pl.col("name") == name).to_dicts()
    assert (array["process"], array["pages"], array["shared"]) == (0, 3 << 10, True)
    # The parent writes it; each worker reads and writes its third.
    accesses = users(trace, array["structure"])
    workers = [count for process, count in accesses.items() if process != 0 and count > 1000]
    assert len(workers) == WORKERS
    assert min(workers) == max(workers)
    touched = trace.first_touch.filter(pl.col("structure") == array["structure"])
    assert touched["thread"].unique().to_list() == [0]
    # Only all processes together show this: each worker alone touched all of its pages first.
    found = [one for one in findings_of(examine(trace)) if one.structure == array["structure"]]
    assert Kind.SERIAL_FIRST_TOUCH in [one.kind for one in found if one.to_do]


def test_postgresql_and_its_backends(tmp_path: Path) -> None:
    server = SERVERS["postgres"]
    postgres = Path(server.programs[0])
    if not postgres.exists():
        pytest.skip("postgresql-15 is not installed")
    where = ["-h", str(tmp_path), "-U", "tester"]
    command = [str(word) for word in server.prepare(tmp_path)]
    record = [str(COMMAND), "record", "-q", "-o", str(tmp_path / "run.numascape"), "--"]
    with subprocess.Popen([*not_as_root(), *record, *command]) as recorded:
        try:
            end = time.monotonic() + LIMIT_S
            while not server.is_ready(tmp_path):
                assert recorded.poll() is None
                assert time.monotonic() < end
                time.sleep(0.1)
            table = "create table t as select i as a from generate_series(1, 20000) i"
            _run(postgres.with_name("psql"), *where, "-q", "-d", "postgres", "-c", table)
            queries = tmp_path / "queries"
            queries.write_text("select sum(a) from t;\n")
            load = ("-n", "-c", "2", "-t", "5", "-f", queries)
            _run(postgres.with_name("pgbench"), *load, *where, "postgres")
        finally:
            stop = ("-D", tmp_path / "data", "stop", "-m", "fast")
            _run(*not_as_root(), postgres.with_name("pg_ctl"), *stop)
        assert recorded.wait(LIMIT_S) == 0
    trace = Trace.read(tmp_path / "run.numascape")
    # The memory that the postmaster made, with the 8 MiB of shared_buffers.
    mapped = trace.structures.filter(pl.col("name").str.starts_with("PGSharedMemoryCreate"))
    buffers = mapped.sort("size", descending=True).row(0, named=True)
    assert buffers["process"] == 0
    assert buffers["shared"]
    assert buffers["size"] > 8 << 20
    accesses = users(trace, buffers["structure"])
    # Two clients, and the processes that write in the background.
    assert sum(count > 1000 for count in accesses.values()) >= 3
    touched = trace.first_touch.filter(pl.col("structure") == buffers["structure"])
    assert not touched.select("instance", "page").is_duplicated().any()


def _run(*words: object) -> None:
    command = [str(word) for word in words]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
