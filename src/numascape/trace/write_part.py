# SPDX-License-Identifier: Apache-2.0
"""Writes a rank's part into the folder of its job, while other ranks write theirs.

Nothing is locked. Each rank replaces only its own part. Several ranks may do all other steps
without harm: each makes the folder, removes the files of a trace of one process, and replaces
job.json by the same text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.trace.check_target import remove_part
from numascape.trace.files import table_path
from numascape.trace.info import FILE_NAME, JOB_FILE, JobPart, TraceInfo
from numascape.trace.job import (
    JobInfo,
    encode_job,
    first_recorded,
    list_parts,
    parse_ranks,
    part_folder,
)
from numascape.trace.schema import SCHEMAS
from numascape.trace.write import write_trace


def write_part(
    job: Path,
    part: JobPart,
    tables: Mapping[str, pl.DataFrame | pl.LazyFrame],
    info: TraceInfo,
) -> TraceInfo:
    """Write the part of a rank, complete or not at all; return what it says of itself.

    A trace of one process with the name of the job is replaced. Raises NumascapeError if it cannot
    be written.
    """
    about = JobInfo(part.job, part.launcher, part.size, part.recorded)
    folder = part_folder(job, part.rank)
    try:
        job.mkdir(exist_ok=True)
        written = write_trace(folder, tables, dataclasses.replace(info, part=part))
        for name in (FILE_NAME, *(table_path(job, table).name for table in SCHEMAS)):
            (job / name).unlink(missing_ok=True)
        with replacing_file(job / JOB_FILE) as beside:
            beside.write_bytes(encode_job(about))
        if part.rank == first_recorded(part.recorded):
            _remove_others(job, about)
    except OSError as error:
        raise NumascapeError(f"cannot write {folder}: {error.strerror or error}") from error
    return written


def _remove_others(job: Path, about: JobInfo) -> None:
    """Remove the parts of an earlier run for which this run has no rank, or none recorded."""
    recorded = parse_ranks(about.recorded) if about.recorded else None
    for rank, folder in list_parts(job)[0].items():
        beyond = about.size is not None and rank >= about.size
        if beyond or (recorded is not None and not any(rank in ranks for ranks in recorded)):
            remove_part(folder)
