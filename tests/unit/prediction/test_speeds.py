# SPDX-License-Identifier: Apache-2.0
"""A machine's values in the model: known ones are unchanged, others are as documented.

The numbers of docs/prediction.md are written out here.
"""

from __future__ import annotations

import numpy as np
import pytest

from numascape.errors import NumascapeError
from numascape.machine import Machine, MachineNode, Matrix
from numascape.machine.description import Cache, Controllers, Curve
from numascape.prediction import Speeds, speeds_of
from unit.prediction.made_up import ASSUMED

MIB = 1 << 20


def machine(*cpus: int, **known: object) -> Machine:
    """Nodes with these numbers of CPUs; only `known` is known about them."""
    first = np.cumsum([0, *cpus])
    nodes = tuple(
        MachineNode(i, tuple(range(first[i], first[i] + count)), 0) for i, count in enumerate(cpus)
    )
    return Machine("bare", nodes, **known)  # type: ignore[arg-type]


def matrix(*rows: tuple[float | None, ...]) -> tuple[Matrix]:
    return (Matrix(rows, ASSUMED),)


def test_what_is_not_known_is_as_documented() -> None:
    speeds = speeds_of(machine(2, 4))
    assert speeds.latency.tolist() == [[100.0, 150.0], [150.0, 100.0]]
    assert speeds.controller.tolist() == [8.0, 16.0]
    assert speeds.link.tolist() == [[np.inf, 16 / 1.5], [8 / 1.5, np.inf]]
    assert speeds.curve.tolist() == [
        [0.0, 0.5, 0.7, 0.8, 0.9, 1.0],
        [1.0, 1.1, 1.2, 1.35, 1.55, 2.5],
    ]
    assert (speeds.shared_cache, speeds.sharers, speeds.private_cache) == (1.5 * MIB, 1, 0.0)
    assert (speeds.core_ns, speeds.lines_in_flight, speeds.window) == (0.5, 10.0, 51.2)
    assert speeds.assumed == (
        "NUMA factors: 1.5 where unknown",
        "latency of a node's own memory: 100 ns",
        "bandwidth of a node's memory: 4 GB/s per core",
        "bandwidth between nodes: that of the memory, divided by the NUMA factor",
        "caches: 1.5 MiB for each thread",
        "latency under load: as on other machines",
    )


def test_an_unknown_node_is_said_with_the_first_16_that_exist() -> None:
    with pytest.raises(NumascapeError, match=r"no node 17; its nodes are (\d+, ){15}15$"):
        speeds_of(machine(*[1] * 17)).positions(np.array([16, -1, 17]))


def test_what_is_known_is_taken_and_nothing_assumed() -> None:
    cpus = (0, 1), (2, 3)
    speeds = speeds_of(
        machine(
            *(2, 2),
            latencies=matrix((90.0, 200.0), (210.0, 95.0)),
            bandwidths=matrix((20.0, 7.0), (6.0, 22.0)),
            controllers=(
                Controllers((1.0, 1.0), ASSUMED, operation="write"),
                Controllers((30.0, None), ASSUMED),
                Controllers((50.0, None), ASSUMED),
            ),
            loaded_latency=(Curve(((10.0, 80.0), (30.0, 100.0), (40.0, 240.0)), ASSUMED),),
            caches=(
                Cache(1, "data", 32 << 10, 64, tuple((cpu,) for cpu in range(4))),
                Cache(2, "unified", MIB, 64, cpus),
                Cache(3, "unified", 8 * MIB, 64, ((0, 1, 2, 3),)),
                Cache(4, "memory-side", 64 * MIB, 64, cpus),
            ),
        )
    )
    assert speeds.assumed == ()
    assert speeds.latency.tolist() == [[90.0, 200.0], [210.0, 95.0]]
    # The first known value: that of reading, else the diagonal of the bandwidths.
    assert speeds.controller.tolist() == [30.0, 22.0]
    assert speeds.link.tolist() == [[np.inf, 7.0], [6.0, np.inf]]
    assert speeds.curve.tolist() == [[0.0, 0.25, 0.75, 1.0], [1.0, 1.0, 1.25, 3.0]]
    # The last level below that of the memory; the second level is shared by two CPUs.
    assert (speeds.shared_cache, speeds.sharers) == (8 * MIB, 4)
    assert speeds.private_cache == MIB / 2


