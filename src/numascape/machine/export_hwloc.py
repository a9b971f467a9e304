# SPDX-License-Identifier: Apache-2.0
"""Exports a machine as hwloc's XML, with latency and bandwidth as memory attributes.

`lstopo --memattrs` and every program that uses hwloc read it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass, field

from numascape.machine.description import Machine, MachineNode
from numascape.machine.factors import Known, bandwidths, latencies
from numascape.machine.kernel_lists import format_mask

# Flags of hwloc/memattrs.h: higher or lower is better; the value depends on the initiator's CPUs.
_HIGHER_FIRST, _LOWER_FIRST, _NEEDS_INITIATOR = 1, 2, 4
_CACHE_TYPES = {"unified": "0", "data": "1", "instruction": "2"}
# The nesting order of objects with the same CPUs.
_DEPTH = {"Machine": 0, "Package": 1, "Group": 2, "L5": 3, "L4": 4, "L3": 5, "L2": 6, "L1": 7,
          "L1i": 8, "Core": 9, "PU": 10}  # fmt: skip


@dataclass
class _Object:
    """A future hwloc object: its CPUs, its attributes, and the objects in it."""

    type: str
    cpus: frozenset[int]
    attributes: dict[str, str]
    inner: list[_Object] = field(default_factory=list)
    memory: list[MachineNode] = field(default_factory=list)


def hwloc_xml(machine: Machine) -> str:
    """Return the document, without memory-side caches and objects that overlap others."""
    root = _tree(machine)
    topology = ET.Element("topology", version="2.0")
    numbers: dict[int, int] = {}
    _write(topology, root, machine, numbers)
    _write_distances(topology, machine)
    _write_attribute(topology, machine, "Bandwidth", bandwidths(machine), 1e9 / (1 << 20), numbers)
    _write_attribute(topology, machine, "Latency", latencies(machine), 1.0, numbers)
    ET.indent(topology)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
    return head + ET.tostring(topology, encoding="unicode") + "\n"


def _tree(machine: Machine) -> _Object:
    root = _Object("Machine", frozenset(machine.cpus), {"os_index": "0"})
    objects = list(_objects(machine))
    sets = {item.cpus for item in objects} | {root.cpus}
    objects += [
        _Object("Group", frozenset(node.cpus), {"kind": "0", "subkind": "0"})
        for node in machine.nodes
        if node.cpus and frozenset(node.cpus) not in sets
    ]
    objects.sort(key=lambda item: (-len(item.cpus), _rank(item), min(item.cpus)))
    for item in objects:
        _insert(root, item)
    for node in machine.nodes:
        _attach(root, node)
    return root


def _objects(machine: Machine) -> Iterable[_Object]:
    for number, group in enumerate(machine.packages):
        yield _Object("Package", frozenset(group), {"os_index": str(number)})
    for number, group in enumerate(machine.cores):
        yield _Object("Core", frozenset(group), {"os_index": str(number)})
    for cpu in machine.cpus:
        yield _Object("PU", frozenset([cpu]), {"os_index": str(cpu)})
    for kind in machine.groups:
        attributes = {"kind": "0", "subkind": "0", "subtype": _plain(kind.kind)}
        for group in kind.groups:
            yield _Object("Group", frozenset(group), attributes)
    for cache in machine.caches:
        if cache.kind == "memory-side":
            continue
        for group in cache.groups:
            attributes = {
                "cache_size": str(cache.bytes),
                "depth": str(cache.level),
                "cache_linesize": str(cache.line_bytes),
                "cache_associativity": "0",
                "cache_type": _CACHE_TYPES[cache.kind],
            }
            suffix = "i" if cache.kind == "instruction" else ""
            yield _Object(f"L{cache.level}{suffix}Cache", frozenset(group), attributes)


def _rank(item: _Object) -> int:
    return _DEPTH.get(item.type.removesuffix("Cache"), 8)


def _insert(place: _Object, item: _Object) -> None:
    for inner in place.inner:
        if item.cpus <= inner.cpus:
            return _insert(inner, item)
        if item.cpus & inner.cpus:
            return None  # it overlaps another object, which hwloc's tree does not allow
    place.inner.append(item)
    return None


def _attach(place: _Object, node: MachineNode) -> None:
    """Attach the node's memory to the outermost object with exactly its CPUs."""
    for inner in place.inner:
        if node.cpus and place.cpus != set(node.cpus) and inner.cpus.issuperset(node.cpus):
            return _attach(inner, node)
    place.memory.append(node)
    return None


