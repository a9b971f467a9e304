# SPDX-License-Identifier: Apache-2.0
"""Reads files of bounded size, and numbers from untrusted text."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import brotli
import numpy as np

from numascape.balance.graph import Floats
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from pydantic import ValidationError

# Ten million messages as text need a quarter of this.
LARGEST_FILE: Final = 1 << 30
_STEP: Final = 1 << 22
_LOOKED_AT: Final = 1 << 10
_GZIP: Final = b"\x1f\x8b"
_UNREAD: Final = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}


class NotBrotliError(NumascapeError):
    """The content is not one complete Brotli stream."""


def first_wrong_value(error: ValidationError) -> str:
    """The place of the first wrong value, and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"])) or "the file"
    return f"{place[:80]}: {first['msg'][:120]}"


def read_bytes(path: Path) -> bytes:
    """The file's content, decompressed if it is compressed, whatever the file's name.

    NumascapeError says what failed.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise NumascapeError(f"{path} is larger than {LARGEST_FILE >> 30} GiB")
        content = path.read_bytes()
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    return _plain(content, path)


def _plain(content: bytes, path: Path) -> bytes:
    if content.startswith(_GZIP):
        return _gunzipped(content, path)
    for start, name in _UNREAD.items():
        if content.startswith(start):
            raise NumascapeError(f"{path} is compressed by {name}: decompress it first")
    if path.suffix == ".br":
        return _decompressed(content, path)
    # A Brotli file begins with no fixed bytes. So a file that is not text may be Brotli.
    if _is_text(content[:_LOOKED_AT]):
        return content
    try:
        return _decompressed(content, path)
    except NotBrotliError:
        return content


def _is_text(start: bytes) -> bool:
    return all(byte >= 0x20 or byte in b"\t\n\r\f" for byte in start)


def _gunzipped(content: bytes, path: Path) -> bytes:
    """Like _decompressed, for gzip."""
    decompressor, parts, size = zlib.decompressobj(wbits=31), [], 0
    try:
        rest = content
        while not decompressor.eof and rest:
            parts.append(decompressor.decompress(rest, _STEP))
            rest = decompressor.unconsumed_tail
            size += len(parts[-1])
            if size > LARGEST_FILE:
                raise NumascapeError(f"{path} decompresses to more than {LARGEST_FILE >> 30} GiB")
    except zlib.error as error:
        raise NumascapeError(f"{path} is not a valid gzip file") from error
    if not decompressor.eof:
        raise NumascapeError(f"{path} is not a complete gzip file")
    return b"".join(parts)


def _decompressed(content: bytes, path: Path) -> bytes:
    """Decompress in steps and limit the output, because a few bytes may expand to gigabytes."""
    decompressor, parts, size = brotli.Decompressor(), [], 0
    try:
        part = decompressor.process(content, output_buffer_limit=_STEP)
        while part or not decompressor.can_accept_more_data():
            parts.append(part)
            size += len(part)
            if size > LARGEST_FILE:
                raise NumascapeError(f"{path} decompresses to more than {LARGEST_FILE >> 30} GiB")
            part = decompressor.process(b"", output_buffer_limit=_STEP)
    except brotli.error as error:
        raise NotBrotliError(f"{path} is not a valid Brotli file") from error
    if not decompressor.is_finished():
        raise NotBrotliError(f"{path} is not a complete Brotli file")
    return b"".join(parts)


def read_text(path: Path) -> str:
    """The file as text; bytes that are not UTF-8 are replaced."""
    return read_bytes(path).decode("utf-8", "replace")


def numbers(words: list[str], path: Path, line: int) -> Floats:
    """The words as finite numbers; NumascapeError names the line."""
    try:
        values = np.array(words, np.float64)
    except ValueError as error:
        raise NumascapeError(f"{path}, line {line}: a word is not a number") from error
    if not np.isfinite(values).all():
        raise NumascapeError(f"{path}, line {line}: a number is not finite")
    return values


def whole_numbers(words: list[str], path: Path, line: int) -> list[int]:
    """The words as integers of up to 15 digits; NumascapeError names the line."""
    try:
        if any(len(word) > 15 for word in words):
            raise NumascapeError(f"{path}, line {line}: a number is too long")
        return [int(word) for word in words]
    except ValueError as error:
        raise NumascapeError(f"{path}, line {line}: a word is not a whole number") from error
