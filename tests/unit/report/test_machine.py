# SPDX-License-Identifier: Apache-2.0
"""The report's machine: the recorded one, or a description of the same machine with more values."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from numascape.errors import NumascapeError
from numascape.machine import Machine, MachineNode, Matrix, Provenance
from numascape.report import draft, on_machine
from numascape.report.machine import shown_machine
from numascape.trace import Trace
from synthetic.patterns import naive_matmul
from synthetic.write import write_pattern

MEASURED = Provenance("measured", "numascape machine probe", "2026-03-14")


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Recorded on four nodes of 16 CPUs."""
    return write_pattern(naive_matmul(64, 4), tmp_path / "run.numascape")


def described(cpus: int = 16, nodes: int = 4) -> Machine:
    """Such a machine; other nodes' memory takes twice as long."""
    return Machine(
        "probed",
        tuple(
            MachineNode(n, tuple(range(cpus * n, cpus * n + cpus)), 1 << 30) for n in range(nodes)
        ),
        latencies=(
            Matrix(
                tuple(
                    tuple(100.0 if i == j else 200.0 for j in range(nodes)) for i in range(nodes)
                ),
                MEASURED,
            ),
        ),
    )


def test_a_description_brings_factors_and_their_source(trace: Trace) -> None:
    assert "distance" not in draft(trace).machine
    shown = draft(on_machine(trace, described())).machine
    assert shown["name"] == "probed"
    assert shown["distance"]["factors"][1] == [2.0, 1.0, 2.0, 2.0]
    assert shown["distance"]["latencies"][3] == [200.0, 200.0, 200.0, 100.0]
    assert shown["distance"]["sources"] == ["measured 2026-03-14: numascape machine probe"]


@pytest.mark.parametrize(
    ("machine", "reason"),
    [(described(nodes=2), "has 2 nodes"), (described(cpus=8), "other CPUs on node 0")],
)
def test_another_machine_is_refused(trace: Trace, machine: Machine, reason: str) -> None:
    with pytest.raises(NumascapeError, match=reason):
        on_machine(trace, machine)


def test_nodes_without_cpus_have_no_factors_of_their_own() -> None:
    machine = described(nodes=2)
    far = dataclasses.replace(machine.nodes[1], cpus=())
    shown = shown_machine(dataclasses.replace(machine, nodes=(machine.nodes[0], far)))
    assert shown["distance"]["factors"] == [[1.0, 2.0], [None, None]]


def test_one_node_has_no_distance() -> None:
    assert "distance" not in shown_machine(described(nodes=1))
