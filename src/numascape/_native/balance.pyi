# SPDX-License-Identifier: Apache-2.0
"""Mapping tasks to cores; see src/native/balance."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

class BalanceError(ValueError):
    """The problem or the mapping is contradictory; the message is one line."""

class Problem:
    """Arrays as in src/native/balance/problem.h, checked; they are not copied."""

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        cost_per_message: float,
        cost_per_byte: float,
    ) -> None: ...

def algorithms() -> list[tuple[str, str]]:
    """Names and descriptions, in the order of tables."""

def run(
    problem: Problem,
    algorithm: str,
    options: Mapping[str, float | bool | tuple[str, ...]],
    start: NDArray[np.uint32] | None,
) -> tuple[NDArray[np.uint32], float]:
    """The mapping and the algorithm's own seconds. Raises BalanceError."""

def pareto_front(
    problem: Problem, options: Mapping[str, float | bool | tuple[str, ...]]
) -> list[NDArray[np.uint32]]:
    """The Pareto-optimal mappings, in order of migrations."""

def measure(problem: Problem, mapping: NDArray[np.uint32]) -> dict[str, Any]:
    """A mapping's metrics. Raises BalanceError."""

def objective(
    problem: Problem,
    mapping: NDArray[np.uint32],
    options: Mapping[str, float | bool | tuple[str, ...]],
) -> tuple[float, float, float, float]:
    """The values that incumbent minimises: excess of migrations, memory, other caps; cost."""

def check_core_memory(problem: Problem) -> None:
    """Raises BalanceError if no mapping can keep the limits of the cores' memory."""

def keep_core_memory(
    problem: Problem,
    mapping: NDArray[np.uint32],
    options: Mapping[str, float | bool | tuple[str, ...]],
) -> NDArray[np.uint32]:
    """The mapping with tasks moved off cores whose memory is exceeded. Raises BalanceError."""

def start(
    problem: Problem, name: str, options: Mapping[str, float | bool | tuple[str, ...]]
) -> NDArray[np.uint32]:
    """The relabelled mapping from which incumbent starts. Raises BalanceError."""

def core_times(problem: Problem, mapping: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Seconds of each core's tasks and background."""

def relabel(problem: Problem, mapping: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The mapping, with cores exchanged such that the fewest tasks migrate."""
