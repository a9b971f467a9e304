# SPDX-License-Identifier: Apache-2.0
"""Finds why the kernel refuses calls: containers, privileges."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

import numpy as np

from numascape._native import live as native
from numascape.trace.format import PAGE_BYTES

# linux/capability.h
_CAP_SYS_NICE: Final = 23


def calls_refused() -> str:
    """The advice if move_pages(2) is forbidden here for every process; empty if it is not."""
    nothing = np.array([], np.uint64)
    try:
        native.query_nodes(os.getpid(), np.array([PAGE_BYTES], np.uint64))
        error, _ = native.move_pages(os.getpid(), nothing, nothing.astype(np.int32), False)
    except OSError as refusal:
        error = refusal.errno or 0
    if error == errno.ENOSYS:
        return "this kernel has no move_pages(2): it was built without NUMA"
    if error in {errno.EPERM, errno.EACCES}:
        return _forbidden("move_pages(2)")
    return ""


def affinity_refused() -> str:
    """The advice if sched_setaffinity(2) is forbidden here for every thread; empty if it is not."""
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    except PermissionError:
        return _forbidden("sched_setaffinity(2)")
    except OSError:
        pass  # the cpuset has just changed
    return ""


def _forbidden(call: str) -> str:
    return (
        f"this container forbids {call}: start it with --security-opt seccomp=unconfined, or with "
        "a seccomp profile that allows it"
    )


def may_move_shared(root: Path = Path("/")) -> bool:
    """Whether this process has CAP_SYS_NICE: it may move pages that others also map."""
    try:
        text = (root / "proc/self/status").read_text(errors="replace")
        effective = next(line for line in text.splitlines() if line.startswith("CapEff:"))
        return bool(int(effective.split()[1], 16) >> _CAP_SYS_NICE & 1)
    except (OSError, StopIteration, ValueError, IndexError):
        return False
