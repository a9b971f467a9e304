# SPDX-License-Identifier: Apache-2.0
"""Tensors of a GGUF file, versions 2 and 3 (docs/gguf.md of the project ggml)."""

from __future__ import annotations

from typing import BinaryIO, Final

from numascape.live.files.ranges import (
    LONGEST_NAME,
    MAX_RANGES,
    DamagedHeaderError,
    FileRange,
    Header,
    layer_of,
)

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
# A vocabulary of a million words has about 20 MiB.
_LARGEST_HEADER: Final = 512 << 20
_STRING, _ARRAY, _U32 = 8, 9, 4
# The sizes of values by type; strings and arrays have none.
_SIZES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_MAX_VALUES: Final = 1 << 20
_MAX_STRINGS: Final = 1 << 24
_DEEPEST: Final = 4
_MAX_DIMENSIONS: Final = 8
_ALIGNMENT_KEY: Final = b"general.alignment"
_DEFAULT_ALIGNMENT: Final = 32


def gguf_tensors(file: BinaryIO, size: int) -> tuple[str, list[FileRange]] | None:
    """The tensors; None if it is not a GGUF file. A tensor ends where the next one begins."""
    if file.read(len(_MAGIC)) != _MAGIC:
        return None
    file.seek(0)
    try:
        return "GGUF", _tensors(Header(file, min(size, _LARGEST_HEADER)), size)
    except DamagedHeaderError:
        return "GGUF", []


def _tensors(header: Header, size: int) -> list[FileRange]:
    header.skip(len(_MAGIC))
    if header.number("<I") not in _VERSIONS:
        raise DamagedHeaderError
    tensors, values = header.number("<Q"), header.number("<Q")
    if tensors > MAX_RANGES or values > _MAX_VALUES:
        raise DamagedHeaderError
    alignment = _DEFAULT_ALIGNMENT
    for _ in range(values):
        key, kind = header.bytes(_length(header)), header.number("<I")
        if key == _ALIGNMENT_KEY and kind == _U32:
            alignment = header.number("<I")
        else:
            _skip_value(header, kind, 0)
    found = [_tensor(header) for _ in range(tensors)]
    if not 0 < alignment <= 1 << 30:
        raise DamagedHeaderError
    data = -(-header.position // alignment) * alignment
    found.sort()
    # A file may have no tensors; then there is no end either.
    ends = [*(start for start, _ in found), size - data][1:]
    return [
        FileRange(data + start, data + end, name, "tensor", layer_of(name))
        for (start, name), end in zip(found, ends, strict=True)
    ]


def _tensor(header: Header) -> tuple[int, str]:
    length = _length(header)
    if length > LONGEST_NAME:
        raise DamagedHeaderError
    name = header.bytes(length).decode(errors="replace")
    dimensions = header.number("<I")
    if dimensions > _MAX_DIMENSIONS:
        raise DamagedHeaderError
    header.skip(8 * dimensions + 4)  # the type
    return header.number("<Q"), name


def _length(header: Header) -> int:
    return header.number("<Q")


def _skip_value(header: Header, kind: int, depth: int) -> None:
    if kind in _SIZES:
        header.skip(_SIZES[kind])
    elif kind == _STRING:
        header.skip(_length(header))
    elif kind == _ARRAY and depth < _DEEPEST:
        inner, count = header.number("<I"), header.number("<Q")
        if inner in _SIZES:
            header.skip(_SIZES[inner] * count)
            return
        if count > _MAX_STRINGS:
            raise DamagedHeaderError
        for _ in range(count):
            _skip_value(header, inner, depth + 1)
    else:
        raise DamagedHeaderError
