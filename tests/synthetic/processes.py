# SPDX-License-Identifier: Apache-2.0
"""Snapshots of running processes, as a machine with two nodes would have them."""

from __future__ import annotations

import numpy as np

from numascape.live.mappings import Mapping
from numascape.live.parts import Part
from numascape.live.positions import PartCells
from numascape.live.shared_files import FileKey, SharedFile
from numascape.live.snapshot import HUGE_PAGE, PartCount, Snapshot
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread

PAGE = 4096
TENSORS = 60
MODEL: FileKey = ("8:1", 6)
_HEAP_CELLS = 32
_HEAP_CELL = 4 * HUGE_PAGE // _HEAP_CELLS


def model_server(name: str, pid: int = 4242) -> Snapshot:
    """A process with a variable of this name, a heap in huge pages, and a model.

    The variable is on node 0, the heap is on both nodes, and the layers of the model are on them in
    turn. The last page of the heap is in swap, and the node of the one before is unknown. A thread
    may run on node 1 only.
    """
    mappings = (
        Mapping(0, 8 * PAGE, "rw-p", 0, "8:1", 5, "/opt/server", policy="default"),
        Mapping(HUGE_PAGE, 5 * HUGE_PAGE, "rw-p", 0, "0:0", 0, "[heap]", policy="bind:0-1"),
        Mapping(1 << 30, (1 << 30) + TENSORS * 8 * PAGE, "r--s", 0, "8:1", 6, "/model.gguf"),
    )
    parts = [
        Part(0, 0, 8 * PAGE, PAGE, name, "global", "/opt/server", source="server.c:1"),
        Part(1, HUGE_PAGE, 5 * HUGE_PAGE, PAGE, "[heap]", "heap"),
    ]
    rows = [
        (0, 0, "anonymous", PAGE, 8 * PAGE),
        (1, 0, "anonymous", HUGE_PAGE, 3 * HUGE_PAGE),
        (1, 1, "anonymous", HUGE_PAGE, HUGE_PAGE - 2 * PAGE),
        (1, -1, "anonymous", PAGE, PAGE),
        (1, -1, "swapped", PAGE, PAGE),
    ]
    for layer in range(TENSORS):
        start = (1 << 30) + layer * 8 * PAGE
        tensor = f"blk.{layer}.weight"
        parts.append(Part(2, start, start + 8 * PAGE, PAGE, tensor, "tensor", "/model.gguf", layer))
        rows.append((len(parts) - 1, layer % 2, "file", PAGE, 8 * PAGE))
    return Snapshot(
        target=TargetProcess(pid, name, 1),
        time_s=1_795_000_000.0,
        mappings=mappings,
        parts=tuple(parts),
        counts=tuple(PartCount(*row) for row in rows),
        threads=(
            Thread(pid, name, 1, 0, 0, (0, 1, 2, 3), 0),
            Thread(pid + 1, "worker", 1, 3, 1, (2, 3), 0),
        ),
        nodes={0: (0, 1), 1: (2, 3)},
        every=1,
        huge_told=True,
        cells=_cells(len(parts)),
    )


def _cells(parts: int) -> PartCells:
    """The pages of model_server by their places in its parts (their number)."""
    rows = [(0, 0, 0, 8 * PAGE)]
    rows += [(1, cell, int(cell >= 24), _HEAP_CELL) for cell in range(_HEAP_CELLS - 1)]
    rows += [(1, _HEAP_CELLS - 1, -1, PAGE), (1, _HEAP_CELLS - 1, 1, _HEAP_CELL - 2 * PAGE)]
    rows += [(2 + layer, 0, layer % 2, 8 * PAGE) for layer in range(parts - 2)]
    part, cell, node, count = np.array(rows, np.int64).T
    sizes = [8 * PAGE, _HEAP_CELL, *[8 * PAGE] * (parts - 2)]
    return PartCells(part, cell, node, count, np.array(sizes, np.int64))


def shared_model() -> dict[FileKey, SharedFile]:
    """The model of several such processes: the layers are on both nodes in turn."""
    nodes = np.repeat(np.arange(TENSORS) % 2, 8).astype(np.int16)
    return {MODEL: SharedFile(0, PAGE, nodes)}
