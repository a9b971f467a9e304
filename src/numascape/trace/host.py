# SPDX-License-Identifier: Apache-2.0
"""This host and its NUMA nodes, as the kernel describes them. Every reader takes a root path."""

from __future__ import annotations

import platform
from pathlib import Path

from numascape.trace.info import Host, Machine, MachineNode


def parse_cpu_list(text: str) -> list[int]:
    """The numbers in a kernel list such as `0-3,8,10-11`; raises ValueError when it is none."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        if part:
            first, dash, last = part.partition("-")
            if dash and not last.isdecimal():
                raise ValueError(f"{part!r} is no range of CPUs")
            numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def _node_folders(root: Path) -> list[tuple[int, Path]]:
    folders = (root / "sys/devices/system/node").glob("node[0-9]*")
    return sorted((int(folder.name.removeprefix("node")), folder) for folder in folders)


def _memory_bytes(meminfo: Path) -> int:
    """MemTotal of a meminfo file, in bytes; 0 when it cannot be read."""
    try:
        for line in meminfo.read_text().splitlines():
            name, _, rest = line.partition(":")
            if name.endswith("MemTotal"):
                return int(rest.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _all_cpus(root: Path) -> list[int]:
    try:
        return parse_cpu_list((root / "sys/devices/system/cpu/online").read_text())
    except (OSError, ValueError):
        return [0]


def this_machine(root: Path) -> Machine:
    """The nodes below `root`; one node with all CPUs on a kernel without NUMA."""
    nodes = []
    for number, folder in _node_folders(root):
        try:
            cpus = parse_cpu_list((folder / "cpulist").read_text())
        except (OSError, ValueError):
            cpus = []
        nodes.append(MachineNode(number, tuple(cpus), _memory_bytes(folder / "meminfo")))
    if not nodes:
        memory = _memory_bytes(root / "proc/meminfo")
        nodes = [MachineNode(0, tuple(_all_cpus(root)), memory)]
    return Machine(_processor(root), tuple(nodes))


def _processor(root: Path) -> str:
    try:
        for line in (root / "proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return "unknown processor"


def cpu_nodes(machine: Machine) -> dict[int, int]:
    """The node of every CPU."""
    return {cpu: node.node for node in machine.nodes for cpu in node.cpus}


def this_host(root: Path, system: platform.uname_result) -> Host:
    """The host whose files are below `root`; `system` is what it says of itself."""
    machine = this_machine(root)
    return Host(
        name=system.node,
        kernel=f"{system.system} {system.release}",
        cpus=sum(len(node.cpus) for node in machine.nodes),
        nodes=len(machine.nodes),
        memory_bytes=_memory_bytes(root / "proc/meminfo"),
    )
