# SPDX-License-Identifier: Apache-2.0
"""Decodes Thrift's compact protocol, without a schema: structures are dictionaries by field.

thrift-compact-protocol.md of Apache Thrift has the encoding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numascape.live.files.ranges import DamagedHeaderError

_DEEPEST: Final = 16
_LONGEST_NUMBER: Final = 10  # bytes of a 64-bit number
_STOP, _TRUE, _BYTE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 0, 1, 3, 8, 9, 10, 11, 12, 13
_DOUBLE: Final = 7
_WHOLE: Final = {4, 5, 6}  # of 16, 32, 64 bits


class CompactReader:
    """Reads one value after the other; raises DamagedHeaderError at the end of the bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._depth = 0

    def structure(self) -> dict[int, Any]:
        """The next structure: its values by the number of the field."""
        found: dict[int, Any] = self._deeper(self._structure)
        return found

    def _structure(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        field = 0
        while kind := (byte := self._byte()) & 15:
            field = field + (byte >> 4) if byte >> 4 else _signed(self._number())
            # A Boolean field has no value of its own: its type says whether it is true.
            found[field] = kind == _TRUE if kind <= _TRUE + 1 else self._value(kind)
        return found

    def _deeper(self, read: Callable[[], Any]) -> Any:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise DamagedHeaderError
        value = read()
        self._depth -= 1
        return value

    def _value(self, kind: int) -> Any:
        if kind in _WHOLE:
            return _signed(self._number())
        if kind == _BINARY:
            return self._bytes(self._number())
        if kind == _STRUCT:
            return self.structure()
        if kind in {_LIST, _SET}:
            return self._deeper(self._list)
        if kind == _MAP:
            return self._deeper(self._map)
        if kind <= _BYTE and kind != _STOP:
            return self._byte()
        if kind in {_DOUBLE, _UUID}:
            return self._bytes(8 if kind == _DOUBLE else 16)
        raise DamagedHeaderError

    def _list(self) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._number()
        # Each value has at least a byte, so the list cannot be longer than what is left.
        if count > len(self._content) - self._at:
            raise DamagedHeaderError
        return [self._value(head & 15) for _ in range(count)]

    def _map(self) -> dict[Any, Any]:
        count = self._number()
        if count == 0:
            return {}
        if count > len(self._content) - self._at:
            raise DamagedHeaderError
        kinds = self._byte()
        return {index: (self._value(kinds >> 4), self._value(kinds & 15)) for index in range(count)}

    def _number(self) -> int:
        value = 0
        for at in range(_LONGEST_NUMBER):
            byte = self._byte()
            value |= (byte & 127) << 7 * at
            if byte < 128:
                return value
        raise DamagedHeaderError

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._content):
            raise DamagedHeaderError
        self._at, start = end, self._at
        return self._content[start:end]


def _signed(number: int) -> int:
    """Zigzag: 0, -1, 1, -2, ..."""
    return (number >> 1) ^ -(number & 1)
