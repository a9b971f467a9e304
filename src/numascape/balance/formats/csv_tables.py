# SPDX-License-Identifier: Apache-2.0
"""CSV: tables of tasks and messages in a folder, and communication matrices."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from numascape.balance.formats.bounded import numbers, read_text
from numascape.balance.formats.task_document import graph_of_columns
from numascape.balance.generators import blocks
from numascape.balance.graph import Floats, TaskGraph, task_graph
from numascape.errors import NumascapeError

_TASKS: Final = ("load", "core", "fixed", "migrated_bytes", "memory")
_MESSAGES: Final = ("sender", "receiver", "bytes", "count")
_WHOLE: Final = {
    "core": (1 << 32) - 1,
    "fixed": 1,
    "sender": (1 << 32) - 1,
    "receiver": (1 << 32) - 1,
}
"""The largest value of each column of whole numbers."""
_SEPARATOR: Final = re.compile(r"\s*[,;]\s*|\s+")
_LARGEST_MATRIX: Final = 1 << 14
"""Maximum number of rows, because a matrix is dense."""


def read_csv_folder(path: Path, cores: int) -> TaskGraph:
    """Read the tasks in tasks.csv and the messages in messages.csv, if any; both have headings.

    tasks.csv has a row per task: load, and optionally core, fixed, migrated_bytes, memory.
    messages.csv has a row per message: sender, receiver, and optionally bytes, count.
    """
    tasks = _table(path / "tasks.csv", _TASKS, "load")
    messages: dict[str, list[float] | None] = dict.fromkeys(_MESSAGES)
    if (path / "messages.csv").exists():
        messages = _table(path / "messages.csv", _MESSAGES, "sender")
        if messages["receiver"] is None:
            raise NumascapeError(f"{path / 'messages.csv'} has no column receiver")
    return graph_of_columns(path, cores, tasks, messages)


def _table(path: Path, columns: tuple[str, ...], needed: str) -> dict[str, list[float] | None]:
    rows = csv.reader(io.StringIO(read_text(path)))
    try:
        heading = [name.strip() for name in next(rows, [])]
        if needed not in heading:
            raise NumascapeError(f"{path} has no column {needed}")
        for name in columns:
            if heading.count(name) > 1:
                raise NumascapeError(f"{path} has {heading.count(name)} columns named {name}")
        cells, lines = [], []
        for row in rows:
            if not row:
                continue
            if len(row) != len(heading):
                raise NumascapeError(
                    f"{path}, line {rows.line_num}: the line has {len(row)} cells, but there are "
                    f"{len(heading)} headings"
                )
            cells.append(row)
            lines.append(rows.line_num)
    except csv.Error as error:
        raise NumascapeError(f"{path}, line {rows.line_num}: {error}") from error
    found: dict[str, list[float] | None] = {}
    for name in columns:
        if name not in heading:
            found[name] = None
            continue
        place = heading.index(name)
        values = numbers([row[place] for row in cells], path, rows.line_num)
        if name in _WHOLE:
            _check_whole(name, values, path, lines)
        found[name] = values.tolist()
    return found


def _check_whole(name: str, values: Floats, path: Path, lines: Sequence[int]) -> None:
    largest = _WHOLE[name]
    wrong = np.nonzero((values != np.floor(values)) | (values < 0) | (values > largest))[0]
    if len(wrong):
        raise NumascapeError(
            f"{path}, line {lines[wrong[0]]}: {name} {values[wrong[0]]:g} is not a whole number "
            f"from 0 to {largest}"
        )


def read_matrix(path: Path, cores: int) -> TaskGraph:
    """A square matrix of bytes, row = sender, separated by commas, semicolons or blanks.

    Each load is 1, because such matrices do not contain loads.
    """
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        entries = line.strip().rstrip(",;")
        if entries and not line.startswith("#"):
            words = _SEPARATOR.split(entries)
            if "" in words:
                raise NumascapeError(f"{path}, line {number}: an entry of the matrix is empty")
            rows.append(numbers(words, path, number))
            if len(rows) > _LARGEST_MATRIX or len(rows[-1]) != len(rows[0]):
                raise NumascapeError(f"{path}, line {number}: the matrix is not a square of up to "
                                     f"{_LARGEST_MATRIX} rows")  # fmt: skip
    if not rows or len(rows) != len(rows[0]):
        raise NumascapeError(f"{path}: the matrix has {len(rows)} rows, but must be square")
    matrix = np.stack(rows)
    if (matrix < 0).any():
        raise NumascapeError(f"{path}: the matrix has a negative entry")
    sender, receiver = np.nonzero(matrix)
    return task_graph(
        np.ones(len(matrix)), blocks(len(matrix), cores), sender, receiver,
        bytes=matrix[sender, receiver],
    )  # fmt: skip
