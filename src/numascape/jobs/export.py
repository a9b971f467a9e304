# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of a job and of its ranks as files for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from numascape.errors import NumascapeError
from numascape.jobs.job import AnalysedJob
from numascape.trace import Trace
from numascape.trace.export import export_table, export_tables
from numascape.trace.job import part_folder


def export_job(
    job: AnalysedJob, folder: Path, file_format: Literal["csv", "parquet"]
) -> Iterator[Path]:
    """Write the sums of the ranks into `folder`, and the tables of each rank into rank=NUMBER.

    Yields each file once it is complete. Raises NumascapeError as `export_tables` does.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, frame in job.tables.tables().items():
            yield export_table(frame, folder / f"{name}.{file_format}")
    except OSError as error:
        raise NumascapeError(f"cannot write in {folder}: {error.strerror or error}") from error
    for rank in job.ranks["rank"]:
        trace = Trace.read(part_folder(job.path, rank))
        yield from export_tables(trace, part_folder(folder, rank), file_format)
