# SPDX-License-Identifier: Apache-2.0
"""A job as plain data, for --json."""

from __future__ import annotations

import dataclasses

from numascape.jobs.classes import classes_of
from numascape.jobs.findings import job_findings
from numascape.jobs.job import AnalysedJob
from numascape.jobs.shared import shared_memory


def job_document(job: AnalysedJob) -> dict[str, object]:
    """The job, its ranks, their classes, and the memory that they share."""
    return {
        "job": dataclasses.asdict(job.info),
        "ranks": job.ranks.to_dicts(),
        "left_out": [dataclasses.asdict(one) for one in job.left_out],
        "notes": job.notes,
        "classes": [dataclasses.asdict(one) for one in classes_of(job.tables)],
        "sums": job.tables.sums.to_dicts(),
        "shared": _shared(job),
    }


def findings_document(job: AnalysedJob) -> dict[str, object]:
    """The findings of the job, and what they were computed from."""
    return {
        "trace": str(job.path),
        "ranks": job.ranks.height,
        "left_out": [dataclasses.asdict(one) for one in job.left_out],
        "shared": _shared(job),
        "findings": [dataclasses.asdict(one) for one in job_findings(job.tables)],
    }


def _shared(job: AnalysedJob) -> list[dict[str, object]]:
    return [
        {
            **dataclasses.asdict(one),
            "serial": one.serial,
            "why": one.why,
            "advice": one.advice if one.serial else (),
        }
        for one in shared_memory(job.tables)
    ]
