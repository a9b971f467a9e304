# SPDX-License-Identifier: Apache-2.0
"""The verdict on a job, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from numascape.findings.finding import Kind
from numascape.findings.wording import found_text
from numascape.jobs.findings import JobFinding
from numascape.jobs.job import AnalysedJob
from numascape.jobs.shared import SHARED_KIND, SharedMemory
from numascape.jobs.stakes import findings_to_do, share_at_stake
from numascape.quantities import percent


def job_conclusion(job: AnalysedJob, found: Sequence[JobFinding]) -> str:
    """How many findings have a fix, and what the first one is about; else that there is none."""
    to_do = findings_to_do(job, found)
    if not to_do:
        judged = bool(found) and all(one.kind is Kind.NO_PROBLEM for one in found)
        return "No NUMA problem found in any rank." if judged else "No rank has anything to fix."
    first = to_do[0]
    kind = SHARED_KIND if isinstance(first, SharedMemory) else first.kind.value
    return (
        f"{found_text(len(to_do), kind, first.name or 'the whole run')} "
        f"{percent(share_at_stake(job, first))} of the accesses of all ranks could become local."
    )
