# SPDX-License-Identifier: Apache-2.0
"""Jobs that the real srun starts: each rank writes its part, and a later job replaces them."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

import numascape
from runtime.one_node_slurm import Slurm, missing, one_node_slurm

SCRIPTS = Path(sysconfig.get_path("scripts"))
RANKS = 4
# Rank 2 fails if it is asked to; all others go on.
PROGRAM = """
#include <stdlib.h>
int main(int count, char** words) {
    int rank = atoi(getenv("SLURM_PROCID"));
    long* field = malloc(1 << 20);
    for (int i = 0; i < 1 << 17; i++) field[i] = rank;
    if (field[77] != rank) return 1;
    return rank == 2 ? atoi(words[count - 1]) : 0;
}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    if absent := missing():
        pytest.skip(f"needs {', '.join(absent)} (packages slurm-wlm and munge)")
    with one_node_slurm(tmp_path_factory.mktemp("slurm")) as slurm:
        yield slurm


@pytest.fixture(scope="module")
def program(cluster: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "rank.c").write_text(PROGRAM)
    rank = folder / "rank"
    cluster.run(str(SCRIPTS / "numascape-cc"), "-g", f"{rank}.c", "-o", str(rank))
    return rank


def recorded(cluster: Slurm, program: Path, *options: str, status: int = 0) -> numascape.Job:
    """Start the ranks, of which the third ends with `status`."""
    path = program.with_name("run.numascape")
    ranks = ("srun", "--overcommit", "-n", str(RANKS), "--no-kill", "--kill-on-bad-exit=0")
    record = (str(SCRIPTS / "numascape"), "record", *options, "-o", str(path), "--")
    printed = cluster.run(*ranks, *record, str(program), str(status), status=status)
    assert printed.count("when all ranks have ended") == 1  # only one rank says what happens
    job = numascape.open(path)
    assert isinstance(job, numascape.Job)
    return job


def test_each_rank_that_srun_starts_has_its_part(cluster: Slurm, program: Path) -> None:
    job = recorded(cluster, program)
    assert (job.info.launcher, job.info.size, job.left_out) == ("Slurm", RANKS, [])
    assert job.ranks["rank"].to_list() == list(range(RANKS))
    assert job.ranks["pid"].n_unique() == RANKS
    assert job.sums.filter(name="field")["rank"].to_list() == list(range(RANKS))
    # The next step of a job, and the next job, are other runs with other identities.
    again = recorded(cluster, program, "--ranks", "1-2", status=3)
    assert again.info.job != job.info.job
    assert again.ranks["rank"].to_list() == [1, 2]
    assert again.ranks["exit_status"].to_list() == [0, 3]
    assert again.left_out == []
    names = sorted(entry.name for entry in again.path.iterdir())
    assert names == ["job.json", "rank=1", "rank=2"]
