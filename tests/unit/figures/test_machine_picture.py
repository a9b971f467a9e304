# SPDX-License-Identifier: Apache-2.0
"""The picture of a machine shows each node once, inside its package; its page loads nothing."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from numascape import NumascapeError
from numascape.figures.bench_picture import draw_bench
from numascape.figures.drawing import encode
from numascape.figures.machine_file import save_machine
from numascape.figures.machine_picture import arrange_machine, draw_machine
from numascape.machine import Machine, MachineNode, open_machine, shipped_machines
from numascape.machine.benchmarks import BandwidthPoint, Series, bandwidth_csv


@pytest.mark.parametrize("name", [*shipped_machines(), "package:3 node:5 core:2 pu:1"])
def test_boxes_lie_in_their_packages_and_apart(name: str) -> None:
    machine = open_machine(name)
    layout = arrange_machine(machine)
    assert sorted(box.node.node for box in layout.nodes) == [node.node for node in machine.nodes]
    for box in layout.nodes:
        assert any(
            x <= box.x and y <= box.y and box.x + box.width <= x + w and box.y + box.height <= y + h
            for x, y, w, h in layout.packages
        )
    for one, other in itertools.combinations(layout.nodes, 2):
        apart = (
            one.x + one.width <= other.x or other.x + other.width <= one.x
            or one.y + one.height <= other.y or other.y + other.height <= one.y
        )  # fmt: skip
        assert apart


@pytest.mark.slow  # draws
def test_the_picture_names_nodes_cpus_and_factors() -> None:
    drawn = encode(draw_machine(open_machine("epyc-9354p-nps4")), ".svg").decode()
    text = re.findall(r">([^<>]+)</text>", drawn)
    for word in ("node 3", "63", "1.12", "106", "NUMA factor (published)"):
        assert word in text


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NumascapeError, match=r"\.svg, \.png, \.html"):
        save_machine(Machine("a", (MachineNode(0, (0,), 1),)), tmp_path / "machine.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_benchmark_s_plot_and_table() -> None:
    machine = open_machine("xeon-x7550")
    serial = Series(4, 2, "serial", (0, 8, 1, 9))
    results = [BandwidthPoint(serial, size, 10.0, 0.5, 0) for size in (4096, 8192)]
    drawn = encode(draw_bench(machine, "triad", results), ".svg").decode()
    assert "4 threads, 2S, serial first touch" in drawn
    assert " L3" in drawn
    assert bandwidth_csv("triad", results).splitlines()[1] == (
        "triad,4,2,serial,4096,128,10,0.5,0.625,0,threads"
    )
