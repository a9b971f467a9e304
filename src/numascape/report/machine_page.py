# SPDX-License-Identifier: Apache-2.0
"""The page of a machine, in the viewer: its packages and nodes, and the matrices between nodes."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any, Final

from numascape.machine import Machine
from numascape.machine.description import MachineNode
from numascape.machine.factors import Known, bandwidths, latencies, numa_factors
from numascape.machine.kernel_lists import format_cpu_list
from numascape.machine.wording import cache_text, provenance_text
from numascape.quantities import bytes_text
from numascape.report.encode import encode_text
from numascape.report.render import filled, viewer_page, write_page
from numascape.report.run import plain

FORMAT: Final = "numascape-machine"
VERSION: Final = 1


def render_machine(machine: Machine, path: Path) -> int:
    """Write the page, and return its size in bytes. Raises NumascapeError."""
    title = html.escape(machine.name[:200])
    page = filled(viewer_page(), title, encode_text(machine_data(machine)), {})
    write_page(page, path)
    return len(page)


def machine_data(machine: Machine) -> dict[str, Any]:
    """The page's data; rows of matrices are nodes of CPUs, columns nodes of memory."""
    known = (
        ("NUMA factors", "times the latency within the node", numa_factors(machine), 2),
        ("Read latency", "ns", latencies(machine), 0),
        ("Read bandwidth", "GB/s", bandwidths(machine), 1),
    )
    topology = machine.provenance
    data = {
        "name": machine.name,
        "packages": _packages(machine),
        "nodes": [node.node for node in machine.nodes],
        "matrices": [_matrix(*one) for one in known if _says_something(one[2])],
        "topology": "" if topology is None else provenance_text(topology),
        "notes": list(machine.notes),
    }
    return {"format": FORMAT, "version": VERSION, **plain(data)}


def _packages(machine: Machine) -> list[dict[str, Any]]:
    owned, rest = machine.package_nodes()
    boxes = [(f"Package {i}", nodes) for i, nodes in enumerate(owned) if nodes]
    boxes += [("Memory without CPUs of its own", rest)] if rest else []
    return [
        {"title": title, "nodes": [_node(machine, node) for node in nodes]}
        for title, nodes in boxes
    ]


def _node(machine: Machine, node: MachineNode) -> dict[str, Any]:
    memory = bytes_text(node.memory_bytes) if node.memory_bytes else "memory size unknown"
    allowed = sorted(set(machine.usable_cpus) & set(node.cpus))
    return {
        "node": node.node,
        "memory": f"{memory} {node.kind}".strip(),
        "cpus": format_cpu_list(node.cpus) if node.cpus else "",
        "allowed": "" if len(allowed) == len(node.cpus) else format_cpu_list(allowed) or "none",
        "caches": cache_text(machine, node),
    }


def _says_something(known: Known) -> bool:
    """Whether a value is known that is not a factor of 1 by definition."""
    return bool(known.sources())


def _matrix(title: str, unit: str, known: Known, digits: int) -> dict[str, Any]:
    return {
        "title": title,
        "unit": unit,
        "digits": digits,
        "values": known.values,
        "sources": list(dict.fromkeys(provenance_text(source) for source in known.sources())),
    }
