# SPDX-License-Identifier: Apache-2.0
"""Undo files: where the pages and threads of a process were before a move.

Layout: the magic, the length of the header (32 bits, little-endian), the header as JSON, and for
each of its ranges a zlib stream of `stored` bytes. A stream has the numbers of the pages (32 bits,
counted from `start` in pages of 4 KiB, ascending), their sizes in such pages (32 bits), and their
nodes (16 bits).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.live.affinity import ThreadMove
from numascape.live.mappings import Mapping
from numascape.live.page_sets import PageSet
from numascape.live.policies import NodeNumbers
from numascape.live.targets import TargetProcess, target_of
from numascape.trace.format import PAGE_BYTES

_MAGIC: Final = b"numascape undo 1\n"
_LARGEST_HEADER: Final = 64 << 20
_MAX_ITEMS: Final = 1 << 20
_MAX_PAGES: Final = 1 << 28
_MAX_NODES: Final = 1024
_LARGEST_PAGE: Final = 1 << 30
_PAGE_RECORD: Final = 4 + 4 + 2
_LARGEST: Final = 1 << 57
_Count = Annotated[int, Field(ge=0, lt=1 << 63)]
_Cpus = Annotated[list[Annotated[int, Field(ge=0, lt=1 << 16)]], Field(max_length=1 << 16)]


@dataclass(frozen=True)
class _Range:
    name: Annotated[str, Field(max_length=1 << 13)]
    path: Annotated[str, Field(max_length=1 << 13)]
    inode: _Count
    page_bytes: Annotated[int, Field(ge=PAGE_BYTES, le=1 << 30)]
    start: Annotated[int, Field(ge=0, lt=_LARGEST)]
    pages: Annotated[int, Field(ge=1, le=_MAX_PAGES)]
    stored: Annotated[int, Field(ge=1, lt=1 << 40)]


@dataclass(frozen=True)
class _Thread:
    tid: Annotated[int, Field(ge=1, lt=1 << 31)]
    name: Annotated[str, Field(max_length=100)]
    started: _Count
    cpus: _Cpus


@dataclass(frozen=True)
class MappedFile:
    """A file that numascape mapped itself for a move: `bytes` from the address `start` on.

    It is a file's page cache, or, without a path, a segment of shared memory of the process.
    """

    path: Annotated[str, Field(max_length=1 << 13)]
    device: Annotated[str, Field(max_length=100)]
    inode: _Count
    start: Annotated[int, Field(ge=0, lt=_LARGEST)]
    bytes: Annotated[int, Field(ge=0, lt=_LARGEST)]


@dataclass(frozen=True)
class _Header:
    """Without a process (0), the pages are those of files."""

    pid: Annotated[int, Field(ge=0, lt=1 << 31)]
    name: Annotated[str, Field(max_length=100)]
    started: _Count
    boot: Annotated[str, Field(max_length=100)]
    ranges: Annotated[list[_Range], Field(max_length=_MAX_ITEMS)]
    threads: Annotated[list[_Thread], Field(max_length=_MAX_ITEMS)]
    shared: bool = False
    files: Annotated[list[MappedFile], Field(max_length=_MAX_ITEMS)] = field(default_factory=list)


_HEADER: Final = TypeAdapter(_Header)


@dataclass(frozen=True)
class Undo:
    """The content of an undo file: the process, its pages with their former nodes, its threads.

    `shared`: pages that other processes map were moved, too. `files`: the addresses of the pages
    are those in these files, which this process must map again; without a target, these are no
    memory of a process.
    """

    target: TargetProcess | None
    sets: tuple[PageSet, ...]
    threads: tuple[ThreadMove, ...]
    shared: bool = False
    files: tuple[MappedFile, ...] = ()


def write_undo(
    path: Path,
    target: TargetProcess | None,
    sets: Sequence[PageSet],
    threads: Sequence[ThreadMove],
    shared: bool = False,
    files: Sequence[MappedFile] = (),
) -> None:
    """Write what would undo the move of these pages and threads. Raises OSError.

    `shared`, `files`: as in Undo.
    """
    ranges, streams = [], []
    for pages in sets:
        stream = _stream(pages)
        streams.append(stream)
        ranges.append(
            _Range(
                _text(pages.name),
                _text(pages.path),
                pages.inode,
                pages.page_bytes,
                int(pages.addresses[0]),
                len(pages.addresses),
                len(stream),
            )
        )
    moved = [_Thread(one.tid, _text(one.name), one.started, list(one.before)) for one in threads]
    of_process = (0, "", 0) if target is None else (target.pid, _text(target.name), target.started)
    boot = _boot(Path("/") if target is None else target.root)
    known = [replace(one, path=_text(one.path)) for one in files]
    header = _Header(*of_process, boot, ranges, moved, shared, known)
    text = json.dumps(asdict(header)).encode()
    with replacing_file(path) as beside, beside.open("wb") as file:
        file.write(_MAGIC + len(text).to_bytes(4, "little") + text)
        file.writelines(streams)


def _stream(pages: PageSet) -> bytes:
    numbers = (pages.addresses - pages.addresses[0]) // np.uint64(PAGE_BYTES)
    sizes = pages.sizes // np.uint32(PAGE_BYTES)
    columns = (numbers.astype("<u4"), sizes.astype("<u4"), pages.before.astype("<i2"))
    return zlib.compress(b"".join(column.tobytes() for column in columns), 1)


def _text(name: str) -> str:
    return name.encode(errors="surrogateescape").decode(errors="replace")


def _boot(root: Path) -> str:
    """A text that differs after each start of the system; process numbers begin again then."""
    try:
        return (root / "proc/sys/kernel/random/boot_id").read_text().strip()[:100]
    except OSError:
        return ""


def read_undo(path: Path, root: Path = Path("/")) -> Undo:
    """Read a file; raises NumascapeError if it is damaged, or if its process has ended."""
    try:
        with path.open("rb") as file:
            header = _header(file, path)
            if not _can_undo(header, root):
                of = f"process {header.pid} ({header.name[:40]!r}), which has ended"
                raise NumascapeError(
                    f"{path} is for {of if header.pid else 'an earlier start of the system'}: "
                    "there is nothing to undo"
                )
            target = target_of(header.pid, root) if header.pid else None
            sets = tuple(_pages(file, entry, path) for entry in header.ranges)
    except OSError as error:
        raise NumascapeError(f"cannot read {path}: {error.strerror}") from error
    threads = tuple(
        ThreadMove(one.tid, one.name, one.started, (), tuple(one.cpus))
        for one in header.threads
        if one.cpus
    )
    return Undo(target, sets, threads, header.shared, tuple(header.files))


def _can_undo(header: _Header, root: Path) -> bool:
    """Whether the process still runs, or, without one, whether the system does."""
    if header.boot != _boot(root):
        return False
    target = target_of(header.pid, root) if header.pid else None
    return not header.pid or (target is not None and target.started == header.started)


def check_undo_place(path: Path, root: Path = Path("/")) -> None:
    """Raise NumascapeError if `path` exists and may not be replaced by an undo file.

    An undo file may be replaced when its process has ended, because it can then undo nothing. A
    device or a pipe is never replaced.
    """
    if not path.is_file() and not path.is_dir():
        return
    other = "name another file with -o"
    try:
        with path.open("rb") as file:
            header = _header(file, path)
    except OSError as error:
        raise NumascapeError(f"{path} exists ({error.strerror}): {other}") from error
    except NumascapeError as error:
        raise NumascapeError(f"{path} exists, and is no undo file: {other}") from error
    if _can_undo(header, root):
        of = f"process {header.pid} ({header.name[:40]})" if header.pid else "files"
        raise NumascapeError(f"{path} can still undo an earlier move of {of}: {other}")


def _header(file: BinaryIO, path: Path) -> _Header:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise NumascapeError(f"{path} is not an undo file of numascape move")
    length = int.from_bytes(file.read(4), "little")
    if length > _LARGEST_HEADER:
        raise _damaged(path)
    try:
        return _HEADER.validate_json(file.read(length))
    except ValidationError as error:
        raise _damaged(path) from error


def _pages(file: BinaryIO, entry: _Range, path: Path) -> PageSet:
    expected = entry.pages * _PAGE_RECORD
    reader = zlib.decompressobj()
    try:
        content = reader.decompress(file.read(entry.stored), expected + 1)
    except zlib.error as error:
        raise _damaged(path) from error
    if len(content) != expected:
        raise _damaged(path)
    numbers = np.frombuffer(content, "<u4", entry.pages).astype(np.uint64)
    counts = np.frombuffer(content, "<u4", entry.pages, 4 * entry.pages)
    nodes: NodeNumbers = np.frombuffer(content, "<i2", offset=8 * entry.pages).astype(np.int32)
    is_sound = (
        entry.start % PAGE_BYTES == 0
        and entry.page_bytes % PAGE_BYTES == 0
        and bool((numbers[1:] > numbers[:-1]).all())
        and nodes.min() >= 0
        and nodes.max() < _MAX_NODES
        and counts.min() >= 1
        and counts.max() <= _LARGEST_PAGE // PAGE_BYTES
    )
    if not is_sound:
        raise _damaged(path)
    sizes = (counts * np.uint32(PAGE_BYTES)).astype(np.uint32)
    addresses = np.uint64(entry.start) + numbers * np.uint64(PAGE_BYTES)
    return PageSet(
        entry.name, entry.path, entry.inode, entry.page_bytes, addresses, sizes, nodes, nodes
    )


def _damaged(path: Path) -> NumascapeError:
    return NumascapeError(f"{path} is damaged: nothing was undone")


def still_there(sets: Sequence[PageSet], mappings: Sequence[Mapping]) -> list[PageSet]:
    """The sets without pages that are no longer in the mapping from which they were moved."""
    if not mappings:
        return []
    starts = np.array([mapping.start for mapping in mappings], np.uint64)
    ends = np.array([mapping.end for mapping in mappings], np.uint64)
    kept = []
    for pages in sets:
        fits = np.array([(_text(one.path), one.inode) == (pages.path, pages.inode)
                         for one in mappings], bool)  # fmt: skip
        at = np.searchsorted(starts, pages.addresses, side="right").astype(np.int64) - 1
        inside = (at >= 0) & (pages.addresses < ends[at]) & fits[at]
        if inside.any():
            kept.append(pages.chosen(inside))
    return kept
