# SPDX-License-Identifier: Apache-2.0
"""Snapshots of running processes, as a machine with two nodes would have them."""

from __future__ import annotations

from numascape.live.mappings import Mapping
from numascape.live.parts import Part
from numascape.live.snapshot import HUGE_PAGE, PartCount, Snapshot
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread

PAGE = 4096
TENSORS = 60


def model_server(name: str, pid: int = 4242) -> Snapshot:
    """A process with a variable of this name, a heap in huge pages, and a model.

    The variable is on node 0, the heap is on both nodes, and the layers of the model are on them in
    turn. One page of the heap is in swap, and the node of another one is unknown. A thread may run
    on node 1 only.
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
    )
