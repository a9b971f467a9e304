# SPDX-License-Identifier: Apache-2.0
"""Columns of a Parquet file, by row group: parquet.thrift of Apache Parquet has the footer."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from numascape.live.files.ranges import (
    LONGEST_NAME,
    MAX_RANGES,
    DamagedHeaderError,
    FileRange,
)
from numascape.live.files.thrift import CompactReader

_MAGIC: Final = b"PAR1"
_END: Final = 8  # the footer's length, and the magic
_LARGEST_FOOTER: Final = 64 << 20
# Fields of FileMetaData, RowGroup, ColumnChunk, ColumnMetaData.
_ROW_GROUPS, _COLUMNS, _OTHER_FILE, _META = 4, 1, 1, 3
_PATH, _COMPRESSED, _DATA_PAGES, _DICTIONARY = 3, 7, 9, 11


def parquet_columns(file: BinaryIO, size: int) -> tuple[str, list[FileRange]] | None:
    """The column chunks; None if it is not a Parquet file."""
    if size < len(_MAGIC) + _END or file.read(4) != _MAGIC:
        return None
    file.seek(-_END, os.SEEK_END)
    length, magic = struct.unpack("<I4s", file.read(_END))
    if magic != _MAGIC or length > min(_LARGEST_FOOTER, size - _END - len(_MAGIC)):
        return None
    file.seek(-_END - length, os.SEEK_END)
    try:
        return "Parquet", list(_chunks(CompactReader(file.read(length)).structure()))
    except DamagedHeaderError:
        return "Parquet", []


def _chunks(footer: dict[int, Any]) -> Iterator[FileRange]:
    left = MAX_RANGES
    for number, group in enumerate(_structures(footer.get(_ROW_GROUPS))):
        for chunk in _structures(group.get(_COLUMNS)):
            left -= 1
            found = _chunk(chunk, number)
            if found is not None:
                yield found
            if left == 0:
                return


def _structures(value: Any) -> list[dict[int, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _chunk(chunk: dict[int, Any], group: int) -> FileRange | None:
    meta = chunk.get(_META)
    if not isinstance(meta, dict) or _OTHER_FILE in chunk:
        return None
    path, length, data = (meta.get(field) for field in (_PATH, _COMPRESSED, _DATA_PAGES))
    if not isinstance(path, list) or not isinstance(length, int) or not isinstance(data, int):
        return None
    name = ".".join(part.decode(errors="replace") for part in path if isinstance(part, bytes))
    dictionary = meta.get(_DICTIONARY)
    # Writers without a dictionary leave its offset out, or write 0.
    start = dictionary if isinstance(dictionary, int) and 0 < dictionary < data else data
    if not 0 < start < 1 << 62 or not 0 < length < 1 << 62:
        return None
    return FileRange(start, start + length, column_name(name[:LONGEST_NAME], group), "column")


def column_name(column: str, group: int) -> str:
    """The name of a column in one row group."""
    return f"{column}, row group {group}"


def whole_column(name: str) -> str:
    """The column of a name that column_name made."""
    return name.rpartition(", row group ")[0]
