# SPDX-License-Identifier: Apache-2.0
"""Unpacks a tarball of a machine's /sys and /proc, such as hwloc-gather-topology makes.

It may come from anybody: only regular files below sys/ and proc/ that describe processors and
memory are written, their number and sizes bounded. A link becomes an empty folder: what hwloc
reads of links is that they exist, and none is ever followed.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path, PurePosixPath
from typing import Final

from numascape.errors import NumascapeError

# hwloc's largest tarball, of 64 nodes, unpacks to 20 000 small files.
MOST_MEMBERS: Final = 500_000
LARGEST_MEMBER: Final = 4 << 20
LARGEST_TOTAL: Final = 256 << 20
_WANTED: Final = re.compile(
    r"(sys/(devices/system/(cpu|node)|kernel/mm/hugepages|bus/(cpu|node|dax)|fs/cgroup"
    r"|devices/virtual/dmi|class/dmi|firmware/devicetree|devices/platform|devices/LNXSYSTM)"
    r"|proc/(cpuinfo|meminfo|cmdline|mounts|cgroups|device-tree|self|sys/kernel|driver)"
    r"|var/run/hwloc|dev/cpuset)(/|$)"
)
# Thousands of files on a large machine, of which hwloc reads none.
_SKIPPED: Final = re.compile(
    r"/(cpuidle|thermal_throttle|microcode|power|uevent|crash_notes\w*|vmstat|numastat|memory\d+)(/|$)"
)


def unpack(tarball: Path, folder: Path) -> Path:
    """Unpack into `folder`; return where in it sys/ or proc/ is. Raises NumascapeError."""
    total = members = 0
    try:
        with tarfile.open(tarball, "r|*") as archive:
            for member in archive:
                members += 1
                total += max(member.size, 0)
                if members > MOST_MEMBERS or total > LARGEST_TOTAL:
                    raise NumascapeError(f"{tarball} is too large to be a machine's /sys and /proc")
                place = _place(member.name)
                if place is not None:
                    _write(archive, member, folder / place)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise NumascapeError(f"{tarball} cannot be unpacked: {error}") from error
    for root in [folder, *sorted(folder.iterdir())]:
        if (root / "sys").is_dir() or (root / "proc").is_dir():
            return root
    raise NumascapeError(f"{tarball} is no machine: it holds neither sys/ nor proc/")


def _place(name: str) -> PurePosixPath | None:
    """Where the member goes, below one folder at most; None when it is not wanted."""
    parts = [part for part in PurePosixPath(name).parts if part != "."]
    if ".." in parts or "/" in parts or "\0" in name or _SKIPPED.search(name):
        return None
    for skipped in (0, 1):
        if _WANTED.match("/".join(parts[skipped:])):
            return PurePosixPath(*parts)
    return None


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    if member.issym() or member.isdir():
        target.mkdir(parents=True, exist_ok=True)
    elif member.isreg() and member.size <= LARGEST_MEMBER:
        content = archive.extractfile(member)
        if content is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())
