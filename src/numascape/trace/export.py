# SPDX-License-Identifier: Apache-2.0
"""Writes a trace's tables as files for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import polars as pl

from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.trace.files import write_parquet
from numascape.trace.info import FILE_NAME, encode_info
from numascape.trace.schema import SCHEMAS
from numascape.trace.trace import Trace


def export_tables(
    trace: Trace, folder: Path, file_format: Literal["csv", "parquet"]
) -> Iterator[Path]:
    """Write every table as `folder`/TABLE.csv or TABLE.parquet, and trace.json next to them.

    Yields each file once it is complete. A CSV cell holds a list's numbers separated by spaces,
    and a call stack's frames by "; ". The folder is created; files of those names are replaced.
    Raises NumascapeError when the trace is damaged or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table in SCHEMAS:
            yield export_table(trace.table(table), folder / f"{table}.{file_format}")
        with replacing_file(folder / FILE_NAME) as beside:
            beside.write_bytes(encode_info(trace.info))
        yield folder / FILE_NAME
    except OSError as error:
        raise NumascapeError(f"cannot write in {folder}: {error.strerror or error}") from error


def flatten_lists(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with every list as text: numbers joined by a space, strings by "; "."""
    return frame.with_columns(
        pl.col(name).cast(pl.List(pl.String)).list.join("; " if dtype.inner == pl.String else " ")
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.List)
    )


def export_table(frame: pl.DataFrame, path: Path) -> Path:
    """Write a table to `path`, whose suffix is the format; OSError if that fails."""
    with replacing_file(path) as beside:
        if path.suffix == ".csv":
            flatten_lists(frame).write_csv(beside)
        else:
            write_parquet(frame, beside)
    return path
