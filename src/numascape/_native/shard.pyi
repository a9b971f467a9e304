# SPDX-License-Identifier: Apache-2.0
"""Shards: the raw records of processes; see src/native/replay/replay.h."""

from collections.abc import Sequence
from typing import Any

class ShardError(Exception):
    """The file is not a shard, has another version, or cannot be read."""

FAULT_HINTING: int
FAULT_OTHER: int
FLAG_ENDED: int
FLAG_DISK_FULL: int
FLAG_THREADS_LOST: int
FLAG_DETACHED: int
FLAG_REPLACED: int
FLAG_ATTACHED: int
FLAG_CHILDREN_LOST: int
FLAG_PHASES_FOLDED: int
FLAG_BLOCKS_LOST: int
FLAG_CALLS_FORBIDDEN: int
FLAG_STACKS_CUT: int
FLAG_REGIONS_LOST: int

def read_header(path: str) -> dict[str, Any]:
    """The shard's header; raises ShardError."""

def replay(path: str, parents: Sequence[str], faults: str) -> dict[str, Any]:
    """The owner of each counted page, as NumPy columns; raises ShardError.

    `parents` are the shards of the processes it was forked from, oldest first;
    `faults` is the session's log of page faults, or "".
    """

def read_events(path: str, pid: int) -> dict[str, Any]:
    """A process' page faults or clock samples, in order of time; raises ShardError.

    NumPy columns `time_ns` (CLOCK_REALTIME), `address`, `pc`, `tid`, `cpu`, `meaning` (of a
    fault, FAULT_..., or a first touch); the numbers `lost` and `hinting_counted`, by the kernel.
    """
