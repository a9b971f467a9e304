# SPDX-License-Identifier: Apache-2.0
"""The work for one rank: what an engine sends to a worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from numascape.jobs.part import sum_up
from numascape.jobs.tables import JobTables
from numascape.trace.job import JobInfo


@dataclass(frozen=True)
class Task:
    """Sums up one part, in any process that can read its folder."""

    job: JobInfo
    rank: int
    folder: Path

    def __call__(self) -> JobTables:
        """The tables of the part."""
        return sum_up(self.job, self.rank, self.folder)

    def left_out(self, reason: str) -> JobTables:
        """The tables without the part."""
        return JobTables.of(left_out=[(self.rank, self.folder.name, reason)])