def _nodes_within(machine: Machine, item: _Object) -> list[int]:
    """The numbers of the nodes that are local to the object's CPUs, or in the object."""
    within = [n.node for n in machine.nodes if item.cpus & set(n.cpus)]
    if item.type == "Machine":
        within += [n.node for n in machine.nodes if not n.cpus]
    return within


def _write(parent: ET.Element, item: _Object, machine: Machine, numbers: dict[int, int]) -> None:
    nodes = format_mask(_nodes_within(machine, item))
    cpus = format_mask(item.cpus)
    element = ET.SubElement(parent, "object", {"type": item.type, **item.attributes})
    element.set("cpuset", cpus)
    element.set("complete_cpuset", cpus)
    if item.type == "Machine":
        allowed = machine.allowed_nodes or [node.node for node in machine.nodes]
        element.set("allowed_cpuset", format_mask(machine.usable_cpus))
        element.set("allowed_nodeset", format_mask(allowed))
    element.set("nodeset", nodes)
    element.set("complete_nodeset", nodes)
    element.set("gp_index", str(_next(numbers)))
    if item.type == "Package":
        ET.SubElement(element, "info", name="CPUModel", value=_plain(machine.name))
    for node in item.memory:
        _write_memory(element, item, node, machine, numbers)
    for inner in item.inner:
        _write(element, inner, machine, numbers)


def _write_memory(
    parent: ET.Element, item: _Object, node: MachineNode, machine: Machine, numbers: dict[int, int]
) -> None:
    cpus, mask = format_mask(item.cpus), format_mask([node.node])
    numbers[node.node] = _next(numbers)
    element = ET.SubElement(
        parent,
        "object",
        type="NUMANode",
        os_index=str(node.node),
        cpuset=cpus,
        complete_cpuset=cpus,
        nodeset=mask,
        complete_nodeset=mask,
        gp_index=str(numbers[node.node]),
        local_memory=str(node.memory_bytes),
    )
    if node.kind:
        element.set("subtype", _plain(node.kind))
    for size in machine.page_sizes:
        ET.SubElement(element, "page_type", size=str(size), count="0")


_COUNTER = -1  # below every node's number


def _next(numbers: dict[int, int]) -> int:
    numbers[_COUNTER] = numbers.get(_COUNTER, 0) + 1
    return numbers[_COUNTER]


def _plain(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


def _write_distances(topology: ET.Element, machine: Machine) -> None:
    matrix = machine.distances
    if matrix is None or any(value is None for row in matrix.values for value in row):
        return
    size = len(machine.nodes)
    element = ET.SubElement(
        topology, "distances2", type="NUMANode", nbobjs=str(size), kind="5",
        name="NUMALatency", indexing="os",
    )  # fmt: skip
    indexes = "".join(f"{node.node} " for node in machine.nodes)
    ET.SubElement(element, "indexes", length=str(len(indexes))).text = indexes
    for row in matrix.values:
        text = "".join(f"{round(value or 0)} " for value in row)
        ET.SubElement(element, "u64values", length=str(len(text))).text = text


def _write_attribute(
    topology: ET.Element, machine: Machine, name: str, known: Known, unit: float,
    numbers: dict[int, int],
) -> None:  # fmt: skip
    better = _HIGHER_FIRST if name == "Bandwidth" else _LOWER_FIRST
    attribute = ET.Element("memattr", name=name, flags=str(better | _NEEDS_INITIATOR))
    for j, target in enumerate(machine.nodes):
        for i, initiator in enumerate(machine.nodes):
            value = known.values[i][j]
            if value is not None and initiator.cpus:
                ET.SubElement(
                    attribute,
                    "memattr_value",
                    target_obj_type="NUMANode",
                    target_obj_gp_index=str(numbers[target.node]),
                    value=str(max(round(value * unit), 1)),
                    initiator_cpuset=format_mask(initiator.cpus),
                )
    if len(attribute):
        topology.append(attribute)
