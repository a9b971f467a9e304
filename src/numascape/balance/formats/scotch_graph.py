# SPDX-License-Identifier: Apache-2.0
"""Scotch's graph files, .grf (Scotch 7.0 user's guide, section 5.1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from numascape.balance.formats.bounded import read_text, whole_numbers
from numascape.balance.generators import blocks
from numascape.balance.graph import TaskGraph, task_graph
from numascape.errors import NumascapeError


class _Words:
    """The file's numbers in order; line ends do not matter."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._words = read_text(path).split()
        self._next = 0

    def left(self) -> int:
        return len(self._words) - self._next

    def take(self) -> int:
        if not self.left():
            raise NumascapeError(f"{self._path} ends too early")
        self._next += 1
        word = self._words[self._next - 1]
        value: int = whole_numbers([word], self._path, 1)[0]
        if value < 0:
            raise NumascapeError(f"{self._path}: {value} is negative")
        return value


def read_scotch(path: Path, cores: int) -> TaskGraph:
    """Read vertices as tasks (load 1 if they have none), and arcs as messages."""
    words = _Words(path)
    if words.take() != 0:
        raise NumascapeError(f"{path} is not a Scotch graph of version 0")
    vertices, arcs = words.take(), words.take()
    base, flags = words.take(), words.take()
    labels, weights, loads = flags // 100, flags // 10 % 10, flags % 10
    if {labels, weights, loads} - {0, 1}:
        raise NumascapeError(f"{path}: {flags} are not flags of a Scotch graph")
    # Each vertex has at least one number, so this limits what is allocated.
    if vertices > words.left():
        raise NumascapeError(f"{path} ends before its {vertices} vertices")
    load, label = np.ones(vertices), np.arange(vertices) + base
    sender, receiver, count = [], [], []
    for vertex in range(vertices):
        if labels:
            label[vertex] = words.take()
        if loads:
            load[vertex] = words.take()
        degree = words.take()
        if degree > words.left():
            raise NumascapeError(f"{path}: vertex {vertex} has more arcs than the file")
        for _ in range(degree):
            count.append(float(words.take()) if weights else 1.0)
            sender.append(vertex)
            receiver.append(words.take())
    if len(sender) != arcs or words.left():
        raise NumascapeError(f"{path}: its header says {arcs} arcs, but it lists {len(sender)}")
    places = {int(name): place for place, name in enumerate(label)}
    if any(name not in places for name in receiver):
        raise NumascapeError(f"{path}: an arc leads to a vertex that does not exist")
    return task_graph(
        load, blocks(vertices, cores), sender, [places[name] for name in receiver],
        count=np.array(count),
    )  # fmt: skip
