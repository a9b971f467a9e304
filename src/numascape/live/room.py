# SPDX-License-Identifier: Apache-2.0
"""Limits how much is moved to a node: at most its free memory above its watermarks."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from numascape.host.limits import read_limits
from numascape.host.node_memory import read_nodes
from numascape.live.targets import TargetProcess
from numascape.machine.kernel_lists import parse_cpu_list

# The kernel's counts are read again after this many bytes: other programs allocate meanwhile.
_READ_AGAIN: Final = 32 << 20


class Room:
    """Grants bytes on nodes as long as they are free above the low watermark."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._granted = 0
        self._left: dict[int, int] = {}
        self._read()

    def grant(self, node: int, size: int) -> bool:
        """Whether `size` more bytes may be moved to the node; they then count as used."""
        if self._granted + size > _READ_AGAIN:
            self._read()
        if self._left.get(node, 0) < size:
            return False
        self._left[node] -= size
        self._granted += size
        return True

    def _read(self) -> None:
        self._granted = 0
        self._left = {node.node: node.usable for node in read_nodes(self._root)}


def usable_nodes(target: TargetProcess) -> list[int]:
    """The nodes with memory that the process may use, by its cpuset."""
    with_memory = [node.node for node in read_nodes(target.root)]
    allowed = _allowed(target)
    if allowed is None:
        allowed = read_limits(target.root).nodes
    return [node for node in with_memory if allowed is None or node in allowed]


def _allowed(target: TargetProcess) -> tuple[int, ...] | None:
    try:
        text = (target.folder / "status").read_text(errors="replace")
        line = next(line for line in text.splitlines() if line.startswith("Mems_allowed_list:"))
        return tuple(parse_cpu_list(line.partition(":")[2]))
    except (OSError, StopIteration, ValueError):
        return None
