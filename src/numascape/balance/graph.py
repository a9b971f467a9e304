# SPDX-License-Identifier: Apache-2.0
"""Tasks and their messages: what a balancer maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from numascape.errors import NumascapeError

Floats = npt.NDArray[np.float64]
Cores = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]

# The memory of one machine can hold this many; untrusted files cannot ask for more.
MAX_TASKS: Final = 1 << 28
MAX_MESSAGES: Final = 1 << 31
NO_BLOCK: Final = (1 << 32) - 1


def no_floats() -> Floats:
    """An empty array, which stands for unknown values."""
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Tasks that exchange messages in each iteration, and the cores that they are on now.

    `load` is in seconds per iteration, `core` is the index of a core. Task t sends the messages
    offsets[t] to offsets[t + 1] - 1: to task `to`, `count` messages with `bytes` in total. An empty
    array has a default meaning: no task is fixed, migrations carry no bytes, each `count` is 1.
    `background` is the time per iteration that each core spends on other work.

    `memory` is what a task holds, `working` what it needs in addition while it runs. `block` is the
    block of memory that it shares with other tasks (NO_BLOCK: none), of `block_bytes`. A core's
    process holds each block of its tasks once, and `core_memory_taken` by itself.
    """

    load: Floats
    core: Cores
    offsets: Offsets
    to: Cores
    bytes: Floats = field(default_factory=no_floats)
    count: Floats = field(default_factory=no_floats)
    fixed: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    migrated_bytes: Floats = field(default_factory=no_floats)
    memory: Floats = field(default_factory=no_floats)
    background: Floats = field(default_factory=no_floats)
    working: Floats = field(default_factory=no_floats)
    block: Cores = field(default_factory=lambda: np.zeros(0, np.uint32))
    block_bytes: Floats = field(default_factory=no_floats)
    core_memory_taken: Floats = field(default_factory=no_floats)

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self.load)

    @property
    def messages(self) -> int:
        """The number of pairs of sender and receiver."""
        return len(self.to)

    @property
    def senders(self) -> Cores:
        """The sending task of each message."""
        counts = np.diff(self.offsets.astype(np.int64))
        return np.repeat(np.arange(self.tasks, dtype=np.uint32), counts)

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """The arrays by their names in src/native/balance/problem.h."""
        named = {
            "load": (self.load, np.float64),
            "core": (self.core, np.uint32),
            "fixed": (self.fixed, np.uint8),
            "migrated_bytes": (self.migrated_bytes, np.float64),
            "memory": (self.memory, np.float64),
            "message_offsets": (self.offsets, np.uint64),
            "message_to": (self.to, np.uint32),
            "message_bytes": (self.bytes, np.float64),
            "message_count": (self.count, np.float64),
            "background": (self.background, np.float64),
            "working": (self.working, np.float64),
            "block": (self.block, np.uint32),
            "block_bytes": (self.block_bytes, np.float64),
            "core_memory_taken": (self.core_memory_taken, np.float64),
        }
        return {name: np.ascontiguousarray(array, kind) for name, (array, kind) in named.items()}


def task_graph(
    load: npt.ArrayLike,
    core: npt.ArrayLike,
    sender: npt.ArrayLike = (),
    receiver: npt.ArrayLike = (),
    *,
    bytes: npt.ArrayLike | None = None,  # noqa: A002  as in TaskGraph
    count: npt.ArrayLike | None = None,
    fixed: npt.ArrayLike | None = None,
    migrated_bytes: npt.ArrayLike | None = None,
    memory: npt.ArrayLike | None = None,
) -> TaskGraph:
    """Make a graph from messages in any order; messages of the same pair are added up.

    Raises NumascapeError if the lengths of arrays differ or a task does not exist.
    """
    loads = np.asarray(load, np.float64).ravel()
    senders, receivers = (np.asarray(ends, np.int64).ravel() for ends in (sender, receiver))
    if len(senders) != len(receivers):
        raise NumascapeError(f"{len(senders)} senders and {len(receivers)} receivers do not match")
    if len(loads) > MAX_TASKS or len(senders) > MAX_MESSAGES:
        raise NumascapeError(f"{len(loads)} tasks with {len(senders)} messages are too many")
    for ends in (senders, receivers):
        if len(ends) and (ends.min() < 0 or ends.max() >= len(loads)):
            wrong = ends[(ends < 0) | (ends >= len(loads))][0]
            raise NumascapeError(f"a message names task {wrong}, but there are only {len(loads)}")
    pairs, pair = np.unique(senders * max(len(loads), 1) + receivers, return_inverse=True)

    def added_up(values: npt.ArrayLike) -> Floats:
        weights = np.broadcast_to(np.asarray(values, np.float64).ravel(), len(senders))
        return np.bincount(pair, weights, len(pairs)).astype(np.float64)

    offsets = np.zeros(len(loads) + 1, np.uint64)
    np.cumsum(np.bincount(pairs // max(len(loads), 1), minlength=len(loads)), out=offsets[1:])
    return TaskGraph(
        load=loads,
        core=_cores(core, len(loads)),
        offsets=offsets,
        to=(pairs % max(len(loads), 1)).astype(np.uint32),
        bytes=no_floats() if bytes is None else added_up(bytes),
        count=added_up(1.0 if count is None else count),
        fixed=np.zeros(0, np.uint8) if fixed is None else np.asarray(fixed, np.uint8),
        migrated_bytes=_floats(migrated_bytes),
        memory=_floats(memory),
    )


def _floats(values: npt.ArrayLike | None) -> Floats:
    return no_floats() if values is None else np.asarray(values, np.float64).ravel()


def _cores(values: npt.ArrayLike, tasks: int) -> Cores:
    cores = np.asarray(values, np.int64).ravel()
    if len(cores) != tasks:
        raise NumascapeError(f"{len(cores)} present cores are given for {tasks} tasks")
    if len(cores) and not 0 <= cores.min() <= cores.max() < 1 << 32:
        raise NumascapeError("a task is on a core whose number is negative or above 2^32")
    return cores.astype(np.uint32)
