# SPDX-License-Identifier: Apache-2.0
"""The folder that keeps what was read from programs and libraries, for the next recording.

src/native/symbols/module_cache.h describes its files. Only files of this user count.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

VARIABLE: Final = "NUMASCAPE_CACHE"
# Libraries with much debug information have some MiB each.
MAX_BYTES: Final = 256 << 20


def symbol_cache(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder, made if it is not there; None if it cannot be used or is not wanted."""
    place = _place(environment)
    if place is None:
        return None
    folder = place / "symbols"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return folder if own and not status.st_mode & 0o022 else None


def _place(environment: Mapping[str, str]) -> Path | None:
    """The folder of NUMASCAPE_CACHE (empty: none), or that of the XDG specification."""
    chosen = environment.get(VARIABLE)
    if chosen is not None:
        return Path(chosen).absolute() if chosen else None
    caches = Path(environment.get("XDG_CACHE_HOME", ""))
    if caches.is_absolute():
        return caches / "numascape"
    home = Path(environment.get("HOME", ""))
    return home / ".cache" / "numascape" if home.is_absolute() else None


@contextmanager
def limited(folder: Path | None, limit: int = MAX_BYTES) -> Iterator[None]:
    """Limit the folder's size at the end, if a file was added meanwhile.

    It takes longer to look through a folder of thousands of files than to convert a small
    recording.
    """
    before = _changed_ns(folder)
    yield
    if folder is not None and _changed_ns(folder) != before:
        limit_size(folder, limit)


def _changed_ns(folder: Path | None) -> int | None:
    """The last time at which a file was added, replaced or removed."""
    try:
        return None if folder is None else folder.stat().st_mtime_ns
    except OSError:
        return None


def limit_size(folder: Path, limit: int = MAX_BYTES) -> None:
    """Remove the files that were not used for longest, until the rest has at most `limit` bytes."""
    files = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # removed by another recording
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    files.append((status.st_mtime_ns, status.st_size, entry.path))
    size = sum(file_size for _, file_size, _ in files)
    for _, file_size, path in sorted(files):
        if size <= limit:
            return
        with suppress(OSError):
            Path(path).unlink()
        size -= file_size
