# SPDX-License-Identifier: Apache-2.0
"""Reads a machine from hwloc's XML: format 2, as our topology reader prints it, and format 3.

hwloc lets nodes overlap: memory without own CPUs (HBM, CXL, NVM) lists the CPUs near it. Here, a
CPU is on one node. It is the node with the fewest CPUs that lists it; if there are several, one
with ordinary memory, then the first. The kernel usually does the same; if its own files are
available, `sources` uses them.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from numascape.errors import NumascapeError
from numascape.machine.description import (
    MAX_NODES,
    Cache,
    CpuGroups,
    Machine,
    MachineNode,
    Matrix,
    Provenance,
    Rows,
    machine_problem,
    symmetric,
)
from numascape.machine.kernel_lists import format_cpu_list, parse_mask

MEBIBYTE: Final = 1 << 20
NEWEST_FORMAT: Final = 3
# Flags of hwloc/distances.h: the source of the values, and their meaning.
_FROM_OS, _MEANS_LATENCY, _MEANS_BANDWIDTH = 1, 4, 8
_ORDINARY: Final = ("", "DRAM")
_CACHE_KINDS: Final = {"0": "unified", "1": "data", "2": "instruction"}


@dataclass(frozen=True)
class _Node:
    """A NUMANode object."""

    number: int
    gp_index: str
    near: frozenset[int]
    memory_bytes: int
    kind: str


def format_version(text: bytes) -> int:
    """The major version of the format; 1 if the file does not have it, like files of hwloc 1."""
    found = re.search(rb"<topology\s[^>]{0,200}?version=[\"'](\d{1,4})", text[:4096])
    return int(found[1]) if found else 1


def machine_from_xml(text: bytes, name: str, firmware: bool) -> Machine:
    """The machine in hwloc's XML; `name` is its source, for errors and provenance.

    `firmware`: memory attributes come from HMAT, because hwloc itself has read the kernel's files.
    Raises NumascapeError.
    """
    if b"<!ENTITY" in text:
        raise NumascapeError(f"{name}: hwloc's XML has no entities, but this file defines some")
    try:
        topology = ET.fromstring(text)
        root = topology.find("object")
        if topology.tag != "topology" or root is None:
            raise NumascapeError(f"{name} has no machine")
        machine = _machine(topology, root, name, firmware)
    except (ET.ParseError, ValueError, KeyError, OverflowError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"[:100]
        raise NumascapeError(f"{name}: hwloc's XML cannot be understood ({reason})") from error
    wrong = machine_problem(machine)
    if wrong is not None:
        raise NumascapeError(f"{name}: {wrong}")
    return machine


def _machine(topology: ET.Element, root: ET.Element, name: str, firmware: bool) -> Machine:
    cpus = {int(pu.attrib["os_index"]) for pu in _objects(root, "PU")}
    nodes = [_node(element, cpus) for element in _objects(root, "NUMANode")]
    nodes.sort(key=lambda node: node.number)
    if len(nodes) > MAX_NODES:
        raise ValueError(f"{len(nodes)} nodes")
    own = _own_cpus(nodes, cpus)
    distances = _distances(topology, nodes, name)
    given = Provenance("hmat", "ACPI HMAT, through hwloc") if firmware else _given(name)
    machine = Machine(
        _name(topology),
        tuple(
            MachineNode(node.number, own[node.number], node.memory_bytes, node.kind)
            for node in nodes
        ),
        packages=_groups(root, "Package", cpus) or (tuple(sorted(cpus)),),
        cores=_groups(root, "Core", cpus) or tuple((cpu,) for cpu in sorted(cpus)),
        caches=_caches(root, cpus),
        groups=_other_groups(root, cpus),
        page_sizes=_page_sizes(root),
        allowed_cpus=_allowed(root, "cpuset", cpus),
        allowed_nodes=_allowed(root, "nodeset", {node.number for node in nodes}),
        distances=next((m for _, m in distances if m.provenance.kind == "slit"), None),
        latencies=tuple(
            m for means, m in distances if means == "latency" and m.provenance.kind != "slit"
        )
        + _attribute(topology, nodes, own, ("ReadLatency", "Latency"), 1, given),
        bandwidths=tuple(m for means, m in distances if means == "bandwidth")
        + _attribute(topology, nodes, own, ("ReadBandwidth", "Bandwidth"), MEBIBYTE / 1e9, given),
        provenance=_topology_provenance(topology, name, firmware),
    )
    return _with_notes(machine, root, cpus)


def _objects(root: ET.Element, *types: str) -> Iterator[ET.Element]:
    return (element for element in root.iter("object") if element.get("type") in types)


def _cpuset(element: ET.Element, cpus: set[int]) -> tuple[int, ...]:
    return tuple(sorted(cpus.intersection(parse_mask(element.get("cpuset", "0x0")))))


def _node(element: ET.Element, cpus: set[int]) -> _Node:
    return _Node(
        int(element.attrib["os_index"]),
        element.get("gp_index", ""),
        frozenset(_cpuset(element, cpus)),
        int(element.get("local_memory", "0")),
        element.get("subtype", "")[:40],
    )


def _own_cpus(nodes: Sequence[_Node], cpus: set[int]) -> dict[int, tuple[int, ...]]:
    own: dict[int, list[int]] = {node.number: [] for node in nodes}
    for cpu in sorted(cpus):
        near = [node for node in nodes if cpu in node.near]
        if near:
            chosen = min(
                near, key=lambda node: (len(node.near), node.kind not in _ORDINARY, node.number)
            )
            own[chosen.number].append(cpu)
    return {number: tuple(numbers) for number, numbers in own.items()}


def _name(topology: ET.Element) -> str:
    # In format 3, the `info` elements of the whole machine are beside the objects.
    wanted = ("CPUModel", "DMIProductName", "SyntheticDescription", "Architecture")
    found = {
        info.get("name", ""): " ".join(info.get("value", "").split())[:100]
        for info in reversed(list(topology.iter("info")))
    }
    return next((found[key] for key in wanted if found.get(key)), "unknown processor")


def _groups(root: ET.Element, kind: str, cpus: set[int]) -> tuple[tuple[int, ...], ...]:
    groups = {_cpuset(element, cpus) for element in _objects(root, kind)}
    return tuple(sorted(group for group in groups if group))


def _other_groups(root: ET.Element, cpus: set[int]) -> tuple[CpuGroups, ...]:
    """Dies and groups by kind and depth, without those that hwloc made for a node or a package."""
    known = {_cpuset(element, cpus) for element in _objects(root, "NUMANode", "Package", "Machine")}
    found: dict[tuple[str, int], set[tuple[int, ...]]] = {}

    def visit(element: ET.Element, depth: int) -> None:
        for inner in element.findall("object"):
            type_ = inner.get("type", "")
            if type_ in ("Die", "Group"):
                kind = (inner.get("subtype", "")[:40] or type_).lower()
                found.setdefault((kind, depth), set()).add(_cpuset(inner, cpus))
            visit(inner, depth + (type_ == "Group"))

    visit(root, 0)
    return tuple(
        CpuGroups(kind, tuple(sorted(group for group in groups if group)))
        for (kind, _), groups in sorted(found.items())
        if any(group and group not in known for group in groups)
    )


def _caches(root: ET.Element, cpus: set[int]) -> tuple[Cache, ...]:
    found: dict[tuple[int, str, int, int], list[tuple[int, ...]]] = {}
    for element in root.iter("object"):
        type_ = element.get("type", "")
        if not type_.endswith("Cache"):
            continue
        kind = "memory-side" if type_ == "MemCache" else _CACHE_KINDS[element.attrib["cache_type"]]
        size = int(element.get("cache_size", "0"))
        line = max(int(element.get("cache_linesize", "0")), 0)
        level = int(element.get("depth", "1"))
        found.setdefault((level, kind, size, line), []).append(_cpuset(element, cpus))
    return tuple(
        Cache(level, kind, size, line, tuple(sorted(groups)))  # type: ignore[arg-type]
        for (level, kind, size, line), groups in sorted(found.items())
    )


def _page_sizes(root: ET.Element) -> tuple[int, ...]:
    return tuple(sorted({int(page.attrib["size"]) for page in root.iter("page_type")} - {0}))


def _allowed(root: ET.Element, what: str, every: set[int]) -> tuple[int, ...] | None:
    text = root.get(f"allowed_{what}")
    if text is None or "0xf...f" in text:
        return None
    allowed = every.intersection(parse_mask(text))
    return None if allowed == every else tuple(sorted(allowed))


def _given(name: str) -> Provenance:
    return Provenance("given", f"{name}, which does not say how it was found")


def _topology_provenance(topology: ET.Element, name: str, kernel: bool) -> Provenance:
    infos = {info.get("name"): info.get("value") for info in topology.iter("info")}
    if infos.get("Backend") == "Synthetic":
        return Provenance("assumed", f"synthetic description {name}")
    source = f"{name}, through hwloc {infos.get('hwlocVersion', '')}".strip()
    return Provenance("kernel" if kernel else "given", source)


def _distances(topology: ET.Element, nodes: Sequence[_Node], name: str) -> list[tuple[str, Matrix]]:
    """The matrices between nodes, each with its meaning: "latency" or "bandwidth"."""
    found = []
    for element in topology.iter("distances2"):
        kind = int(element.get("kind", "0"))
        if element.get("type") != "NUMANode" or not kind & (_MEANS_LATENCY | _MEANS_BANDWIDTH):
            continue
        by_number = element.get("indexing") == "os"
        places = {node.number if by_number else node.gp_index: i for i, node in enumerate(nodes)}
        words = " ".join(part.text or "" for part in element.iter("indexes")).split()
        values = " ".join(part.text or "" for part in element.iter("u64values")).split()
        if len(values) != len(words) ** 2:
            raise ValueError("a matrix of distances is not square")
        rows: list[list[float | None]] = [[None] * len(nodes) for _ in nodes]
        order = [places.get(int(word) if by_number else word) for word in words]
        for position, value in enumerate(values):
            i, j = order[position // len(words)], order[position % len(words)]
            if i is not None and j is not None:
                rows[i][j] = float(value) or None
        slit = bool(kind & _FROM_OS) and bool(kind & _MEANS_LATENCY)
        provenance = Provenance("slit", "ACPI SLIT, through hwloc") if slit else _given(name)
        means = "latency" if kind & _MEANS_LATENCY else "bandwidth"
        found.append((means, Matrix(_rows(rows), provenance)))
    return found


def _attribute(
    topology: ET.Element,
    nodes: Sequence[_Node],
    own: dict[int, tuple[int, ...]],
    names: Sequence[str],
    unit: float,
    provenance: Provenance,
) -> tuple[Matrix, ...]:
    """The first existing memory attribute as a matrix; values are multiplied by `unit`.

    A value for a set of CPUs counts for each node whose CPUs are all in the set.
    """
    targets = {node.gp_index: j for j, node in enumerate(nodes)}
    for name in names:
        rows: list[list[float | None]] = [[None] * len(nodes) for _ in nodes]
        for attribute in topology.iter("memattr"):
            if attribute.get("name") != name:
                continue
            for value in attribute.iter("memattr_value"):
                target = targets.get(value.get("target_obj_gp_index", ""))
                initiator = _initiator(value, topology)
                if target is None:
                    continue
                for i, node in enumerate(nodes):
                    if own[node.number] and initiator.issuperset(own[node.number]):
                        rows[i][target] = float(value.attrib["value"]) * unit or None
        if any(value is not None for row in rows for value in row):
            return (Matrix(_rows(rows), provenance),)
    return ()


def _initiator(value: ET.Element, topology: ET.Element) -> set[int]:
    """The CPUs for which a value holds: a set, or those of an object."""
    object_ = value.get("initiator_obj_gp_index")
    if object_ is None:
        return set(parse_mask(value.get("initiator_cpuset", "0x0")))
    near = (o.get("cpuset", "0x0") for o in topology.iter("object") if o.get("gp_index") == object_)
    return set(parse_mask(next(near, "0x0")))


def _rows(rows: list[list[float | None]]) -> Rows:
    return tuple(map(tuple, rows))


def _with_notes(machine: Machine, root: ET.Element, cpus: set[int]) -> Machine:
    """The machine with notes about missing and unusual values."""
    notes = []
    complete = root.get("complete_cpuset", "0x0")
    offline = set() if "0xf...f" in complete else set(parse_mask(complete)) - cpus
    if offline:
        notes.append(f"CPUs {format_cpu_list(offline)} are offline")
    homeless = cpus.difference(*(node.cpus for node in machine.nodes))
    if homeless:
        notes.append(f"CPUs {format_cpu_list(homeless)} belong to no node and are left out")
        machine = _without(machine, homeless)
    if machine.allowed_cpus is not None:
        notes.append(f"only CPUs {format_cpu_list(machine.allowed_cpus)} may be used here (cpuset)")
    if machine.allowed_nodes is not None:
        allowed = format_cpu_list(machine.allowed_nodes)
        notes.append(f"only memory of nodes {allowed} may be used here (cpuset)")
    if len(machine.nodes) > 1 and machine.distances is None:
        notes.append("there are no distances (SLIT)")
    if machine.distances is not None and not symmetric(machine.distances):
        notes.append("the distances (SLIT) differ between the two directions of a pair")
    return replace(machine, notes=tuple(notes))


def _without(machine: Machine, cpus: set[int]) -> Machine:
    def kept(groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        left = (tuple(cpu for cpu in group if cpu not in cpus) for group in groups)
        return tuple(group for group in left if group)

    return replace(
        machine,
        packages=kept(machine.packages),
        cores=kept(machine.cores),
        caches=tuple(replace(cache, groups=kept(cache.groups)) for cache in machine.caches),
        groups=tuple(replace(kind, groups=kept(kind.groups)) for kind in machine.groups),
    )
