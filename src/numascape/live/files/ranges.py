# SPDX-License-Identifier: Apache-2.0
"""A named range of a file, and reading headers with bounds."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import BinaryIO, Final

LONGEST_NAME: Final = 1 << 12
MAX_RANGES: Final = 1 << 18
# blk.12.attn_q.weight (GGUF); model.layers.12.mlp.down_proj.weight, transformer.h.12.attn.bias
_LAYER: Final = re.compile(r"(?:^|\.)(?:blk|blocks?|layers?|h)\.([0-9]{1,6})(?:\.|$)")


class DamagedHeaderError(Exception):
    """The header of a file violates the rules of its format."""


@dataclass(frozen=True)
class FileRange:
    """A range of bytes, end exclusive. `kind` is "tensor", "column" or "section".

    `layer` is that of a tensor, None if unknown.
    """

    start: int
    end: int
    name: str
    kind: str
    layer: int | None = None


def layer_of(name: str) -> int | None:
    """The layer in the name of a tensor; None if it names none."""
    match = _LAYER.search(name)
    return int(match[1]) if match else None


class Header:
    """Reads numbers from the start of a file; raises DamagedHeaderError at its end."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        self._left = limit
        self.position = 0

    def bytes(self, count: int) -> bytes:
        """The next bytes."""
        self._take(count)
        content = self._file.read(count)
        if len(content) < count:
            raise DamagedHeaderError
        return content

    def skip(self, count: int) -> None:
        """Skip the next bytes."""
        self._take(count)
        self._file.seek(count, 1)

    def number(self, layout: str) -> int:
        """The next number in the layout of struct: "<I", "<Q"."""
        (value,) = struct.unpack(layout, self.bytes(struct.calcsize(layout)))
        return int(value)

    def _take(self, count: int) -> None:
        if count < 0 or count > self._left:
            raise DamagedHeaderError
        self._left -= count
        self.position += count
