# SPDX-License-Identifier: Apache-2.0
"""Reads and writes a table's Parquet file."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import polars as pl

from numascape.errors import NumascapeError
from numascape.trace.check import check_schema, check_values
from numascape.trace.format import FORMER_NAMES
from numascape.trace.info import TableFile
from numascape.trace.schema import ADDED, SCHEMAS

_CHUNK = 1 << 20
# The exceptions of Polars for an invalid Parquet file. Its panics derive only from BaseException.
_UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, MemoryError)


def table_path(folder: Path, table: str) -> Path:
    """The file of one table of the trace in `folder`, in an old trace under its former name."""
    path = folder / f"{table}.parquet"
    former = folder / f"{FORMER_NAMES.get(table, table)}.parquet"
    return former if former.exists() and not path.exists() else path


def describe(path: Path, rows: int) -> TableFile:
    """The size and the checksum of a file; reads the whole file."""
    size = 0
    checksum = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            checksum = zlib.crc32(chunk, checksum)
    return TableFile(rows=rows, bytes=size, crc32=checksum)


def read_table(folder: Path, table: str, expected: TableFile) -> pl.DataFrame:
    """Read and check one table on its own; NumascapeError says what is wrong with the file."""
    path = table_path(folder, table)
    if not path.is_file():
        raise NumascapeError(f"{folder} is damaged: it has no file {path.name}")
    try:
        check_bytes(path, expected)
        file = _with_added(pl.scan_parquet(path, glob=False), table)
        check_schema(table, file.collect_schema(), str(path))
        rows = file.select(pl.len()).collect().item()
        if rows != expected.rows:
            raise NumascapeError(
                f"{path} is damaged: it has {rows} rows, but trace.json says {expected.rows}"
            )
        check_memory(path, SCHEMAS[table], rows)
        frame = file.collect()
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror or error}") from error
    except _UNREADABLE as error:
        raise NumascapeError(f"{path} is damaged: {_one_line(error)}") from error
    check_values(table, frame, str(path))
    return frame


def write_table(folder: Path, table: str, frame: pl.DataFrame | pl.LazyFrame) -> TableFile:
    """Write one table, columns in the format's order and then any others."""
    path = table_path(folder, table)
    complete = _with_added(frame.lazy(), table)
    schema = complete.collect_schema()
    check_schema(table, schema, table)
    first = list(SCHEMAS[table])
    ordered = complete.select(first + [name for name in schema if name not in first])
    write_parquet(ordered, path)
    if isinstance(frame, pl.DataFrame):
        return describe(path, frame.height)
    rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    return describe(path, rows)


def write_parquet(frame: pl.DataFrame | pl.LazyFrame, path: Path) -> None:
    """Write a Parquet file; OSError if that fails."""
    try:
        frame.lazy().sink_parquet(path, compression="zstd")
    except pl.exceptions.ComputeError as error:
        # This is raised if the disk is full.
        raise OSError(None, _one_line(error), str(path)) from error


def _with_added(file: pl.LazyFrame, table: str) -> pl.LazyFrame:
    present = file.collect_schema()
    return file.with_columns(
        pl.lit(value, dtype=SCHEMAS[table][column]).alias(column)
        for column, value in ADDED.get(table, {}).items()
        if column not in present
    )


def check_bytes(path: Path, expected: TableFile) -> None:
    """Raise NumascapeError unless the file has the expected size and checksum."""
    size = path.stat().st_size
    if size != expected.bytes:
        raise NumascapeError(
            f"{path} is damaged: it has {size} bytes, but trace.json says {expected.bytes}"
        )
    if describe(path, expected.rows).crc32 != expected.crc32:
        raise NumascapeError(f"{path} is damaged: its checksum is not the one in trace.json")


def check_memory(path: Path, schema: pl.Schema, rows: int) -> None:
    """Refuse a table that does not fit into memory: a small file can claim any number of rows."""
    # Strings and lists need at least 16 bytes per row.
    width = sum(
        {pl.UInt32(): 4, pl.Int32(): 4, pl.UInt64(): 8, pl.Boolean(): 1}.get(column, 16)
        for column in schema.values()
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if rows * width > memory:
        raise NumascapeError(
            f"{path} says it has {rows} rows, which need {rows * width >> 30} GiB of memory; this "
            f"machine has {memory >> 30} GiB"
        )


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 160 else f"{text[:157]}..."
