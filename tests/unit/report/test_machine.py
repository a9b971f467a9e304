# SPDX-License-Identifier: Apache-2.0
"""The report's machine: the recorded one, with more values if described, or another one."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

from numascape.analysis.sharing import PAGE
from numascape.errors import NumascapeError
from numascape.machine import Machine, MachineNode, Matrix, Provenance, open_machine
from numascape.machine.sources import shipped_machines
from numascape.report import draft, on_machine, shown_and_others
from numascape.report.machine import shown_machine
from numascape.report.machines import TYPICAL
from numascape.trace import Trace
from synthetic.in_memory import trace_of
from synthetic.patterns import naive_matmul

MEASURED = Provenance("measured", "numascape machine probe", "2026-03-14")


@pytest.fixture
def trace() -> Trace:
    """Recorded on four nodes of 16 CPUs."""
    return trace_of(naive_matmul(64, 4))


def described(cpus: int = 16, nodes: int = 4) -> Machine:
    """The same machine; memory of other nodes takes twice as long."""
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


def test_a_run_is_laid_out_on_another_machine(trace: Trace) -> None:
    machine = described(nodes=2)
    shown = draft(on_machine(trace, machine))
    assert [node["node"] for node in shown.machine["nodes"]] == [0, 1]
    half = trace.threads.height / 2
    assert [thread["nodes"] for thread in shown.threads] == [
        [int(number >= half)] for number in range(trace.threads.height)
    ]
    # Each page is on the node of its first toucher.
    touched = trace.first_touch.select(*PAGE, toucher="thread")
    rows = trace.accesses.join(touched, on=PAGE)
    expected = [
        [
            rows.filter((pl.col("thread") // 2 == node) & (pl.col("toucher") // 2 == memory))
            .select((pl.col("reads") + pl.col("writes")).sum())
            .item()
            for memory in range(2)
        ]
        for node in range(2)
    ]
    found = shown.traffic.accesses.reshape(-1, 3, 3).sum(axis=0)
    assert found[:2, :2].tolist() == expected
    assert expected[1][0] > 0
    assert shown.run["laid_out"].startswith("Recorded on ")
    assert machine.name in shown.run["laid_out"]
    assert draft(trace).run["laid_out"] == ""


def test_nodes_without_cpus_have_no_factors_of_their_own() -> None:
    machine = described(nodes=2)
    far = dataclasses.replace(machine.nodes[1], cpus=())
    shown = shown_machine(dataclasses.replace(machine, nodes=(machine.nodes[0], far)))
    assert shown["distance"]["factors"] == [[1.0, 2.0], [None, None]]


def test_one_node_has_no_distance() -> None:
    assert "distance" not in shown_machine(described(nodes=1))


def test_a_run_of_one_node_can_be_seen_on_typical_machines() -> None:
    pattern = naive_matmul(64, 4)
    recorded = trace_of(pattern)
    assert shown_and_others(recorded, [])[1] == ()
    one = dataclasses.replace(recorded.info, machine=described(nodes=1))
    shown, others = shown_and_others(dataclasses.replace(recorded, info=one), [])
    assert shown.info.machine.name == "probed"
    assert [machine.name for machine in others] == [open_machine(name).name for name in TYPICAL]


def test_the_first_machine_given_is_shown_and_the_others_can_be_chosen(trace: Trace) -> None:
    shown, others = shown_and_others(trace, ["numa16", "xeon-x7550", "numa16"])
    assert shown.info.machine == open_machine("numa16")
    assert others == (open_machine("xeon-x7550"),)
    shown, others = shown_and_others(trace, ["all"])
    assert shown is trace
    assert len(others) == len(shipped_machines())
    with pytest.raises(NumascapeError, match="there is no machine 'nowhere'"):
        shown_and_others(trace, ["numa16", "nowhere"])


def test_another_machine_has_what_a_report_for_it_has(trace: Trace) -> None:
    machine = described(nodes=2)
    (other,) = draft(trace, others=[machine]).elsewhere
    alone = draft(on_machine(trace, machine))
    assert other.findings == alone.findings
    assert other.machine == alone.machine
    assert other.verdict == alone.run["verdict"]
    assert other.laid_out == alone.run["laid_out"]
    assert list(other.readings) == [entry.reading for entry in alone.structures]
    assert [one["nodes"] for one in other.threads] == [one["nodes"] for one in alone.threads]
    for name in ("accesses", "local", "remote", "thread_local", "thread_remote"):
        assert getattr(other.traffic, name).tolist() == getattr(alone.traffic, name).tolist()
    assert other.line_traffic is None


def test_what_was_read_of_a_trace_serves_another_description_of_its_machine(trace: Trace) -> None:
    assert on_machine(trace, trace.info.machine) is trace
    shown = on_machine(trace, described())
    assert shown.info.machine.name == "probed"
    assert shown.accesses is trace.accesses
