# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from numascape.balance import TaskGraph, task_graph


@pytest.fixture
def small() -> TaskGraph:
    """Four tasks on two cores: 0 and 1 exchange many messages, 2 and 3 few."""
    return task_graph(
        load=[3, 1, 2, 2],
        core=[0, 0, 0, 1],
        sender=[0, 1, 2, 2],
        receiver=[1, 0, 3, 3],
        bytes=[100, 50, 10, 20],
        count=[2, 1, 1, 3],
        fixed=[True, False, False, False],
        migrated_bytes=[10, 20, 30, 40],
    )


def lbdump(path: Path, new: bool, loads: Sequence[float] = (1.5, 0.5, 0.25)) -> Path:
    """An LBDump by hand: two processors, three objects, of which 0 sends to 1, and 1 to 2 and 0."""
    out = bytes.fromhex("10eabdf9") + bytes([3, 2, 4, 4, 8, 8, 1, 4, 8, 8, 1, 8])
    n = len(loads)
    out += struct.pack("<ii", 1, 2)
    out += struct.pack("<iQ", n, 2) if new else struct.pack("<iiii", 2, n, n, 3)
    for pe in range(2):
        out += struct.pack("<dddd?ii", 2.0, 0.5, 0.125 * (pe + 1), 1.0, True, n, pe)
    out += struct.pack("<Q", n) if new else b""
    for i, load in enumerate(loads):
        out += b"" if new else struct.pack("<iQ", 0, 0)
        out += struct.pack("<iiQid??H", 7, i, 100 + i, i, load, i != 2, False, 64 * i)
    where = [0, 0, 1][:n]
    out += (struct.pack("<Q", n) if new else b"") + struct.pack(f"<{n}i", *where)
    out += struct.pack("<Q", 3) if new else struct.pack(f"<{n}i", *where)
    out += struct.pack("<iiQb", -1, 7, 100, 2) + struct.pack("<iQi", 7, 101, 0)
    out += struct.pack("<ii", 4, 400)
    out += struct.pack("<iiQb", -1, 7, 101, 3) + struct.pack("<iiQiQ", 2, 7, 102, 7, 100)
    out += struct.pack("<ii", 2, 60)
    out += struct.pack("<iiQb", -1, 7, 100, 1) + struct.pack("<i", 1) + struct.pack("<ii", 9, 9)
    path.write_bytes(out)
    return path
