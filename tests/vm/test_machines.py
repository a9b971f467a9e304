# SPDX-License-Identifier: Apache-2.0
"""Kernels of machines with 2, 4 and 8 nodes are read correctly, and probes use the right memory.

One boot for each. In the 8-node guest, nodes 6 and 7 have memory only, and there is HMAT.
"""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from numascape.installation import installed_file
from numascape.machine import Machine, numa_factors, open_machine
from numascape.machine.export_hwloc import hwloc_xml
from numascape.machine.factors import bandwidths, latencies
from numascape.machine.hwloc_xml import machine_from_xml
from vm.conftest import Boot
from vm.guest import Firmware, GuestNode

MEMORY_MIB = 192


def ring(count: int) -> list[list[int]]:
    """Distances on a ring: 10, then 6 for each hop."""
    hops = [[min(abs(i - j), count - abs(i - j)) for j in range(count)] for i in range(count)]
    return [[10 + 6 * hop for hop in row] for row in hops]


def nodes(with_cpus: int, without: int, cpus: int = 1) -> list[GuestNode]:
    sizes = [cpus] * with_cpus + [0] * without
    return [GuestNode(each, MEMORY_MIB) for each in sizes]


def with_hmat(count: int) -> Firmware:
    distances = ring(count)
    return Firmware(
        distances,
        [[8 * distance for distance in row] for row in distances],
        [[400 // distance for distance in row] for row in distances],
    )


# Asymmetric, like the table of some firmware.
GUESTS = {
    "2 nodes": (nodes(2, 0, cpus=2), Firmware([[10, 21], [31, 10]])),
    "4 nodes": (nodes(4, 0), Firmware(ring(4))),
    "8 nodes": (nodes(6, 2), with_hmat(8)),
}


@dataclass(frozen=True)
class Booted:
    """The guest's description, the kernel's files, the machine that we read, the probe's output."""

    made: list[GuestNode]
    firmware: Firmware
    kernel: dict[str, str]
    machine: Machine
    probes: dict[tuple[int, int], dict[str, object]]  # by CPU and node


@pytest.fixture(scope="module", params=list(GUESTS))
def booted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, boot: Boot
) -> Booted:
    made, firmware = GUESTS[request.param]
    folder = tmp_path_factory.mktemp("machine")
    boot(made, job(made), folder, firmware=firmware)
    text = (folder / "host.xml").read_bytes()
    lines = (folder / "kernel").read_text().splitlines()
    return Booted(
        made,
        firmware,
        {name: value for name, _, value in (line.partition("=") for line in lines)},
        machine_from_xml(text, "the guest", firmware=True),
        read_probes(folder),
    )


def job(made: list[GuestNode]) -> str:
    """Read the machine, and probe from two CPUs to every node; in one process each."""
    reader, probe = (
        shlex.quote(str(installed_file(f"_machine/{name}")))
        for name in ("topology-reader", "probe")
    )
    last = sum(node.cpus for node in made) - 1
    numbers = " ".join(map(str, range(len(made))))
    return rf"""set -e
{reader} host >host.xml
for n in {numbers}; do
    for file in cpulist distance; do
        read text </sys/devices/system/node/node$n/$file || text=
        echo "$n/$file=$text" >>kernel
    done
done
for n in {numbers}; do
    for c in 0 {last}; do
        {probe} latency --cpu $c --node $n --bytes 4096,1048576 --samples 1 --sample-ms 0.1 \
            >probe-$c-$n
    done
done
"""


def read_probes(folder: Path) -> dict[tuple[int, int], dict[str, object]]:
    found = {}
    for path in folder.glob("probe-*"):
        _, cpu, node = path.name.split("-")
        found[int(cpu), int(node)] = json.loads(path.read_text().splitlines()[0])
    return found


def test_nodes_have_their_cpus_and_memory(booted: Booted) -> None:
    first = 0
    for number, (node, made) in enumerate(zip(booted.machine.nodes, booted.made, strict=True)):
        assert node.node == number
        assert node.cpus == tuple(range(first, first + made.cpus))
        first += made.cpus
        # The kernel keeps some memory for itself.
        assert 0.4 < node.memory_bytes / (made.memory_mib << 20) <= 1


def test_distances_are_slits(booted: Booted) -> None:
    told = [booted.kernel[f"{n}/distance"].split() for n in range(len(booted.made))]
    assert [[int(word) for word in row] for row in told] == booted.firmware.distances
    assert booted.machine.distances is not None
    values = [list(row) for row in booted.machine.distances.values]
    assert values == booted.firmware.distances


def test_factors_are_ratios_of_the_best_known(booted: Booted) -> None:
    for i, row in enumerate(numa_factors(booted.machine).values):
        for j, factor in enumerate(row):
            if booted.made[i].cpus:
                # HMAT's latencies are proportional to SLIT's distances here.
                expected = booted.firmware.distances[i][j] / booted.firmware.distances[i][i]
                assert factor == pytest.approx(expected, rel=0.02)
            else:
                assert factor is None


def test_hmat_is_read_where_the_kernel_tells_it(booted: Booted) -> None:
    known, fast = latencies(booted.machine).values, bandwidths(booted.machine).values
    if not booted.firmware.latencies:
        assert all(value is None for row in known for value in row)
        return
    # The kernel reports only the best initiators of each node: its own CPUs.
    for i, node in enumerate(booted.made):
        if node.cpus:
            assert known[i][i] == booted.firmware.latencies[i][i]
            gigabytes = booted.firmware.bandwidths[i][i] * 2**30 / 1e9
            assert fast[i][i] == pytest.approx(gigabytes, rel=0.01)


def test_probed_memory_is_on_the_node_it_names(booted: Booted) -> None:
    cpus = {0, sum(node.cpus for node in booted.made) - 1}
    assert set(booted.probes) == {(cpu, node) for cpu in cpus for node in range(len(booted.made))}
    for setting in booted.probes.values():
        assert (setting["bound"], setting["known"], setting["elsewhere"]) == (True, True, 0)
        assert setting["pages"] == 256


def test_the_export_for_hwloc_reads_back(booted: Booted, tmp_path: Path) -> None:
    file = tmp_path / "exported.xml"
    file.write_text(hwloc_xml(booted.machine))
    again = open_machine(str(file))
    assert again.nodes == booted.machine.nodes
    assert again.distances is not None
    assert booted.machine.distances is not None
    assert again.distances.values == booted.machine.distances.values
    assert latencies(again).values == latencies(booted.machine).values
