# SPDX-License-Identifier: Apache-2.0
"""A host's state for programs: a JSON document, and Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from numascape.host.node_memory import NodeMemory
from numascape.host.state import HostState

_BYTES: Final = {
    "total": "Memory of the node.",
    "free": "Free memory.",
    "usable": "Free memory above the low watermark: what programs get before other nodes are used.",
    "cache": "Page cache of files on disks.",
    "clean": "Page cache that is neither dirty nor mapped.",
    "dirty": "Page cache that must be written first.",
    "mapped": "Page cache that programs have mapped.",
    "shared": "tmpfs and shared memory; not freed by dropping caches.",
    "anonymous": "Programs' own memory.",
    "slab": "The kernel's objects.",
    "reclaimable": "Memory that the kernel frees when it is needed.",
    "huge": "Set aside as huge pages.",
    "huge_free": "Set aside as huge pages, and unused.",
}
_COUNTERS: Final = ("hit", "miss", "foreign", "interleave_hit", "local_node", "other_node")


def node_bytes(node: NodeMemory) -> dict[str, int]:
    """The quantities of a node by name, in bytes."""
    return {name: getattr(node, name) for name in _BYTES}


def state_document(state: HostState) -> dict[str, Any]:
    """The state as plain data, in bytes; null is unknown."""
    nodes = [
        {
            "node": node.node,
            "bytes": node_bytes(node),
            "watermarks": asdict(node.watermarks) if node.watermarks else None,
            "counters": asdict(node.counters) if node.counters else None,
            "fallback": list(node.fallback),
            "allowed": state.allowed(node.node),
        }
        for node in state.nodes
    ]
    return {
        "format": "numascape host",
        "version": 1,
        "nodes": nodes,
        "settings": asdict(state.settings),
        "limits": asdict(state.limits),
        "temporary_files": [asdict(files) for files in state.temporary_files],
        "notes": list(state.notes),
    }


def host_prometheus(state: HostState) -> str:
    """The state in the text format that node_exporter's textfile collector reads."""
    return "\n".join(_lines(state)) + "\n"


def _lines(state: HostState) -> Iterator[str]:
    for name, text in _BYTES.items():
        metric = f"numascape_node_{name}_bytes"
        yield f"# HELP {metric} {text}"
        yield f"# TYPE {metric} gauge"
        for node in state.nodes:
            yield f'{metric}{{node="{node.node}"}} {getattr(node, name)}'
    counted = [(node.node, node.counters) for node in state.nodes if node.counters]
    for name in _COUNTERS if counted else ():
        metric = f"numascape_node_numa_{name}_pages_total"
        yield f"# HELP {metric} Pages allocated: numastat's {name}."
        yield f"# TYPE {metric} counter"
        for number, counters in counted:
            yield f'{metric}{{node="{number}"}} {getattr(counters, name)}'
    for name in ("numa_balancing", "zone_reclaim_mode"):
        value = getattr(state.settings, name)
        if value is not None:
            yield f"# HELP numascape_{name} The kernel's setting."
            yield f"# TYPE numascape_{name} gauge"
            yield f"numascape_{name} {value}"
