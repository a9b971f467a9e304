# SPDX-License-Identifier: Apache-2.0
"""The sums of one rank, stored in its part when it is recorded.

So merging a job reads trace.json and sums.json of each rank, and none of its tables. sums.json has
the tables of jobs/tables.py as columns, the version that computed them, and the checksum of
trace.json. If any of this does not fit, the sums are computed again from the part: they are never a
reason to fail.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.installation import installed_version
from numascape.jobs.part import sum_up
from numascape.jobs.tables import SCHEMAS, JobTables, merge, problem_of
from numascape.jobs.task import Task
from numascape.trace.files import table_path
from numascape.trace.info import FILE_NAME
from numascape.trace.job import RankPart, part_folder, read_job, read_part
from numascape.trace.schema import SCHEMAS as TRACE_TABLES

SUMS_FILE: Final = "sums.json"
_TABLES: Final = ("ranks", "sums", "findings", "shared")
_LARGEST_FILE: Final = 64 << 20
_TOGETHER = 256
"""The number of parts whose rows become one table. So few tables are made, because making a table
costs more than its rows."""

ColumnLists = Mapping[str, Mapping[str, Sequence[Any]]]
"""The columns of each table."""


def store_sums(job: Path, rank: int) -> None:
    """Sum up the part of a rank, and store the sums in it.

    If that fails, the part has no sums. They are then computed when the job is read.
    """
    folder = part_folder(job, rank)
    with suppress(NumascapeError, OSError, MemoryError, KeyboardInterrupt):
        tables = sum_up(read_job(job), rank, folder)
        if tables.left_out.is_empty():
            document = {
                "numascape": installed_version(),
                "trace": _checksum(folder),
                **{name: tables.tables()[name].to_dict(as_series=False) for name in _TABLES},
            }
            with replacing_file(folder / SUMS_FILE) as beside:
                beside.write_text(json.dumps(document) + "\n")


def read_columns(part: RankPart) -> ColumnLists | None:
    """The stored sums of a part; None if it has none, or if they may not fit its tables."""
    path = part.folder / SUMS_FILE
    try:
        if path.stat().st_size > _LARGEST_FILE or not _has_tables(part):
            return None
        document = json.loads(path.read_bytes(), parse_constant=_refuse)
        if document["numascape"] != _version() or document["trace"] != _checksum(part.folder):
            return None
        columns = {name: document[name] for name in _TABLES}
        ranks = [rank for one in columns.values() for rank in one["rank"]]
        return columns if set(ranks) == {part.rank} else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def read_stored(
    tasks: Sequence[Task], done: Callable[[int], None] = lambda _: None
) -> tuple[JobTables, list[Task]]:
    """The stored sums of the parts that have them, and the tasks of the others.

    `done` is called with the number of finished parts.
    """
    results: list[JobTables] = []
    others: list[Task] = []
    for first in range(0, len(tasks), _TOGETHER):
        batch = tasks[first : first + _TOGETHER]
        columns = {task: found for task in batch if (found := _columns_of(task)) is not None}
        together = tables_of(columns.values())
        alone = {} if together else {task: tables_of([one]) for task, one in columns.items()}
        usable = [together] if together else [one for one in alone.values() if one]
        others += [task for task in batch if task not in columns or (alone and not alone[task])]
        results += usable
        done(sum(one.ranks.height for one in usable))
    return merge(results), others


def _columns_of(task: Task) -> ColumnLists | None:
    try:
        return read_columns(read_part(task.job, task.rank, task.folder))
    except NumascapeError:
        return None


def tables_of(parts: Iterable[ColumnLists]) -> JobTables | None:
    """The tables of several parts; None if a column is missing or has values of another type."""
    try:
        joined: dict[str, dict[str, list[Any]]] = {
            name: {column: [] for column in SCHEMAS[name]} for name in _TABLES
        }
        for part in parts:
            for name, columns in joined.items():
                if len({len(part[name][column]) for column in columns}) != 1:
                    return None
                for column, values in columns.items():
                    values.extend(part[name][column])
        frames = {
            name: pl.DataFrame(columns, schema=SCHEMAS[name], strict=True)
            for name, columns in joined.items()
        }
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        return None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if any(problem_of(name, frame) for name, frame in frames.items()):
        return None
    return JobTables.of(**frames)


def _has_tables(part: RankPart) -> bool:
    """Whether the tables' files have the sizes in trace.json; their content is not read."""
    return all(
        table_path(part.folder, name).stat().st_size == file.bytes
        for name, file in part.info.tables.items()
        if name in TRACE_TABLES
    )


def _checksum(folder: Path) -> int:
    return zlib.crc32((folder / FILE_NAME).read_bytes())


@cache
def _version() -> str:
    return installed_version()


def _refuse(constant: str) -> float:
    raise ValueError(constant)
