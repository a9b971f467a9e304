# SPDX-License-Identifier: Apache-2.0
"""Tensors of a safetensors file: eight bytes of length, a JSON object, and the data."""

from __future__ import annotations

import json
import struct
from typing import BinaryIO, Final

from numascape.live.files.ranges import LONGEST_NAME, MAX_RANGES, FileRange, layer_of

# The bound of the format's own library.
_LARGEST_HEADER: Final = 100_000_000
_METADATA: Final = "__metadata__"


def safetensors_tensors(file: BinaryIO, size: int) -> tuple[str, list[FileRange]] | None:
    """The tensors; None if it is not a safetensors file."""
    start = file.read(9)
    if len(start) < 9 or start[8:] != b"{":
        return None
    (length,) = struct.unpack_from("<Q", start)
    if not 2 <= length <= min(_LARGEST_HEADER, size - 8):
        return None
    file.seek(8)
    try:
        content = json.loads(file.read(length))
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or len(content) > MAX_RANGES:
        return None
    found = [_tensor(name, value, 8 + length) for name, value in content.items()]
    return "safetensors", [item for item in found if item is not None]


def _tensor(name: str, value: object, data: int) -> FileRange | None:
    if name == _METADATA or not isinstance(value, dict) or len(name) > LONGEST_NAME:
        return None
    match value.get("data_offsets"):
        case [int() as start, int() as end] if 0 <= start < end < 1 << 62:
            return FileRange(data + start, data + end, name, "tensor", layer_of(name))
    return None