def test_a_curve_of_the_whole_machine_gives_each_memory_its_part() -> None:
    points = (10.0, 100.0), (60.0, 200.0)
    speeds = speeds_of(machine(2, 4, loaded_latency=(Curve(points, ASSUMED),)))
    assert speeds.controller.tolist() == [30.0, 30.0]
    # Two points are too few for a curve.
    assert "latency under load: as on other machines" in speeds.assumed
    for of_one in ({"cpu_node": 0}, {"memory_node": 0}):
        curve = Curve(points, ASSUMED, **of_one)  # type: ignore[arg-type]
        assert speeds_of(machine(2, 4, loaded_latency=(curve,))).controller.tolist() == [8.0, 16.0]


def test_latency_never_falls_when_load_rises() -> None:
    points = (1.0, 50.0), (2.0, 150.0), (3.0, 120.0), (4.0, 200.0)
    curve = speeds_of(machine(1, loaded_latency=(Curve(points, ASSUMED),))).curve
    assert curve.tolist() == [[0.0, 0.25, 0.5, 0.75, 1.0], [1.0, 1.0, 3.0, 3.0, 4.0]]


def test_factors_give_the_latencies_that_are_unknown() -> None:
    speeds = speeds_of(
        machine(1, 1, latencies=matrix((80.0, None), (None, 120.0)), factors=matrix((1, 2), (3, 1)))
    )
    assert speeds.latency.tolist() == [[80.0, 160.0], [360.0, 120.0]]
    assert not any("NUMA factors" in assumed for assumed in speeds.assumed)
    firmware = speeds_of(machine(1, 1, distances=Matrix(((10.0, 21.0), (21.0, 10.0)), ASSUMED)))
    assert firmware.latency.tolist() == [[100.0, 210.0], [210.0, 100.0]]
    assert "NUMA factors: from the firmware's relative distances (SLIT)" in firmware.assumed


def test_memory_without_cpus_has_the_bandwidth_of_a_mean_node() -> None:
    speeds = speeds_of(machine(2, 4, 0))
    assert speeds.cpus.tolist() == [2, 4, 0]
    assert speeds.cpu_nodes == [0, 1]
    assert speeds.controller.tolist() == [8.0, 16.0, 12.0]


def test_cores_are_those_with_a_usable_cpu() -> None:
    hyperthreads = ((0, 2), (1, 3))
    speeds = speeds_of(machine(4, cores=hyperthreads))
    assert (speeds.cpus.tolist(), speeds.cores.tolist()) == ([4], [2])
    part = speeds_of(machine(4, cores=hyperthreads, allowed_cpus=(2,)))
    assert (part.cpus.tolist(), part.cores.tolist()) == ([1], [1])
    with pytest.raises(NumascapeError, match="bare has no CPU for threads to run on"):
        speeds_of(machine(2, allowed_cpus=(7,)))


def test_nodes_are_found_by_their_numbers() -> None:
    nodes = (MachineNode(4, (0,), 0), MachineNode(9, (1,), 0))
    speeds = speeds_of(Machine("gaps", nodes))
    assert speeds.positions(np.array([9, -1, 4])).tolist() == [1, -1, 0]


def test_the_slowdown_is_constant_beyond_full_load() -> None:
    speeds: Speeds = speeds_of(machine(1))
    assert speeds.slowdown(np.array([0.0, 0.6, 1.0, 1.7])).tolist() == pytest.approx(
        [1.0, 1.15, 2.5, 2.5]
    )
