# SPDX-License-Identifier: Apache-2.0
"""Charm++'s dumps of load balancing data, `+LBDump`: the layouts of Charm++ 6.x and of 7 and 8.

16 bytes   magic 10 ea bd f9, format version, sizes of types, byte order
int        LB version
int        processors
7/8: int migratable, uint64 processors     6.x: int processors, objects, migratable,
communications
per processor: double total, idle, background, speed; bool available; int objects, int pe
7/8: uint64 objects
per object     (6.x: int, uint64 first) int manager, int handle, uint64 id, int index,
double wall time, bool migratable, bool asynchronous, uint16 PUP size
7/8: uint64 n, n ints: from processor    6.x: from and to processor of each object
7/8: uint64 communications
per communication: int source processor, int manager, uint64 id, int8 kind,
kind 1: int pe; 2: int manager, uint64 id, int pe; 3: int n, n x (int, uint64);
int messages, int bytes
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from numascape.balance.formats.bounded import read_bytes
from numascape.balance.graph import TaskGraph, task_graph
from numascape.errors import NumascapeError

MAGIC: Final = bytes.fromhex("10eabdf9")
_HEADER: Final = 16
_TO_PROCESSOR, _TO_OBJECT, _TO_OBJECTS = 1, 2, 3

Identity = tuple[int, int]
"""The manager and the id of an object."""


class _NotThisLayoutError(Exception):
    """The bytes make no sense in this layout."""


class _Bytes:
    """Reads values one after the other, never beyond the end."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = _HEADER

    def take(self, form: str) -> tuple[Any, ...]:
        size = struct.calcsize("<" + form)
        if size > self.left():
            raise _NotThisLayoutError("it ends too early")
        self._at += size
        return struct.unpack_from("<" + form, self._content, self._at - size)

    def left(self) -> int:
        return len(self._content) - self._at

    def count(self, form: str, least: int) -> int:
        """Read a count of items of at least `least` bytes; an error if this many cannot follow."""
        value: int = self.take(form)[0]
        if not 0 <= value * least <= self.left():
            raise _NotThisLayoutError("it announces more data than it has")
        return value


@dataclass(frozen=True)
class _Dump:
    background: list[float]
    objects: list[Identity]
    walls: list[float]
    migratable: list[bool]
    sizes: list[int]
    processors: list[int]
    messages: list[tuple[Identity, Identity, int, int]]


def read_lbdump(path: Path, cores: int) -> TaskGraph:
    """Read objects as tasks. Messages between objects count, messages to processors do not."""
    content = read_bytes(path)
    if not content.startswith(MAGIC) or len(content) < _HEADER:
        raise NumascapeError(f"{path} is not an LBDump file of Charm++")
    if content[10] != 1:
        raise NumascapeError(f"{path} was written by a big-endian machine")
    dump = None
    for new in (True, False):
        try:
            dump = _read(_Bytes(content), new)
            break
        except _NotThisLayoutError as error:
            reason = str(error)
    if dump is None:
        raise NumascapeError(f"{path} is not a valid LBDump of Charm++ 6, 7 or 8: {reason}")
    return _graph(dump)


def _read(data: _Bytes, new: bool) -> _Dump:
    _, processors = data.take("ii")
    objects = communications = 0
    if new:
        data.take("i")
        again = data.take("Q")[0]
    else:
        again, objects, _, communications = data.take("iiii")
    if again != processors or processors < 0:
        raise _NotThisLayoutError("its numbers of processors differ")
    background = [data.take("dddd?ii")[2] for _ in range(processors)]
    if new:
        objects = data.count("Q", 35)
    elif not 0 <= objects * 47 <= data.left():
        raise _NotThisLayoutError("it announces more objects than it has")
    rows = []
    for _ in range(objects):
        if not new:
            data.take("iQ")
        rows.append(data.take("iiQid??H"))
    if new and data.count("Q", 4) != objects:
        raise _NotThisLayoutError("its objects and their processors differ in number")
    where = [data.take("i")[0] for _ in range(objects)]
    if new:
        communications = data.count("Q", 17)
    else:
        for _ in range(objects):
            data.take("i")
    messages: list[tuple[Identity, Identity, int, int]] = []
    for _ in range(communications):
        messages += _communication(data)
    if data.left():
        raise _NotThisLayoutError("bytes are left at its end")
    return _Dump(
        background=background,
        objects=[(row[0], row[2]) for row in rows],
        walls=[row[4] for row in rows],
        migratable=[row[5] for row in rows],
        sizes=[row[7] for row in rows],
        processors=where,
        messages=messages,
    )


def _communication(data: _Bytes) -> list[tuple[Identity, Identity, int, int]]:
    _, manager, identity, kind = data.take("iiQb")
    receivers: list[Identity] = []
    if kind == _TO_PROCESSOR:
        data.take("i")
    elif kind == _TO_OBJECT:
        to_manager, to, _ = data.take("iQi")
        receivers = [(to_manager, to)]
    elif kind == _TO_OBJECTS:
        receivers = [data.take("iQ") for _ in range(data.count("i", 12))]
    else:
        raise _NotThisLayoutError(f"a communication is of kind {kind}")
    messages, size = data.take("ii")
    return [((manager, identity), to, messages, size) for to in receivers]


def _graph(dump: _Dump) -> TaskGraph:
    place = {identity: i for i, identity in enumerate(dump.objects)}
    known = [m for m in dump.messages if m[0] in place and m[1] in place]
    numbers = np.array([dump.walls, dump.processors], np.float64)
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise NumascapeError("the LBDump has a load or a processor that is negative")
    if any(m[2] < 0 or m[3] < 0 for m in known):
        raise NumascapeError("the LBDump has a message of negative size")
    graph = task_graph(
        dump.walls,
        dump.processors,
        [place[m[0]] for m in known],
        [place[m[1]] for m in known],
        bytes=[float(m[3]) for m in known],
        count=[float(m[2]) for m in known],
        fixed=[not movable for movable in dump.migratable],
        migrated_bytes=[float(size) for size in dump.sizes],
    )
    return replace(graph, background=np.maximum(np.nan_to_num(dump.background), 0.0))
