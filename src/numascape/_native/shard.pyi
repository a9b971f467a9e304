# SPDX-License-Identifier: Apache-2.0
"""Shards: the raw records of processes; see src/native/replay/replay.h."""

from collections.abc import Sequence
from typing import Any

class ShardError(Exception):
    """The file is not a shard, has another version, or cannot be read."""

FAULT_HINTING: int
FAULT_OTHER: int
NO_CALLERS: int
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
FLAG_CALLERS_CUT: int
FLAG_REGIONS_LOST: int
FLAG_FRAMES: int
FRAME_OF_DATA: int

def read_header(path: str) -> dict[str, Any]:
    """The shard's header; raises ShardError."""

def counts_so_far(path: str) -> tuple[int, int, int, int]:
    """The sums of a shard that is being written; raises ShardError.

    They are reads, writes, pages with at least one access, and threads that have not ended.
    """

def largest_blocks(
    path: str, most: int
) -> tuple[list[tuple[int, list[int]]], list[tuple[bytes, int, int, int]]]:
    """The largest heap blocks of a shard that is being written; raises ShardError.

    Blocks that are not freed, summed by call stack, largest first: bytes and return addresses,
    innermost first. Then the modules: path, start, end and load bias.
    """

def frame_sites(path: str) -> dict[str, Any]:
    """The places in the code that make large frames on stacks; raises ShardError.

    `sites` are (pc, FRAME_... flags); `modules` are (path, start, end, load bias, 0).
    """

def replay(
    path: str,
    parents: Sequence[str],
    faults: str,
    frames: Sequence[tuple[int, int, int, int, int]] = (),
) -> dict[str, Any]:
    """The owner of each counted page, as tables; raises ShardError.

    `parents` are the shards of the processes it was forked from, oldest first;
    `faults` is the session's log of page faults, or "". `frames` are the variables in large frames:
    (pc of the frame's site, number of the variable, base and offset of its address, bytes), as in
    FramePlace of replay.h.
    """

def read_events(path: str, pid: int) -> dict[str, Any]:
    """A process' page faults or clock samples, in order of time; raises ShardError.

    The table `events` with `time_ns` (CLOCK_REALTIME), `address`, `pc`, `tid`, `cpu`, `meaning` (of
    a fault, FAULT_..., or a first touch), `callers` of a sample (a number of the table `calls`, or
    NO_CALLERS); the numbers `lost` and `hinting_counted`, by the kernel. The table `calls` has
    `number`, `callers` and `pc`.
    """
