# SPDX-License-Identifier: Apache-2.0
"""Reads the mappings of a process: /proc/PID/maps and numa_maps (proc(5), numa(7))."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from numascape.errors import NumascapeError
from numascape.live.targets import TargetProcess
from numascape.trace.format import PAGE_BYTES

# The end of the addresses of 64-bit processes. The page [vsyscall] above it is the kernel's.
_LARGEST: Final = 1 << 63
_LINE: Final = re.compile(
    r"([0-9a-f]{1,16})-([0-9a-f]{1,16}) ([r-][w-][x-][ps]) ([0-9a-f]{1,16}) "
    r"([0-9a-f]+:[0-9a-f]+) ([0-9]{1,20}) *(.*)"
)
_DELETED: Final = " (deleted)"
# Memory that the kernel keeps in files without a name.
_NO_FILES: Final = ("/SYSV", "/dev/", "/memfd:", "/anon_hugepage", "/[")


class NotPermittedError(NumascapeError):
    """The kernel does not let this user look at the process."""


@dataclass(frozen=True)
class Mapping:
    """A mapping: its addresses, and the offset, device (major:minor) and inode of its file.

    `policy` is the memory policy, "" if it was not read. `page_bytes` is the size of its pages,
    above 4096 in explicit huge pages only. `reserved_end` is the end of memory without access that
    directly follows the mapping; 0 if there is none. If all pages are on one node, this was
    `only_node`, with `only_bytes` in memory; else it is -1, also if the policy was not read.
    """

    start: int
    end: int
    permissions: str
    offset: int
    device: str
    inode: int
    path: str
    deleted: bool = False
    policy: str = ""
    page_bytes: int = PAGE_BYTES
    reserved_end: int = 0
    only_node: int = -1
    only_bytes: int = 0

    @property
    def is_shared(self) -> bool:
        """Whether processes that map the same file share its pages, also written ones."""
        return self.permissions[3] == "s"

    @property
    def is_file(self) -> bool:
        """Whether it maps a file (or shared memory, which the kernel keeps in files)."""
        return self.inode != 0


@dataclass(frozen=True)
class NumaLine:
    """A line of numa_maps: a mapping's policy, size of pages, and pages by node."""

    policy: str
    page_bytes: int
    pages: dict[int, int]


def read_mappings(target: TargetProcess, with_policies: bool = True) -> list[Mapping]:
    """The mappings that can have pages, ascending.

    Reading the policies makes the kernel walk all page tables, which takes a while for very many
    pages. Raises NumascapeError if the process has ended, and NotPermittedError.
    """
    mappings = parse_maps(_text(target, "maps"))
    lines = parse_numa_maps(_text(target, "numa_maps")) if with_policies else {}
    return [_with_policy(mapping, lines.get(mapping.start)) for mapping in mappings]


def _with_policy(mapping: Mapping, line: NumaLine | None) -> Mapping:
    if line is None:
        return mapping
    whole = (mapping.end - mapping.start) % line.page_bytes == 0
    page_bytes = line.page_bytes if whole else mapping.page_bytes
    known = replace(mapping, policy=line.policy, page_bytes=page_bytes)
    if len(line.pages) != 1:
        return known
    ((node, pages),) = line.pages.items()
    return replace(known, only_node=node, only_bytes=pages * line.page_bytes)


def parse_maps(text: str) -> list[Mapping]:
    """The mappings of a maps file; damaged lines, and those without access, are left out."""
    found: list[Mapping] = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        start, end, offset = (int(match[number], 16) for number in (1, 2, 4))
        is_range = start < end <= _LARGEST and start % PAGE_BYTES == 0 and end % PAGE_BYTES == 0
        if not is_range or (found and start < found[-1].end):
            continue
        # Memory without access has no pages that were touched; runtimes reserve terabytes of it.
        if match[3].startswith("---"):
            if found and start == found[-1].end and int(match[6]) == 0:
                found[-1] = replace(found[-1], reserved_end=end)
            continue
        path, deleted = match[7], match[7].endswith(_DELETED)
        path = path.removesuffix(_DELETED).replace("\\012", "\n")
        found.append(Mapping(start, end, match[3], offset, match[5], int(match[6]), path, deleted))
    return found


def parse_numa_maps(text: str) -> dict[int, NumaLine]:
    """The lines of a numa_maps file by start address; damaged ones are left out."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2 or not re.fullmatch(r"[0-9a-f]{1,16}", words[0]):
            continue
        pages, size = {}, PAGE_BYTES
        for word in words[2:]:
            name, _, value = word.partition("=")
            if not re.fullmatch(r"[0-9]{1,15}", value):
                continue
            if re.fullmatch(r"N[0-9]{1,5}", name):
                pages[int(name[1:])] = int(value)
            elif name == "kernelpagesize_kB":
                size = int(value) * 1024
        if size >= PAGE_BYTES and size % PAGE_BYTES == 0:
            found[int(words[0], 16)] = NumaLine(words[1], size, pages)
    return found


def _text(target: TargetProcess, name: str) -> str:
    path = target.folder / name
    try:
        return path.read_bytes().decode(errors="surrogateescape")
    except (FileNotFoundError, ProcessLookupError) as error:
        if target.is_alive:
            raise NumascapeError(
                f"{path} does not exist: this kernel was built without NUMA"
            ) from error
        raise NumascapeError(f"{target} has ended") from error
    except PermissionError as error:
        raise NotPermittedError(not_permitted(target)) from error


def not_permitted(target: TargetProcess) -> str:
    """The error text if the kernel does not let this user look at the process."""
    return (
        f"{target} may not be examined: it is another user's, or privileged; "
        "run numascape as that user, or with sudo"
    )


def readable_path(target: TargetProcess, mapping: Mapping) -> Path | None:
    """The mapped file as this process can open it; None if it cannot.

    A file that was deleted or replaced can still be opened by root, as long as it is mapped.
    """
    if not mapping.is_file or not mapping.path.startswith("/"):
        return None
    if mapping.deleted:
        if mapping.path.startswith(_NO_FILES):
            return None
        paths = [target.folder / "map_files" / f"{mapping.start:x}-{mapping.end:x}"]
    else:
        paths = [Path(mapping.path), target.folder / "root" / mapping.path.lstrip("/")]
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_ino == mapping.inode:
            return path
    return None
