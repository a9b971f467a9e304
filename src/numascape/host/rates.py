# SPDX-License-Identifier: Apache-2.0
"""The kernel's counters since the start of the system, or per second between two states."""

from __future__ import annotations

from pathlib import Path

from numascape.host.state import HostState

_NAMES = ("hit", "miss", "foreign", "local_node", "other_node", "interleave_hit")


def counter_rows(state: HostState, before: HostState | None) -> list[tuple[str, list[float]]]:
    """Each counter's name and its values by node, in the order of the nodes; none if unknown.

    With `before`, pages per second since then.
    """
    if any(node.counters is None for node in state.nodes):
        return []
    seconds = state.time_s - before.time_s if before else 1.0
    former = {node.node: node.counters for node in before.nodes} if before else {}
    rows = []
    for name in _NAMES:
        values = [
            (getattr(node.counters, name) - getattr(former.get(node.node), name, 0)) / seconds
            for node in state.nodes
        ]
        rows.append((name, values))
    return rows


def event_counts(root: Path, *names: str) -> list[int]:
    """Events of /proc/vmstat since the start of the system; 0 if unknown."""
    try:
        lines = (root / "proc/vmstat").read_text().splitlines()
    except OSError:
        lines = []
    known = dict(line.split()[:2] for line in lines if " " in line)
    return [int(known.get(name, 0)) for name in names]
