# SPDX-License-Identifier: Apache-2.0
"""The page of running processes: the nodes of their memory and threads at one moment.

Several processes are shown together, and each of them.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from numascape.analysis.text import short_printable
from numascape.errors import NumascapeError
from numascape.live.notes import notes_of
from numascape.live.positions import PlacedBytes, bytes_by_position, placed_bytes
from numascape.live.shared_files import FileKey, SharedFile
from numascape.live.snapshot import Snapshot
from numascape.live.strips import node_strip
from numascape.live.structures import (
    ProcessOnNode,
    Structure,
    bound_threads,
    node_uses,
    structures_of,
)
from numascape.live.together import JointStructure, Together, together
from numascape.machine.kernel_lists import format_cpu_list
from numascape.report.encode import encode_text
from numascape.report.render import SIZE, filled, viewer_page, write_page
from numascape.report.run import plain

FORMAT: Final = "numascape-processes"
VERSION: Final = 2
ROWS: Final = (2000, 500, 100, 20)
"""Numbers of structures and of threads of a process to try until the page fits."""
_LONGEST_NAME: Final = 400
_POSITIONS: Final = 32
Files = dict[FileKey, SharedFile]


def render_processes(
    snapshots: Sequence[Snapshot], files: Files, in_detail: bool, path: Path
) -> int:
    """Write the page, at most SIZE bytes, and return its size. Raises NumascapeError.

    `files` are those that several of the processes map. Unless `in_detail`, the tensors of a layer
    and the sections of a file are one structure.
    """
    template = viewer_page()
    first = snapshots[0].target
    others = f" and {len(snapshots) - 1} more" if len(snapshots) > 1 else ""
    title = html.escape(short_printable(f"Memory of {first.name} ({first.pid}){others}", 200))
    found = together(snapshots, files, in_detail)
    for rows in ROWS:
        page = filled(template, title, encode_text(processes_data(found, in_detail, rows)), {})
        if len(page) <= SIZE:
            write_page(page, path)
            return len(page)
    raise NumascapeError(f"the page does not fit into {SIZE} bytes: name fewer processes")


def processes_data(found: Together, in_detail: bool, rows: int) -> dict[str, Any]:
    """The page's data, with at most this many structures and threads of each process.

    The processes with the most memory come first.
    """
    pairs = sorted(
        zip(found.snapshots, found.processes, strict=True), key=lambda pair: pair[1].order
    )
    data = {
        "processes": [_process(one, sums.shared_nodes, in_detail, rows) for one, sums in pairs],
        "together": _together(found, rows) if len(pairs) > 1 else None,
    }
    return {"format": FORMAT, "version": VERSION, **plain(data)}


def _process(
    snapshot: Snapshot, shared: Mapping[int, int], in_detail: bool, rows: int
) -> dict[str, Any]:
    uses = _ordered(node_uses(snapshot))
    every = [item for item in structures_of(snapshot, in_detail) if item.resident or item.swapped]
    structures = [
        _structure(item, placed_bytes(snapshot.cells, snapshot.parts, item.parts), uses)
        for item in every[:rows]
    ]
    return {
        "pid": snapshot.target.pid,
        "name": _name(snapshot.target.name),
        **_memory([snapshot], uses, shared),
        "structures": structures,
        "more_structures": max(0, len(every) - rows),
        "threads": [
            {
                "tid": thread.tid,
                "name": _name(thread.name),
                "cpu": thread.cpu,
                "node": thread.node,
                "allowed": format_cpu_list(thread.cpus),
            }
            for thread in snapshot.threads[:rows]
        ],
        "more_threads": max(0, len(snapshot.threads) - rows),
    }


def _together(found: Together, rows: int) -> dict[str, Any]:
    """All processes, with each page of a shared file once."""
    uses = _ordered(found.nodes)
    structures = [
        {**_structure(item, found.placed(item), uses), "users": _users(item, found)}
        for item in found.structures[:rows]
    ]
    return {
        **_memory(found.snapshots, uses, found.shared_nodes),
        "structures": structures,
        "more_structures": max(0, len(found.structures) - rows),
    }


def _users(item: JointStructure, found: Together) -> dict[str, Any]:
    """The processes of a structure: the number of the only one, or how many."""
    pids = [found.snapshots[at].target.pid for at in item.processes]
    return {
        "pid": pids[0] if len(pids) == 1 else None,
        "count": len(pids),
        "shared": item.is_shared,
    }


def _ordered(uses: Sequence[ProcessOnNode]) -> list[ProcessOnNode]:
    """By node; memory whose node is unknown comes last."""
    return sorted(uses, key=lambda use: (use.node < 0, use.node))


def _memory(
    snapshots: Sequence[Snapshot], uses: Sequence[ProcessOnNode], shared: Mapping[int, int]
) -> dict[str, Any]:
    """What is known of one process, and of several together."""
    first = snapshots[0]
    bound = bound_threads(snapshots)
    huge_told = all(one.huge_told for one in snapshots)
    nodes = [
        {
            "node": use.node,
            "anonymous": use.anonymous,
            "files": use.mapped_file,
            "shared": shared.get(use.node, 0),
            "huge": use.huge if huge_told or use.huge else None,
            "threads": use.threads,
            "bound": bound.get(use.node, 0),
            "cpus": format_cpu_list(first.nodes.get(use.node, ())),
        }
        for use in uses
    ]
    time = datetime.fromtimestamp(first.time_s).astimezone().isoformat(" ", "seconds")
    return {"time": time, "nodes": nodes, "notes": notes_of(*snapshots)}


def _structure(
    item: Structure, placed: PlacedBytes, uses: Sequence[ProcessOnNode]
) -> dict[str, Any]:
    """A structure; `nodes` has its bytes in the order of `uses`."""
    numbers = [use.node for use in uses]
    return {
        "name": _name(item.name),
        "kind": item.kind,
        "file": _name(item.file),
        "source": _name(item.source),
        "anonymous": item.anonymous,
        "files": item.mapped_file,
        "huge": item.huge,
        "swapped": item.swapped,
        "nodes": [item.nodes.get(node, 0) for node in numbers],
        "policy": _name(", ".join(sorted(item.policies))),
        "strip": node_strip(placed),
        "positions": _positions(placed, numbers),
    }


def _positions(placed: PlacedBytes, numbers: Sequence[int]) -> list[list[int]]:
    """The percent of each position that are in memory on each of these nodes.

    The list of a node without pages is empty. A share above 0 is at least 1.
    """
    by_node = bytes_by_position(placed, _POSITIONS)
    size = placed.length / _POSITIONS
    return [
        [min(100, max(round(100 * one / size), int(one > 0))) for one in by_node[node].tolist()]
        if node in by_node
        else []
        for node in numbers
    ]


def _name(text: str) -> str:
    return short_printable(text, _LONGEST_NAME)
