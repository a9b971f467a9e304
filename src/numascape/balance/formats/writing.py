# SPDX-License-Identifier: Apache-2.0
"""Mappings and task graphs as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from numascape.atomic import replacing_file
from numascape.balance.formats.task_document import FORMAT, VERSION
from numascape.balance.graph import Cores, TaskGraph
from numascape.balance.mapping import Balanced
from numascape.balance.target import Target
from numascape.errors import NumascapeError


def write_mapping(path: Path, graph: TaskGraph, target: Target, balanced: Balanced) -> None:
    """Write the core of each task as .json, .csv, or .map (part numbers, as METIS and Scotch).

    Raises NumascapeError for another suffix, and OSError.
    """
    check_mapping_name(path)
    text = _WRITERS[path.suffix](graph, target, balanced)
    with replacing_file(path) as beside:
        beside.write_text(text)


def check_mapping_name(path: Path) -> None:
    """Raise NumascapeError unless a mapping can be written to a file of this name."""
    if path.suffix not in _WRITERS:
        raise NumascapeError(f"{path}: a mapping is written to files ending in .json, .csv or .map")


def _cpus(target: Target, mapping: Cores) -> list[int]:
    return [target.cpus[core] for core in mapping] if target.cpus else mapping.tolist()


def _json(graph: TaskGraph, target: Target, balanced: Balanced) -> str:
    mapping = balanced.mapping
    document = {
        "format": "numascape mapping",
        "version": 1,
        "algorithm": balanced.algorithm,
        "machine": target.name,
        "core": mapping.tolist(),
        "cpu": _cpus(target, mapping),
        "node": target.core_node[mapping].tolist(),
        "metrics": vars(balanced.metrics),
    }
    return json.dumps(document) + "\n"


def _csv(graph: TaskGraph, target: Target, balanced: Balanced) -> str:
    rows = zip(
        graph.core.tolist(), balanced.mapping.tolist(), _cpus(target, balanced.mapping),
        target.core_node[balanced.mapping].tolist(), strict=True,
    )  # fmt: skip
    lines = [f"{task},{before},{core},{cpu},{node}" for task, (before, core, cpu, node)
             in enumerate(rows)]  # fmt: skip
    return "\n".join(["task,before,core,cpu,node", *lines, ""])


def _scotch_map(graph: TaskGraph, target: Target, balanced: Balanced) -> str:
    """The number of lines, then one line with vertex and part for each task, as Scotch reads it."""
    lines = [f"{task}\t{core}" for task, core in enumerate(balanced.mapping.tolist())]
    return "\n".join([str(graph.tasks), *lines, ""])


_WRITERS: Final = {".json": _json, ".csv": _csv, ".map": _scotch_map}


def write_graph(path: Path, graph: TaskGraph) -> None:
    """Write the tasks as Numascape's JSON document. Raises OSError."""
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    for name in ("load", "core", "migrated_bytes", "memory", "background"):
        values = getattr(graph, name)
        if len(values):
            document[name] = values.tolist()
    if len(graph.fixed):
        document["fixed"] = [bool(value) for value in graph.fixed]
    document.setdefault("load", [])
    document["messages"] = {
        "sender": graph.senders.tolist(),
        "receiver": graph.to.tolist(),
        "count": graph.count.tolist(),
    }
    if len(graph.bytes):
        document["messages"]["bytes"] = graph.bytes.tolist()
    with replacing_file(path) as beside:
        beside.write_text(json.dumps(document) + "\n")
