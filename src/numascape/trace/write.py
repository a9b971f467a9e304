# SPDX-License-Identifier: Apache-2.0
"""Writes a trace, complete or not at all."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from numascape.atomic import replacing_folder
from numascape.errors import NumascapeError
from numascape.trace.check_target import check_replaceable
from numascape.trace.files import write_table
from numascape.trace.info import FILE_NAME, TraceInfo, encode_info
from numascape.trace.schema import OPTIONAL, SCHEMAS


def write_trace(
    path: str | os.PathLike[str],
    tables: Mapping[str, pl.DataFrame | pl.LazyFrame],
    info: TraceInfo,
) -> TraceInfo:
    """Write the trace `path`, and return what it says of itself; replaces a trace with this name.

    `tables` has all tables of trace/schema.py, except maybe the optional ones. Lazy frames are
    streamed to disk, so they may be larger than memory. The folder gets its name only when it is
    complete. Raises NumascapeError if a column is missing or has another type, if `path` exists and
    is neither a trace nor a job, and if it cannot be written.
    """
    target = Path(path)
    check_replaceable(target)
    if missing := SCHEMAS.keys() - OPTIONAL - tables.keys():
        raise NumascapeError(f"cannot write {target}: the table {min(missing)} is missing")
    try:
        with replacing_folder(target) as folder:
            files = {
                name: write_table(folder, name, tables[name]) for name in SCHEMAS if name in tables
            }
            complete = dataclasses.replace(info, tables=files)
            (folder / FILE_NAME).write_bytes(encode_info(complete))
    except OSError as error:
        raise NumascapeError(f"cannot write {target}: {error.strerror or error}") from error
    return complete
