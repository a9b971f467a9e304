# SPDX-License-Identifier: Apache-2.0
"""Nodes, CPUs, memory and distances are read from the kernel's files below a root."""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.machine import MachineNode, numa_factors, open_machine
from numascape.machine.description import cpu_nodes

AddNode = Callable[..., None]


def test_each_node_has_its_cpus_and_memory(tmp_path: Path, add_node: AddNode) -> None:
    # CPUs are numbered across nodes, as many BIOSes do; number ten comes after two.
    add_node(0, [0, 4, 5, 6], 1024)
    add_node(10, [3, 7], 3072)
    add_node(2, [1, 2], 2048)
    machine = open_machine(str(tmp_path))
    assert machine.name == "Opteron 6174: 12 cores"
    assert machine.nodes == (
        MachineNode(0, (0, 4, 5, 6), 1024 * 1024),
        MachineNode(2, (1, 2), 2048 * 1024),
        MachineNode(10, (3, 7), 3072 * 1024),
    )
    assert machine.packages == ((0, 4, 5, 6), (1, 2), (3, 7))


def test_a_node_may_have_no_cpus(tmp_path: Path, add_node: AddNode) -> None:
    add_node(0, [0, 1, 2, 3], 1024, "10 40")
    add_node(1, [], 8192, "40 10")
    machine = open_machine(str(tmp_path))
    assert machine.nodes[1] == MachineNode(1, (), 8192 * 1024)
    assert cpu_nodes(machine) == {0: 0, 1: 0, 2: 0, 3: 0}
    assert numa_factors(machine).values == ((1.0, 4.0), (None, None))


def test_distances_are_slits(tmp_path: Path, add_node: AddNode) -> None:
    add_node(0, [0], 1024, "10 16")
    add_node(1, [1], 1024, "22 10")
    machine = open_machine(str(tmp_path))
    assert machine.distances is not None
    assert machine.distances.values == ((10, 16), (22, 10))
    assert machine.distances.provenance.kind == "slit"
    assert numa_factors(machine).values == ((1.0, 1.6), (2.2, 1.0))
    assert "differ between the two directions" in machine.notes[0]


def test_missing_distances_are_noted(tmp_path: Path, add_node: AddNode) -> None:
    add_node(0, [0], 1024)
    add_node(1, [1], 1024)
    machine = open_machine(str(tmp_path))
    assert machine.distances is None
    assert machine.notes == ("there are no distances (SLIT)",)
    assert numa_factors(machine).values == ((1.0, None), (None, 1.0))


def test_without_numa_there_is_one_node_with_everything(tmp_path: Path, add_node: AddNode) -> None:
    add_node(0, [0, 1], 1024)
    shutil.rmtree(tmp_path / "sys/devices/system/node")
    machine = open_machine(str(tmp_path))
    assert machine.nodes == (MachineNode(0, (0, 1), 4096 * 1024),)


def test_a_crash_of_hwloc_is_one_line(tmp_path: Path, add_node: AddNode) -> None:
    # hwloc 2.9 divides the memory by the number of nodes, which is zero.
    add_node(0, [0, 1], 1024)
    shutil.rmtree(tmp_path / "sys/devices/system/node/node0")
    with pytest.raises(NumascapeError, match="damaged: hwloc's reader ended with a crash"):
        open_machine(str(tmp_path))


def test_a_tarball_is_read_as_its_folder(tmp_path: Path, add_node: AddNode) -> None:
    add_node(0, [0], 1024, "10 16")
    add_node(1, [1], 2048, "16 10")
    tarball = tmp_path / "machine.tar.gz"
    with tarfile.open(tarball, "w:gz") as archive:
        for name in ("sys", "proc"):
            archive.add(tmp_path / name, f"host/{name}")
    assert open_machine(str(tarball)).nodes == open_machine(str(tmp_path)).nodes


def hostile_tarball(path: Path) -> Path:
    """Members that would leave the folder: by .., by an absolute path, and through a link."""
    with tarfile.open(path, "w") as archive:
        for name in ("../sys/devices/system/node/x", "/sys/devices/system/node/y",
                     "sys/devices/system/node/link/z"):  # fmt: skip
            if "link" in name:
                link = tarfile.TarInfo("sys/devices/system/node/link")
                link.type, link.linkname = tarfile.SYMTYPE, str(path.parent / "outside")
                archive.addfile(link)
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"0"))
    return path


def test_a_tarball_writes_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    before = sorted(tmp_path.parent.rglob("*"))
    tarball = hostile_tarball(tmp_path / "machine.tar")
    with pytest.raises(NumascapeError, match="describes no machine"):
        open_machine(str(tarball))
    assert sorted(tmp_path.parent.rglob("*")) == sorted([*before, tarball])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not a machine: it is neither"),
        (b"<topology", "describes no machine"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><topology>&b;</topology>", "describes no machine"),
        (b"{}", "not a valid machine"),
        (b'{"format": "numascape machine", "version": 99}', "format version 99"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "bad"
    file.write_bytes(content)
    with pytest.raises(NumascapeError, match=reason) as refused:
        open_machine(str(file))
    assert "\n" not in str(refused.value)


def test_what_names_no_machine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NumascapeError, match="neither sys/ nor proc/"):
        open_machine(str(tmp_path))
    with pytest.raises(NumascapeError, match=r"there is no machine 'nowhere'.*numa16"):
        open_machine("nowhere")
    with pytest.raises(NumascapeError, match="describes no machine"):
        open_machine("node:0")
