# SPDX-License-Identifier: Apache-2.0
"""The merged tables of a job, stored in its folder, so that they need not be computed again.

merged.json has the checksums of the tables and of each part's trace.json. If a part has changed
since, the tables are not used.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl
from pydantic import TypeAdapter, ValidationError

from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.installation import installed_version
from numascape.jobs.engines import Engine
from numascape.jobs.job import AnalysedJob, analyse_job
from numascape.jobs.tables import SCHEMAS, JobTables, problem_of
from numascape.trace.files import check_bytes, check_memory, describe, write_parquet
from numascape.trace.info import FILE_NAME, JOB_FILE, TableFile
from numascape.trace.job import list_parts, read_job

MERGED_FILE: Final = "merged.json"
_LARGEST_FILE = 256 << 20


@dataclass(frozen=True)
class _Merged:
    """The content of merged.json; `parts` has the CRC-32 of each part's trace.json."""

    numascape: str
    job: int
    parts: dict[str, int]
    tables: dict[str, TableFile]


_MERGED = TypeAdapter(_Merged)


def open_job(
    folder: Path, engine: Engine | None = None, done: Callable[[int], None] = lambda _: None
) -> AnalysedJob:
    """The analysed job: from its merged tables if they are there and fit, else from its parts.

    Raises NumascapeError if it is not a job, or if no part can be used.
    """
    info = read_job(folder)
    tables = _read_merged(folder)
    if tables is not None:
        return AnalysedJob(folder, info, tables)
    return analyse_job(folder, engine, done)


def write_merged(job: AnalysedJob) -> None:
    """Write the merged tables into the folder of the job; NumascapeError if that fails."""
    folder = job.path
    try:
        files = {}
        for name, frame in job.tables.tables().items():
            path = folder / f"{name}.parquet"
            with replacing_file(path) as beside:
                write_parquet(frame, beside)
                files[name] = describe(beside, frame.height)
        merged = _Merged(installed_version(), *_checksums(folder), files)
        with replacing_file(folder / MERGED_FILE) as beside:
            beside.write_text(json.dumps(dataclasses.asdict(merged), indent=1) + "\n")
    except OSError as error:
        raise NumascapeError(f"cannot write in {folder}: {error.strerror or error}") from error


def _checksums(folder: Path) -> tuple[int, dict[str, int]]:
    """The checksums of job.json and of each part's trace.json, 0 if it has none."""
    parts, _ = list_parts(folder)
    return _checksum(folder / JOB_FILE), {
        part.name: _checksum(part / FILE_NAME) for part in parts.values()
    }


def _checksum(path: Path) -> int:
    try:
        return zlib.crc32(path.read_bytes())
    except OSError:
        return 0


def _read_merged(folder: Path) -> JobTables | None:
    """The stored tables; None if there are none, or if they do not fit the parts."""
    path = folder / MERGED_FILE
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            return None
        merged = _MERGED.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    current = _Merged(installed_version(), *_checksums(folder), merged.tables)
    if merged != current or merged.tables.keys() != SCHEMAS.keys():
        return None
    return JobTables.of(**{name: _read(folder, name, merged.tables[name]) for name in SCHEMAS})


def _read(folder: Path, name: str, expected: TableFile) -> pl.DataFrame:
    path = folder / f"{name}.parquet"
    again = f"merge the job again: numascape merge {folder}"
    try:
        check_bytes(path, expected)
        rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        check_memory(path, SCHEMAS[name], rows)
        frame = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise NumascapeError(f"{path} is damaged; {again}") from error
    if problem := problem_of(name, frame):
        raise NumascapeError(f"{path} is damaged: {problem}; {again}")
    return frame
