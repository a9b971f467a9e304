# SPDX-License-Identifier: Apache-2.0
"""The page of running processes: the nodes of their memory and threads at one moment."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from numascape.analysis.text import short_printable
from numascape.errors import NumascapeError
from numascape.live.notes import notes_of
from numascape.live.snapshot import Snapshot
from numascape.live.structures import ProcessOnNode, Structure, node_uses, structures_of
from numascape.machine.kernel_lists import format_cpu_list
from numascape.report.encode import encode_text
from numascape.report.render import SIZE, filled, viewer_page, write_page
from numascape.report.run import plain

FORMAT: Final = "numascape-processes"
VERSION: Final = 1
ROWS: Final = (2000, 500, 100, 20)
"""Numbers of structures and of threads of a process to try until the page fits."""
_LONGEST_NAME: Final = 400


def render_processes(snapshots: Sequence[Snapshot], in_detail: bool, path: Path) -> int:
    """Write the page, at most SIZE bytes, and return its size. Raises NumascapeError.

    Unless `in_detail`, the tensors of a layer and the sections of a file are one structure.
    """
    template = viewer_page()
    first = snapshots[0].target
    others = f" and {len(snapshots) - 1} more" if len(snapshots) > 1 else ""
    title = html.escape(short_printable(f"Memory of {first.name} ({first.pid}){others}", 200))
    for rows in ROWS:
        data = processes_data(snapshots, in_detail, rows)
        page = filled(template, title, encode_text(data), {})
        if len(page) <= SIZE:
            write_page(page, path)
            return len(page)
    raise NumascapeError(f"the page does not fit into {SIZE} bytes: name fewer processes")


def processes_data(snapshots: Sequence[Snapshot], in_detail: bool, rows: int) -> dict[str, Any]:
    """The page's data, with at most this many structures and threads of each process."""
    data = {"processes": [_process(one, in_detail, rows) for one in snapshots]}
    return {"format": FORMAT, "version": VERSION, **plain(data)}


def _process(snapshot: Snapshot, in_detail: bool, rows: int) -> dict[str, Any]:
    # Memory whose node is unknown comes last.
    uses = sorted(node_uses(snapshot), key=lambda use: (use.node < 0, use.node))
    numbers = [use.node for use in uses]
    every = [item for item in structures_of(snapshot, in_detail) if item.resident or item.swapped]
    return {
        "pid": snapshot.target.pid,
        "name": _name(snapshot.target.name),
        "time": datetime.fromtimestamp(snapshot.time_s).astimezone().isoformat(" ", "seconds"),
        "nodes": [_node(snapshot, use) for use in uses],
        "structures": [_structure(item, numbers) for item in every[:rows]],
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
        "notes": notes_of(snapshot),
    }


def _node(snapshot: Snapshot, use: ProcessOnNode) -> dict[str, Any]:
    bound = sum(thread.nodes(snapshot.nodes) == [use.node] for thread in snapshot.threads)
    return {
        "node": use.node,
        "anonymous": use.anonymous,
        "files": use.mapped_file,
        "huge": use.huge if snapshot.huge_told or use.huge else None,
        "threads": use.threads,
        "bound": bound,
        "cpus": format_cpu_list(snapshot.nodes.get(use.node, ())),
    }


def _structure(item: Structure, numbers: list[int]) -> dict[str, Any]:
    """A structure; `nodes` has its bytes in the order of the process' nodes."""
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
    }


def _name(text: str) -> str:
    return short_printable(text, _LONGEST_NAME)
