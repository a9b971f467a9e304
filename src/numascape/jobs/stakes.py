# SPDX-License-Identifier: Apache-2.0
"""Orders what could be gained in a job: findings of ranks, and of the memory that they share."""

from __future__ import annotations

from collections.abc import Sequence

from numascape.jobs.findings import JobFinding
from numascape.jobs.job import AnalysedJob
from numascape.jobs.shared import SharedMemory, shared_memory
from numascape.quantities import ranges_text


def findings_to_do(
    job: AnalysedJob, found: Sequence[JobFinding]
) -> list[SharedMemory | JobFinding]:
    """The findings of `found` and the shared memory with a fix, by what could become local."""
    shared = [one for one in shared_memory(job.tables) if one.serial]
    # Sorting keeps the order of equal ones: shared memory first.
    both: list[SharedMemory | JobFinding] = [*shared, *(one for one in found if one.to_do)]
    return sorted(both, key=lambda one: -share_at_stake(job, one))


def share_at_stake(job: AnalysedJob, one: SharedMemory | JobFinding) -> float:
    """The part of the accesses of all ranks that could become local."""
    if isinstance(one, SharedMemory):
        return one.foreign_share * one.accesses / max(1, job.accesses)
    return one.share


def ranks_alone(job: AnalysedJob, one: JobFinding) -> str:
    """The ranks that have a finding without a fix. It does not know the memory that ranks share."""
    if len(one.ranks) == job.ranks.height:
        return "Each rank on its own"
    return ranks_with(job, one)


def ranks_with(job: AnalysedJob, one: JobFinding) -> str:
    """The ranks that have the finding: `In 7 of 8 ranks (ranks 1-7)`."""
    count, every = len(one.ranks), job.ranks.height
    if count == every:
        return f"In all {every} ranks"
    return f"In {count} of {every} ranks ({ranges_text(one.ranks, 'rank')})"
