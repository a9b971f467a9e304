# SPDX-License-Identifier: Apache-2.0
"""The memory of tasks in files of vt and LBAF: named values in a task's `user_defined`.

task_footprint_bytes: what a task always holds; task_working_bytes: what it needs in addition while
it runs; task_serialized_bytes: what its migration carries; shared_id and shared_bytes: a block that
the tasks of a rank use together; rank_working_bytes: what the rank needs by itself.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np

from numascape.balance.graph import NO_BLOCK, Floats, TaskGraph, no_floats
from numascape.errors import NumascapeError

_MAX_BYTES = 1e18


class TaskMemory:
    """Collects the memory of tasks, one after the other."""

    def __init__(self) -> None:
        self._footprint: list[float] = []
        self._working: list[float] = []
        self._serialized: list[float] = []
        self._block: list[int] = []
        self._numbers: dict[int, int] = {}
        self._block_bytes: list[float] = []
        self._taken: dict[int, float] = {}

    def add(self, path: Path, rank: int, values: dict[str, Any] | None) -> None:
        """Read the values of the next task, which is on `rank`. Raises NumascapeError."""
        given = values or {}

        def amount(name: str, least: float = 0.0) -> float:
            return _amount(path, name, given.get(name, least), least)

        self._footprint.append(amount("task_footprint_bytes"))
        self._working.append(amount("task_working_bytes"))
        self._serialized.append(amount("task_serialized_bytes"))
        self._taken[rank] = max(self._taken.get(rank, 0.0), amount("rank_working_bytes"))
        # -1 stands for no block. Whole numbers are stored as floats.
        shared = int(amount("shared_id", -1.0))
        if shared < 0:
            self._block.append(NO_BLOCK)
            return
        number = self._numbers.setdefault(shared, len(self._numbers))
        if number == len(self._block_bytes):
            self._block_bytes.append(0.0)
        self._block_bytes[number] = max(self._block_bytes[number], amount("shared_bytes"))
        self._block.append(number)

    def added_to(self, graph: TaskGraph, cores: int) -> TaskGraph:
        """The graph with what is known of the memory of its tasks and cores."""
        taken = np.zeros(cores)
        for rank, size in self._taken.items():
            if rank < cores:  # a rank without a core is refused later
                taken[rank] = size
        return dataclasses.replace(
            graph,
            memory=_known(self._footprint),
            working=_known(self._working),
            migrated_bytes=_known(self._serialized),
            block=np.array(self._block if self._block_bytes else [], np.uint32),
            block_bytes=np.array(self._block_bytes, np.float64),
            core_memory_taken=taken if taken.any() else no_floats(),
        )


def _amount(path: Path, name: str, value: object, least: float) -> float:
    # A bool is an int in Python. Other values of a program may have any type.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NumascapeError(f"{path}: {name} is not a number")
    if not (math.isfinite(value) and least <= value <= _MAX_BYTES):
        raise NumascapeError(f"{path}: {name} is {value:.6g}, not a size in bytes or an id")
    return float(value)


def _known(values: list[float]) -> Floats:
    return np.array(values, np.float64) if any(values) else no_floats()
