# SPDX-License-Identifier: Apache-2.0
"""Pinned memory of a process: devices and the kernel use it by its physical address.

The kernel lists the buffers of each io_uring (/proc/PID/fdinfo), and counts the memory that is
pinned for a long time (VmPin in /proc/PID/status), such as that of RDMA. It does not list the pages
of the latter, nor those that a direct read or write pins for a moment.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from numascape.live.policies import Addresses
from numascape.live.targets import TargetProcess
from numascape.trace.format import PAGE_BYTES

_BUFFER = re.compile(r"\s*[0-9]+: 0x([0-9a-f]{1,16})/([0-9]{1,19})")


def in_buffers(target: TargetProcess, addresses: Addresses) -> npt.NDArray[np.bool_]:
    """Which of these pages have a part of a registered buffer of an io_uring."""
    found = np.zeros(len(addresses), np.bool_)
    for start, end in _buffers(target.folder):
        found |= (addresses + np.uint64(PAGE_BYTES) > np.uint64(start)) & (
            addresses < np.uint64(end)
        )
    return found


def pinned_bytes(target: TargetProcess) -> int:
    """The bytes that are pinned for a long time; 0 if the kernel does not say."""
    for line in _text(target.folder / "status").splitlines():
        if line.startswith("VmPin:"):
            return int(line.split()[1]) * 1024
    return 0


def _buffers(folder: Path) -> list[tuple[int, int]]:
    try:
        files = list((folder / "fd").iterdir())
    except OSError:
        return []
    return [
        buffer
        for file in files
        if "io_uring" in _link(file)
        for buffer in _listed(_text(folder / "fdinfo" / file.name))
    ]


def _listed(text: str) -> list[tuple[int, int]]:
    """The buffers of an io_uring: the lines after `UserBufs:`."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("UserBufs:"):
            break
    buffers = []
    for line in lines:
        match = _BUFFER.match(line)
        if match is None:
            break
        start = int(match[1], 16)
        buffers.append((start, start + int(match[2])))
    return buffers


def _link(file: Path) -> str:
    try:
        return str(file.readlink())
    except OSError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
