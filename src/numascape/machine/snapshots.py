# SPDX-License-Identifier: Apache-2.0
"""Unpacks a tarball of a machine's /sys and /proc, such as hwloc-gather-topology makes.

The tarball is not trusted. Only regular files below sys/ and proc/ that describe processors and
memory are written, and their number and sizes are limited. A link becomes an empty folder, because
hwloc only checks that links exist. No link is ever followed.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

from numascape.errors import NumascapeError

# hwloc's largest test tarball, of 64 nodes, has 20 000 small files.
MAX_MEMBERS: Final = 500_000
LARGEST_MEMBER: Final = 4 << 20
LARGEST_TOTAL: Final = 256 << 20
_WANTED: Final = re.compile(
    r"(sys/(devices/system/(cpu|node)|kernel/mm/hugepages|bus/(cpu|node|dax)|fs/cgroup"
    r"|devices/virtual/dmi|class/dmi|firmware/devicetree|devices/platform|devices/LNXSYSTM)"
    r"|proc/(cpuinfo|meminfo|cmdline|mounts|cgroups|device-tree|self|sys/kernel|driver)"
    r"|var/run/hwloc|dev/cpuset)(/|$)"
)
# A large machine has thousands of these files, and hwloc does not read them.
_SKIPPED: Final = re.compile(
    r"/(cpuidle|thermal_throttle|microcode|power|uevent|crash_notes\w*|vmstat|numastat|memory\d+"
    r"|stats|ondemand|ways_of_associativity|cache_disable_\d|shared_cpu_list|\w+_siblings_list"
    r"|\w+_cpus_list)(/|$)"
)


def unpack(tarball: Path, folder: Path) -> Path:
    """Unpack into `folder`; return the folder that has sys/ or proc/. Raises NumascapeError."""
    total = members = 0
    made: set[Path] = set()
    try:
        # tarfile's own decompression copies what it has not read yet, again for each member.
        with _decompressed(tarball) as content, tarfile.open(fileobj=content, mode="r|") as archive:
            for member in archive:
                members += 1
                total += max(member.size, 0)
                if members > MAX_MEMBERS or total > LARGEST_TOTAL:
                    raise NumascapeError(f"{tarball} is too large to be a machine's /sys and /proc")
                place = _place(member.name)
                if place is not None:
                    _write(archive, member, folder / place, made)
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError) as error:
        raise NumascapeError(f"{tarball} cannot be unpacked: {error}") from error
    for root in [folder, *sorted(folder.iterdir())]:
        if (root / "sys").is_dir() or (root / "proc").is_dir():
            return root
    raise NumascapeError(f"{tarball} is not a machine: it has neither sys/ nor proc/")


def _decompressed(tarball: Path) -> IO[bytes]:
    with tarball.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"BZh"):
        return cast(IO[bytes], bz2.open(tarball))
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(tarball))
    if start == b"\xfd7zXZ\0":
        return cast(IO[bytes], lzma.open(tarball))
    return tarball.open("rb")


def _place(name: str) -> PurePosixPath | None:
    """The path for the member, below at most one folder; None if it is not needed."""
    parts = [part for part in PurePosixPath(name).parts if part != "."]
    if ".." in parts or "/" in parts or "\0" in name or _SKIPPED.search(name):
        return None
    for skipped in (0, 1):
        if _WANTED.match("/".join(parts[skipped:])):
            return PurePosixPath(*parts)
    return None


def _write(
    archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path, made: set[Path]
) -> None:
    """Write the member; `made` are the folders that exist already."""
    if member.issym() or member.isdir():
        _make(target, made)
    elif member.isreg() and member.size <= LARGEST_MEMBER:
        content = archive.extractfile(member)
        if content is not None:
            _make(target.parent, made)
            target.write_bytes(content.read())


def _make(folder: Path, made: set[Path]) -> None:
    if folder not in made:
        folder.mkdir(parents=True, exist_ok=True)
        made.add(folder)
