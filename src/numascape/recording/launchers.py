# SPDX-License-Identifier: Apache-2.0
"""The place of this process in a job, from the environment variables that launchers set."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from numascape.errors import NumascapeError

# No launcher starts more. The limit also keeps int() from reading very long texts.
MAX_RANKS = 1 << 24


@dataclass(frozen=True)
class Launch:
    """The rank of this process, and the job's size (None if the launcher does not say).

    All ranks of a job, and no others, have the same `job`. It is empty if the launcher does not
    distinguish runs.
    """

    launcher: str
    rank: int
    size: int | None
    job: str


@dataclass(frozen=True)
class _Launcher:
    """The variables of one launcher or interface; of several sizes, the first that is set counts.

    `job` has variables that together differ between runs. `needs` must be set, too.
    """

    name: str
    rank: str
    size: tuple[str, ...]
    job: tuple[str, ...]
    needs: str = ""


# The order matters. Launchers also set the variables of interfaces: mpirun of Open MPI sets those
# of PMIx, Flux those of PMI. And launchers start each other: srun may start mpiexec.hydra, and the
# tasks of srun are then not the ranks. A batch script of Slurm has SLURM_PROCID, but no step.
_LAUNCHERS = (
    _Launcher(
        "Open MPI",
        "OMPI_COMM_WORLD_RANK",
        ("OMPI_COMM_WORLD_SIZE",),
        # The number of a job comes from the process id of mpirun; the address has its port.
        ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri"),
    ),
    _Launcher("PALS", "PALS_RANKID", ("PALS_SIZE", "PMI_SIZE"), ("PALS_APID",)),
    _Launcher("Flux", "FLUX_TASK_RANK", ("FLUX_JOB_SIZE",), ("FLUX_JOB_ID",)),
    _Launcher("PMI", "PMI_RANK", ("PMI_SIZE",), ("PMI_JOBID",)),
    _Launcher("PMIx", "PMIX_RANK", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), ("PMIX_NAMESPACE",)),
    _Launcher(
        "Slurm",
        "SLURM_PROCID",
        ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"),
        needs="SLURM_STEP_ID",
    ),
)


def find_launch(environment: Mapping[str, str]) -> Launch | None:
    """The place in the job of a process with these variables; None if no launcher set any.

    Raises NumascapeError if the variables contradict each other.
    """
    for known in _LAUNCHERS:
        if known.rank not in environment or (known.needs and known.needs not in environment):
            continue
        rank = _number(environment, known.rank)
        named = next((name for name in known.size if name in environment), None)
        size = None if named is None else _number(environment, named)
        if size is not None and rank >= size:
            raise NumascapeError(
                f"{known.rank} is {rank}, but {named} is {size}: start the program with its "
                "launcher, or unset both variables to record without a job"
            )
        return Launch(known.name, rank, size, _identity(environment, known.job))
    return None


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment[name]
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or int(text) > MAX_RANKS:
        raise NumascapeError(
            f"{name} is {text[:40]!r}, which is not a number of ranks: unset it to record without "
            "a job"
        )
    return int(text)


def _identity(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    values = [f"{name}={environment[name]}" for name in names if name in environment]
    if not values:
        return ""
    return hashlib.sha256("\0".join(values).encode(errors="surrogateescape")).hexdigest()[:16]
