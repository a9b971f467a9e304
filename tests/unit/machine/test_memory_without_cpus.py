# SPDX-License-Identifier: Apache-2.0
"""A machine with one node of CPUs and eight nodes without (Grace-Hopper) works in every verb."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from numascape.balance.formats import write_graph
from numascape.balance.generators import jacobi2d
from numascape.findings.nodes import nodes_of
from numascape.machine import open_machine
from numascape.plan.document import read_plan
from numascape.prediction.speeds import speeds_of
from numascape.trace import Trace
from quality.external import ROOT
from synthetic.patterns import seismic
from synthetic.write import write_pattern
from unit.host.conftest import add_node as add_host_node

Numascape = Callable[..., tuple[int, str, str]]
MACHINE = ROOT / "machines" / "gh200.json"
host_node = add_host_node


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "run.numascape"
    write_pattern(seismic(1920, 16), path)
    return path


def test_the_machine_itself(numascape: Numascape, tmp_path: Path) -> None:
    status, output, _ = numascape("machine", "show", "-m", MACHINE)
    assert status == 0
    assert output.count("no CPUs") == 8
    for kind in ("hwloc-xml", "scotch", "csv", "json"):
        exported = tmp_path / "exported"
        assert numascape("machine", "export", "-f", kind, "-m", MACHINE, "-o", exported)[0] == 0
        if kind == "hwloc-xml":
            again = open_machine(str(exported))
            assert [node.cpus for node in again.nodes if node.cpus] == [tuple(range(72))]
    assert numascape("machine", "show", "-m", MACHINE, "-o", tmp_path / "machine.svg")[0] == 0


def test_all_accesses_are_local_so_no_gain_is_promised(numascape: Numascape, trace: Path) -> None:
    assert nodes_of(Trace.read(trace), open_machine(str(MACHINE))) is None
    status, output, _ = numascape("advise", trace, "-m", MACHINE)
    assert status == 0
    assert output.startswith("seismic: 16 threads, on NVIDIA GH200 Grace Hopper (9 nodes)")
    assert "of the run time saved" not in output
    # One verdict, before the findings, and no number that contradicts it.
    verdict = output.splitlines()[1]
    assert "All accesses are local on NVIDIA GH200 Grace Hopper: all its CPUs are on" in verdict
    assert verdict.endswith("matters only on a machine with CPUs on several nodes.")
    shares = [line for line in output.splitlines() if "could become local" in line]
    assert shares
    assert all(line.endswith("on a machine with CPUs on several nodes") for line in shares)
    assert "shares of accesses, not of time" in output


def test_nodes_of_the_same_numbers_with_cpus_elsewhere_are_another_machine(
    numascape: Numascape, trace: Path
) -> None:
    # The run was recorded on four nodes of CPUs. Here, only two of four nodes have CPUs.
    machine = open_machine("xeon-max-9470-flat")
    nodes = nodes_of(Trace.read(trace), machine)
    assert nodes is not None
    assert not nodes.observed
    assert set(nodes.thread_node.tolist()) == {0, 1}
    first = nodes.pages.filter(nodes.pages["node"] == 0)
    assert first.height > 0.99 * nodes.pages.height  # the others are stacks
    _, output, _ = numascape("advise", trace, "-m", "xeon-max-9470-flat")
    assert "1  serial first touch  grid->vx" in output
    assert "of the run time saved, predicted for 2 x Intel Xeon Max" in output


def test_hbm_serves_as_much_as_was_published(trace: Path) -> None:
    machine = open_machine("xeon-max-9470-flat")
    (controllers,) = machine.controllers
    assert controllers.values == (307.0, 307.0, 1638.0, 1638.0)
    assert "McCalpin" in controllers.provenance.source
    speeds = speeds_of(machine)
    assert speeds.controller.tolist() == [307.0, 307.0, 1638.0, 1638.0]
    # The links between sockets limit the memory of the other socket, whatever its kind.
    assert speeds.link[0, 1] == speeds.link[0, 3] < 307.0 < speeds.link[0, 2]
    assert not any("bandwidth of a node's memory" in text for text in speeds.assumed)


def test_prediction_plan_and_report(numascape: Numascape, trace: Path, tmp_path: Path) -> None:
    status, output, _ = numascape("predict", trace, "-m", MACHINE, "--json")
    assert status == 0
    assert {row["policy"] for row in json.loads(output)["predictions"]} >= {"observed"}
    plan = tmp_path / "plan.toml"
    assert numascape("advise", trace, "-m", MACHINE, "-o", plan)[0] == 0
    assert read_plan(plan).machine == "NVIDIA GH200 Grace Hopper"
    page = tmp_path / "report.html"
    assert numascape("report", trace, "-m", MACHINE, "-o", page)[0] == 0
    assert page.stat().st_size > 1000


def test_balancing_uses_the_cores_there_are(numascape: Numascape, tmp_path: Path) -> None:
    graph = tmp_path / "graph.json"
    write_graph(graph, jacobi2d(64, 16))
    status, output, _ = numascape("balance", graph, "-m", MACHINE)
    assert status == 0
    assert "72 cores on 1 node" in output


def test_a_host_with_such_nodes(
    numascape: Numascape, host_node: Callable[..., None], tmp_path: Path
) -> None:
    for node in range(9):
        host_node(node, " ".join("10" if other == node else "80" for other in range(9)))
        if node > 0:
            (tmp_path / f"sys/devices/system/node/node{node}/cpulist").write_text("\n")
    assert numascape("host", "show", "--root", tmp_path)[0] == 0
    words = ("host", "check", "--root", tmp_path, "--bytes-per-node", "1G")
    assert numascape(*words, "--nodes", "0")[0] == 0
    assert numascape(*words)[0] == 0
