# SPDX-License-Identifier: Apache-2.0
"""Nodes, CPUs and memory are read as the kernel's files below a root say."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from numascape.trace.host import cpu_nodes, parse_cpu_list, this_host, this_machine
from numascape.trace.info import Host, Machine, MachineNode

CPUINFO = "processor\t: 0\nmodel name\t: Opteron 6174: 12 cores\nmodel name\t: another\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_node(root: Path, number: int, cpus: str, memory_kb: int) -> None:
    folder = root / f"sys/devices/system/node/node{number}"
    write(folder / "cpulist", f"{cpus}\n")
    prefix = f"Node {number}"
    write(folder / "meminfo", f"{prefix} MemTotal:  {memory_kb} kB\n{prefix} MemFree:  17 kB\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "proc/cpuinfo", CPUINFO)
    write(tmp_path / "proc/meminfo", "MemTotal:       4096 kB\nMemFree:  1 kB\n")
    write(tmp_path / "sys/devices/system/cpu/online", "0-3\n")
    # Files beside the nodes' folders.
    write(tmp_path / "sys/devices/system/node/possible", "0-15\n")
    return tmp_path


def test_each_node_has_its_cpus_and_memory(root: Path) -> None:
    # Numbered across nodes, as many BIOSes do; ten comes after two.
    add_node(root, 0, "0,4-6", 1024)
    add_node(root, 10, "3,7", 3072)
    add_node(root, 2, "1-2", 2048)
    machine = this_machine(root)
    assert machine.name == "Opteron 6174: 12 cores"
    assert machine.nodes == (
        MachineNode(0, (0, 4, 5, 6), 1024 * 1024),
        MachineNode(2, (1, 2), 2048 * 1024),
        MachineNode(10, (3, 7), 3072 * 1024),
    )


def test_a_node_may_have_no_cpus(root: Path) -> None:
    add_node(root, 0, "0-3", 1024)
    add_node(root, 1, "", 8192)
    assert this_machine(root).nodes[1] == MachineNode(1, (), 8192 * 1024)
    assert cpu_nodes(this_machine(root)) == {0: 0, 1: 0, 2: 0, 3: 0}


def test_offline_cpus_are_on_no_node(root: Path) -> None:
    # The kernel lists only CPUs that are online: here CPU 1 is not.
    add_node(root, 0, "0", 1024)
    add_node(root, 1, "2-3", 1024)
    assert cpu_nodes(this_machine(root)) == {0: 0, 2: 1, 3: 1}


def test_without_numa_there_is_one_node_with_everything(root: Path) -> None:
    expected = (MachineNode(0, (0, 1, 2, 3), 4096 * 1024),)
    assert this_machine(root).nodes == expected


def test_nothing_readable_is_one_cpu_and_no_memory(tmp_path: Path) -> None:
    assert this_machine(tmp_path) == Machine("unknown processor", (MachineNode(0, (0,), 0),))


def test_damaged_files_of_a_node_leave_it_empty(root: Path) -> None:
    add_node(root, 0, "0-3", 1024)
    folder = root / "sys/devices/system/node/node1"
    write(folder / "cpulist", "4-many\n")
    write(folder / "meminfo", "Node 1 MemTotal:\n")
    assert this_machine(root).nodes[1] == MachineNode(1, (), 0)


def test_the_host_counts_what_its_machine_has(root: Path) -> None:
    add_node(root, 0, "0-1", 1024)
    add_node(root, 1, "2-3", 1024)
    add_node(root, 2, "", 1024)
    system = platform.uname()
    assert this_host(root, system) == Host(
        system.node, f"{system.system} {system.release}", 4, 3, 4096 * 1024
    )


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("", []), ("\n", []), ("0\n", [0]), ("0-3,8,10-11\n", [0, 1, 2, 3, 8, 10, 11])],
)
def test_lists_of_cpus(text: str, cpus: list[int]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["a", "1-", "1-b", "-", "1--2"])
def test_what_is_no_list_of_cpus(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid literal|no range"):
        parse_cpu_list(text)
