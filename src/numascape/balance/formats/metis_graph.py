# SPDX-License-Identifier: Apache-2.0
"""METIS' graph files (METIS manual 5.1, section 4.1.1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from numascape.balance.formats.bounded import read_text, whole_numbers
from numascape.balance.generators import blocks
from numascape.balance.graph import TaskGraph, task_graph
from numascape.errors import NumascapeError


def read_metis(path: Path, cores: int) -> TaskGraph:
    """Read vertices as tasks (load: first weight, or 1), and edges as messages both ways."""
    lines = [
        (number, line.split())
        for number, line in enumerate(read_text(path).splitlines(), 1)
        if not line.startswith("%")
    ]
    if not lines or not 2 <= len(lines[0][1]) <= 4:
        raise NumascapeError(f"{path}: its first line is not `vertices edges [format [weights]]`")
    number, words = lines[0]
    vertices, edges = whole_numbers(words[:2], path, number)
    kind = words[2].zfill(3) if len(words) > 2 else "000"
    if len(kind) != 3 or set(kind) - set("01"):
        raise NumascapeError(f"{path}, line {number}: {words[2][:10]!r} is not a format of METIS")
    sizes, loads, weights = (digit == "1" for digit in kind)
    constraints = whole_numbers(words[3:4], path, number)[0] if len(words) > 3 else int(loads)
    before = int(sizes) + constraints
    # A blank line is a vertex without edges, except after the last vertex.
    rows = lines[1 : vertices + 1]
    if len(rows) < vertices or any(row for _, row in lines[vertices + 1 :]):
        raise NumascapeError(f"{path}: it must have one line for each of its {vertices} vertices")

    load = np.ones(vertices)
    migrated = np.zeros(vertices)
    sender, receiver, count = [], [], []
    for vertex, (number, row) in enumerate(rows):
        values = whole_numbers(row, path, number)
        ends = values[before:]
        step = 2 if weights else 1
        if len(values) < before or len(ends) % step:
            raise NumascapeError(f"{path}, line {number}: numbers are missing")
        if min(values, default=0) < 0:
            raise NumascapeError(f"{path}, line {number}: a number is negative")
        if sizes:
            migrated[vertex] = values[0]
        if constraints:
            load[vertex] = values[int(sizes)]
        for i in range(0, len(ends), step):
            sender.append(vertex)
            receiver.append(ends[i] - 1)
            count.append(float(ends[i + 1]) if weights else 1.0)
    if len(sender) != 2 * edges:
        raise NumascapeError(
            f"{path}: its first line says {edges} edges, but its other lines list "
            f"{len(sender) / 2:g} (each edge at both of its vertices)"
        )
    return task_graph(
        load, blocks(vertices, cores), sender, receiver,
        count=np.array(count), migrated_bytes=migrated if sizes else None,
    )  # fmt: skip
