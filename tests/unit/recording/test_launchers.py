# SPDX-License-Identifier: Apache-2.0
"""Each rank finds its number in the variables that its launcher sets."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.recording.job_place import place_of, records
from numascape.recording.launchers import Launch, find_launch

OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "PMIX_RANK": "3",
    "PMIX_NAMESPACE": "697171969",
    "OMPI_MCA_orte_hnp_uri": "697171968.0;tcp://192.0.2.2:55349",
}
SLURM = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "16",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_JOB_ID": "81",
    "SLURM_STEP_ID": "0",
}


@pytest.mark.parametrize(
    ("environment", "launcher"),
    [
        (OPEN_MPI, "Open MPI"),
        ({**SLURM, **OPEN_MPI}, "Open MPI"),
        ({"PMI_RANK": "3", "PMI_SIZE": "4"}, "PMI"),
        # mpiexec.hydra in an allocation: its proxies, not the ranks, are the tasks of Slurm.
        ({**SLURM, "SLURM_PROCID": "1", "PMI_RANK": "3", "PMI_SIZE": "4"}, "PMI"),
        ({"PALS_RANKID": "3", "PMI_SIZE": "4", "PALS_APID": "x"}, "PALS"),
        (
            {"FLUX_TASK_RANK": "3", "FLUX_JOB_SIZE": "4", "PMI_RANK": "3", "PMI_SIZE": "4"},
            "Flux",
        ),
        ({**SLURM, "PMIX_RANK": "3", "PMIX_NAMESPACE": "slurm.pmix.81.0"}, "PMIx"),
        (SLURM, "Slurm"),
    ],
)
def test_a_rank_is_found(environment: dict[str, str], launcher: str) -> None:
    launch = find_launch(environment)
    assert launch is not None
    assert (launch.launcher, launch.rank, launch.size) == (launcher, 3, 4)


def test_a_size_that_is_not_told_is_unknown() -> None:
    launch = find_launch({"PMIX_RANK": "2", "PMIX_NAMESPACE": "prterun-x-1@1"})
    assert launch is not None
    assert launch.size is None


def test_no_launcher_is_no_job() -> None:
    assert find_launch({"HOME": "/root"}) is None
    # A batch script has SLURM_PROCID, but is not a step of the job.
    batch = {name: value for name, value in SLURM.items() if name != "SLURM_STEP_ID"}
    assert find_launch(batch) is None


def test_ranks_of_a_run_have_one_identity_and_other_runs_another() -> None:
    def job(**changes: str) -> str:
        launch = find_launch({**OPEN_MPI, **changes})
        assert launch is not None
        return launch.job

    assert job() == job(OMPI_COMM_WORLD_RANK="1")
    assert job() != job(PMIX_NAMESPACE="697171970")
    # The number of a job comes from a process id, which another job may get later.
    assert job() != job(OMPI_MCA_orte_hnp_uri="697171968.0;tcp://192.0.2.2:40001")


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"PMI_RANK": "4", "PMI_SIZE": "4"}, "PMI_RANK is 4, but PMI_SIZE is 4"),
        ({"PMI_RANK": "-1", "PMI_SIZE": "4"}, "PMI_RANK is '-1', which is not a number of ranks"),
        ({"PMI_RANK": "0", "PMI_SIZE": "many"}, "PMI_SIZE is 'many'"),
        ({"PMI_RANK": "9" * 5000}, "is not a number of ranks"),
    ],
)
def test_contradicting_variables_are_refused(environment: dict[str, str], reason: str) -> None:
    with pytest.raises(NumascapeError, match=reason):
        find_launch(environment)


LAUNCH = Launch("PMI", 3, 4, "run")


def test_a_rank_writes_its_part() -> None:
    place = place_of(Path("run.numascape"), LAUNCH, None)
    assert place.part is not None
    assert (place.part.rank, place.part.size, place.part.job) == (3, 4, "run")
    assert place.written == Path("run.numascape/rank=3")
    # The shards of an unfinished recording are beside the job.
    assert place.beside == Path("run.numascape.rank=3")


def test_one_process_writes_what_it_always_wrote() -> None:
    for launch in (None, Launch("Slurm", 0, 1, "run")):
        place = place_of(Path("run.numascape"), launch, None)
        assert (place.written, place.part, place.leads) == (Path("run.numascape"), None, True)


def test_only_the_first_recorded_rank_leads() -> None:
    leading = [
        rank
        for rank in range(4)
        if place_of(Path("x"), Launch("PMI", rank, 4, "run"), "2-3,1").leads
    ]
    assert leading == [1]


def test_names_can_tell_processes_apart() -> None:
    place = place_of(Path("out/{host}-{rank}-{other}.numascape"), LAUNCH, None)
    assert place.written == Path(f"out/{platform.node()}-3-{{other}}.numascape")
    assert place.part is None
    mine = place_of(Path("{pid}.numascape"), None, None).written
    assert mine.stem.isdecimal()


def test_a_rank_in_the_name_needs_a_launcher() -> None:
    with pytest.raises(NumascapeError, match="no launcher has set a rank"):
        place_of(Path("{rank}.numascape"), None, None)


def test_some_ranks_are_recorded() -> None:
    chosen = [rank for rank in range(8) if records(Launch("PMI", rank, 8, ""), "0,3,5-6")]
    assert chosen == [0, 3, 5, 6]


@pytest.mark.parametrize(
    ("launch", "ranks", "reason"),
    [
        (None, "0", "--ranks needs a launcher"),
        (LAUNCH, "2-7", "the job has ranks 0 to 3 only"),
        (LAUNCH, "0;1", "is not a list of ranks"),
        (LAUNCH, "3-1", "count downwards: write 1-3"),
    ],
)
def test_ranks_that_make_no_sense_are_refused(
    launch: Launch | None, ranks: str, reason: str
) -> None:
    with pytest.raises(NumascapeError, match=reason):
        records(launch, ranks)
