# SPDX-License-Identifier: Apache-2.0
"""Finds the nodes of files' pages in memory, and evicts the user's own files.

src/native/host/file_pages.cpp describes for which files the kernel reports this, and why no page is
read into memory.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from numascape.errors import NumascapeError
from numascape.installation import installed_file


@dataclass(frozen=True)
class FilePages:
    """A file's pages in memory. None: the kernel does not report them, or not to this user.

    `nodes` has the number of pages by node, with -1 for unknown nodes. `error` says why the file
    could not be examined.
    """

    path: Path
    size: int = 0
    resident: int | None = None
    dirty: int | None = None
    nodes: dict[int, int] | None = None
    error: str | None = None

    def on(self, node: int) -> int:
        """The number of pages that are known to be on the node."""
        return (self.nodes or {}).get(node, 0)


@dataclass(frozen=True)
class _Answer:
    size: int = 0
    resident: int = -1
    dirty: int = -1
    nodes: dict[int, int] | None = None
    error: str | None = None


_ANSWER = TypeAdapter(_Answer)


def regular_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The named regular files, and those below named folders on the same file system.

    Links below a folder are not followed, and unreadable folders are skipped. Raises NumascapeError
    if a named path does not exist.
    """
    for path in paths:
        try:
            status = path.stat()
        except OSError as error:
            raise NumascapeError(f"{path}: {error.strerror}") from error
        if not stat.S_ISDIR(status.st_mode):
            yield path.resolve()
            continue
        for folder, folders, names in os.walk(path):
            inside = Path(folder)
            folders[:] = [name for name in folders if _device(inside / name) == status.st_dev]
            for name in sorted(names):
                if _is_regular(inside / name):
                    yield inside / name


def _device(path: Path) -> int | None:
    try:
        return path.lstat().st_dev
    except OSError:
        return None


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def look_at(paths: Iterable[Path]) -> list[FilePages]:
    """Ask the kernel about each file; the results are in the same order."""
    named = list(paths)
    result = subprocess.run(
        [str(installed_file("_host/file-pages"))],
        input=b"".join(os.fsencode(path) + b"\0" for path in named),
        stdout=subprocess.PIPE,
        check=False,
    )
    lines = result.stdout.splitlines()
    if result.returncode != 0 or len(lines) != len(named):
        raise NumascapeError(f"the reader of files ended with status {result.returncode}")
    return [_file_pages(path, line) for path, line in zip(named, lines, strict=True)]


def _file_pages(path: Path, line: bytes) -> FilePages:
    try:
        answer = _ANSWER.validate_json(line)
    except ValidationError as error:
        raise NumascapeError(
            "the output of file-pages is damaged: install Numascape again"
        ) from error
    resident = None if answer.resident < 0 else answer.resident
    dirty = None if answer.dirty < 0 else answer.dirty
    return FilePages(path, answer.size, resident, dirty, answer.nodes, answer.error)


@dataclass(frozen=True)
class Eviction:
    """The number of evicted pages by node, and of skipped files, which other users own."""

    freed: dict[int, int]
    kept: int
    files: int
    foreign: int


def evict(paths: Iterable[Path], node: int | None) -> Eviction:
    """Evict the clean pages of this user's own files (posix_fadvise), not dirty and mapped ones.

    With `node`, only files with pages on this node are used.
    """
    mine, foreign = [], 0
    for path in paths:
        if os.geteuid() in {0, path.lstat().st_uid}:
            mine.append(path)
        else:
            foreign += 1
    before = [file for file in look_at(mine) if file.error is None]
    before = [file for file in before if node is None or file.on(node)]
    for file in before:
        _advise(file.path)
    after = look_at([file.path for file in before])
    freed: dict[int, int] = {}
    for old, new in zip(before, after, strict=True):
        for place, pages in (old.nodes or {}).items():
            freed[place] = freed.get(place, 0) + max(0, pages - new.on(place))
    kept = sum(file.resident or 0 for file in after)
    return Eviction(freed, kept, len(before), foreign)


def _advise(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
