# SPDX-License-Identifier: Apache-2.0
"""Real machines are read as hwloc's own expected output says they are.

From 2 to 64 nodes, x86, Itanium, POWER and Arm, with memory-only nodes, offline CPUs, numbers with
gaps. Our reader uses hwloc's reader, so these tests check the code between it and a Machine.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from numascape.machine import Machine, open_machine
from numascape.machine.export_hwloc import hwloc_xml
from unit.machine.hwloc_snapshots import Expected, NoSnapshotsError, read_expected, snapshots

MACHINES = [
    "128arm-2pa2n8cluster4co",
    "128ia64-17n4s2c",
    "16amd64-8n2c",
    "16ia64-8n2s",
    "256ia64-64n2s2c",
    "256ppc-8n8s4t",
    "2amd64-2n",
    "16em64t-4s2c2t-offlines",
    "40intel64-4n10c+pci-conflicts",
    "48amd64-4d2n6c-sparse",
    "64amd64-4s2n4ca2co",
    "8amd64-4n2c",
    "8em64t-2s4c-heterogeneous",
    "8ia64-2n2s2c",
    "96em64t-4n4d3ca2co",
]


MEMORY = Path("/dev/shm")
# Up to 15 000 files of a page each.
UNPACKED = 256 << 20


def snapshot(name: str) -> Machine:
    """Unpacked in memory if there is space: on a disk, that takes four times the processor time."""
    try:
        tarball = snapshots() / f"{name}.tar.bz2"
    except NoSnapshotsError as error:
        pytest.skip(f"no snapshots: {error}")
    with pytest.MonkeyPatch.context() as patch:
        if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > UNPACKED:
            patch.setattr(tempfile, "tempdir", str(MEMORY))
        return open_machine(str(tarball))


@pytest.fixture(scope="module", params=MACHINES)
def read(request: pytest.FixtureRequest) -> tuple[Machine, Expected]:
    machine = snapshot(request.param)
    return machine, read_expected(snapshots() / f"{request.param}.output")


def test_nodes_and_their_memory(read: tuple[Machine, Expected]) -> None:
    machine, expected = read
    assert {node.node: node.memory_bytes for node in machine.nodes} == expected.nodes


def test_cpus_of_nodes(read: tuple[Machine, Expected]) -> None:
    machine, expected = read
    assert set(machine.cpus) == expected.cpus
    for node in machine.nodes:
        if node.cpus:
            assert set(node.cpus) == expected.near[node.node]


def test_caches_and_who_shares_them(read: tuple[Machine, Expected]) -> None:
    machine, expected = read
    suffix = {"unified": "", "data": "d", "instruction": "i"}
    found = {
        (f"L{cache.level}{suffix[cache.kind]}", cache.bytes): sorted(map(sorted, cache.groups))
        for cache in machine.caches
    }
    assert found == {key: sorted(map(sorted, groups)) for key, groups in expected.caches.items()}


def test_packages(read: tuple[Machine, Expected]) -> None:
    machine, expected = read
    # hwloc's text also has packages of memory alone, and on some machines no packages.
    packages = [sorted(package) for package in expected.packages if package]
    assert sorted(map(sorted, machine.packages)) == (sorted(packages) or [sorted(machine.cpus)])


def test_distances(read: tuple[Machine, Expected]) -> None:
    machine, expected = read
    if expected.distances is None:
        assert machine.distances is None
        return
    assert machine.distances is not None
    places = [machine.position(node) for node in expected.distance_nodes]
    values = machine.distances.values
    assert [[values[i][j] for j in places] for i in places] == expected.distances


def test_an_export_reads_back(read: tuple[Machine, Expected], tmp_path: Path) -> None:
    machine, _ = read
    file = tmp_path / "exported.xml"
    file.write_text(hwloc_xml(machine))
    again = open_machine(str(file))
    assert again.cpus == machine.cpus
    assert [node.node for node in again.nodes] == [node.node for node in machine.nodes]
    if all(node.cpus for node in machine.nodes):
        assert again.nodes == machine.nodes
    assert sorted(again.packages) == sorted(machine.packages)
    assert (again.distances and again.distances.values) == (
        machine.distances and machine.distances.values
    )


def test_offline_cpus_and_cpusets_are_noted() -> None:
    machine = snapshot("16amd64-8n2c-cpusets")
    assert 4 not in machine.cpus
    assert machine.usable_cpus == (0, 1, 2, 3, 5, 6, 12, 13, 14, 15)
    assert machine.allowed_nodes == (1, 2, 3, 4)
    assert machine.notes == (
        "CPUs 4 are offline",
        "only CPUs 0-3,5-6,12-15 may be used here (cpuset)",
        "only memory of nodes 1-4 may be used here (cpuset)",
    )


def test_a_cgroup_limits_what_may_be_used() -> None:
    machine = snapshot("16amd64-4n4c-cgroup-distance-merge")
    assert (len(machine.nodes), len(machine.cpus)) == (4, 16)
    assert machine.usable_cpus == (0, 1, 2, 3)


def test_memory_next_to_several_nodes_is_of_no_cpu() -> None:
    machine = snapshot("fakememinitiators-1np2c+1npp+gi")
    assert [node.node for node in machine.nodes if node.cpus] == [0, 1, 2, 3]
    assert [node.memory_bytes >> 30 for node in machine.nodes if node.node in {7, 10}] == [742, 744]
    # HMAT, from the CPUs next to each memory.
    assert machine.latencies[0].provenance.kind == "hmat"
    assert machine.latencies[0].values[0][5] == 26
    assert machine.latencies[0].values[0][7] == machine.latencies[0].values[2][7] == 77
