# SPDX-License-Identifier: Apache-2.0
"""Copies of /sys and /proc of real machines, with the output of hwloc itself.

They are in hwloc's source package. apt fetches it into build/hwloc-snapshots, from the archive of
this system's packages. NUMASCAPE_HWLOC_SNAPSHOTS names another copy of its folder
tests/hwloc/linux.
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from quality.external import ROOT

CACHE = ROOT / "build" / "hwloc-snapshots"
_MEMBER = re.compile(r"hwloc-[\d.]+/tests/hwloc/linux/([\w.+-]+\.(tar\.bz2|output|env))")


class NoSnapshotsError(Exception):
    """The copies are missing and cannot be fetched; the message says why."""


def snapshots() -> Path:
    """The folder of tarballs and expected outputs; fetched if it does not exist yet."""
    given = os.environ.get("NUMASCAPE_HWLOC_SNAPSHOTS")
    if given:
        return Path(given)
    if not any(CACHE.glob("*.tar.bz2")):
        _fetch()
    return CACHE


def _fetch() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts, lists = folder / "parts", folder / "lists"
        parts.mkdir()
        (lists / "partial").mkdir(parents=True)
        _copy_sources(parts)
        options = [
            *("-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={parts}"),
            *("-o", f"Dir::State::Lists={lists}", "-o", f"APT::Sandbox::User={_user()}"),
        ]
        _run(["apt-get", "-qq", *options, "update"], folder)
        _run(["apt-get", "-qq", *options, "source", "--download-only", "hwloc"], folder)
        archives = list(folder.glob("hwloc_*.orig.tar.*"))
        if not archives:
            raise NoSnapshotsError("apt's source package of hwloc has no upstream archive")
        _unpack(archives[0])


def _user() -> str:
    import getpass

    return getpass.getuser()


def _copy_sources(parts: Path) -> None:
    """Turn apt's sources of packages into sources of source packages."""
    folder = Path("/etc/apt/sources.list.d")
    for path in [Path("/etc/apt/sources.list"), *folder.glob("*.list"), *folder.glob("*.sources")]:
        if path.is_file():
            text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", path.read_text())
            text = re.sub(r"(?m)^deb ", "deb-src ", text)
            suffix = ".list" if path.name == "sources.list" else ""
            (parts / f"{path.name.removesuffix('.list')}{suffix or path.suffix}").write_text(text)


def _run(command: list[str], folder: Path) -> None:
    try:
        result = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise NoSnapshotsError(f"{command[0]}: {error.strerror}") from error
    # Some of the sources may be unreachable: only the package itself is needed.
    if result.returncode != 0 and "source" in command:
        raise NoSnapshotsError(
            f"apt has no source package of hwloc: {result.stderr.strip()[-200:]}"
        )


def _unpack(archive: Path) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "r|*") as members:
        for member in members:
            found = _MEMBER.fullmatch(member.name)
            content = members.extractfile(member) if found and member.isreg() else None
            if found and content is not None:
                part = CACHE / f"{found[1]}.part"
                part.write_bytes(content.read())
                part.replace(CACHE / found[1])


@dataclass
class Expected:
    """The facts in hwloc's own expected output, read from its text."""

    nodes: dict[int, int]  # bytes of memory
    near: dict[int, set[int]]  # CPUs of the object that a node is attached to
    cpus: set[int]
    caches: dict[tuple[str, int], list[set[int]]]  # (level with i or d, bytes): CPUs of each
    packages: list[set[int]]
    distances: list[list[float]] | None
    distance_nodes: list[int]


_OBJECT = re.compile(r"^( *)([A-Za-z0-9]+) L#(\d+) \(?(.*)")


def read_expected(path: Path) -> Expected:
    """Read an expected output of `lstopo -v`: a tree by indentation, then matrices."""
    result = Expected({}, {}, set(), {}, [], None, [])
    stack: list[tuple[int, set[int]]] = []
    numbers: dict[int, int] = {}  # logical to OS index of nodes
    lines = path.read_text().splitlines()
    for line in lines:
        found = _OBJECT.match(line)
        if line.startswith("Machine"):
            stack = [(-1, set())]
        elif found:
            _read_object(result, stack, numbers, found)
        elif line.startswith(("depth", "Special")):
            break
    _read_distances(result, lines, numbers)
    return result


def _read_object(
    result: Expected,
    stack: list[tuple[int, set[int]]],
    numbers: dict[int, int],
    found: re.Match[str],
) -> None:
    indent, kind, logical, rest = len(found[1]), found[2], int(found[3]), found[4]
    while stack[-1][0] >= indent:
        stack.pop()
    cpus: set[int] = set()
    index = re.search(r"P#(\d+)", rest)
    size = re.search(r"(?<!\w)(?:size|local)=(\d+)KB", rest)
    if kind == "PU" and index:
        for _, outer in stack:
            outer.add(int(index[1]))
        result.cpus.add(int(index[1]))
    elif kind == "NUMANode" and index:
        numbers[logical] = int(index[1])
        result.nodes[int(index[1])] = int(size[1]) * 1024 if size else 0
        result.near[int(index[1])] = stack[-1][1]
    elif kind == "Package":
        result.packages.append(cpus)
    elif kind.endswith("Cache") and kind != "MemCache":
        level = kind.removesuffix("Cache")
        result.caches.setdefault((level, int(size[1]) * 1024 if size else 0), []).append(cpus)
    if kind != "NUMANode":
        stack.append((indent, cpus))


def _read_distances(result: Expected, lines: list[str], numbers: dict[int, int]) -> None:
    for start, line in enumerate(lines):
        if line.startswith("Relative latency matrix (name NUMALatency") and "NUMANodes" in line:
            order = [numbers[int(word)] for word in lines[start + 1].split()[1:]]
            rows = lines[start + 2 : start + 2 + len(order)]
            result.distances = [[float(word) for word in row.split()[1:]] for row in rows]
            result.distance_nodes = order
