# SPDX-License-Identifier: Apache-2.0
"""The loads of tasks from a file of their own, for graphs that have none, such as matrices."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from numascape.balance.formats.bounded import numbers, read_text
from numascape.balance.graph import Floats, TaskGraph
from numascape.errors import NumascapeError


def with_loads(graph: TaskGraph, path: Path) -> TaskGraph:
    """The graph with the loads of `path`: a number for each task, in their order.

    They are separated by commas, semicolons, blanks or lines; lines with # are comments. Raises
    NumascapeError.
    """
    found: list[Floats] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = line.replace(",", " ").replace(";", " ").split()
        if words and not line.lstrip().startswith("#"):
            found.append(numbers(words, path, number))
    loads = np.concatenate(found) if found else np.zeros(0)
    if len(loads) != graph.tasks:
        raise NumascapeError(f"{path} has {len(loads)} loads, but there are {graph.tasks} tasks")
    if (loads < 0).any():
        raise NumascapeError(f"{path} has a negative load: {loads[loads < 0][0]:g}")
    return dataclasses.replace(graph, load=loads)
