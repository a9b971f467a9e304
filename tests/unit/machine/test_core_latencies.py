# SPDX-License-Identifier: Apache-2.0
"""Latencies between cores: measured here, as files, and as costs by level."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from numascape.balance import target_of_machine
from numascape.balance.levels import measured_costs
from numascape.balance.place_levels import place_levels
from numascape.errors import NumascapeError
from numascape.machine import open_machine
from numascape.machine.core_latencies import (
    CoreLatencies,
    core_latencies_csv,
    first_cpus,
    read_core_latencies,
    stored_core_latencies,
    with_core_latencies,
)
from numascape.machine.document import read_machine, write_machine

Numascape = Callable[..., tuple[int, str, str]]


def synthetic(cpus: int, ns: Callable[[int, int], float]) -> CoreLatencies:
    """A matrix by a rule, with some noise."""
    noise = np.random.default_rng(1).uniform(0.98, 1.02, (cpus, cpus))
    matrix = np.array([[ns(i, j) if i != j else np.nan for j in range(cpus)] for i in range(cpus)])
    return CoreLatencies(tuple(range(cpus)), matrix * noise)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    known = synthetic(4, lambda i, j: 40.0 + 10 * (i + j))
    file = tmp_path / "latencies.csv"
    file.write_text(core_latencies_csv(known))
    read = read_core_latencies(file)
    assert read.cpus == known.cpus
    assert np.allclose(read.ns, known.ns, rtol=1e-3, equal_nan=True)


def test_levels_cost_what_was_measured() -> None:
    machine = open_machine("numa:2 l3:2 core:4 pu:1")
    target = target_of_machine(machine, 2.0)

    def ns(i: int, j: int) -> float:
        if i // 8 != j // 8:
            return 300.0
        return 40.0 if i // 4 == j // 4 else 100.0

    levels = place_levels(target, machine)
    measured, costs = measured_costs(target, levels, synthetic(16, ns))
    assert (costs.by_name["core"], costs.by_name["L3"]) == (0.0, 1.0)
    assert costs.by_name["node"] == pytest.approx(2.5, rel=0.02)
    assert measured.factor[0, 1] == pytest.approx(3.0, rel=0.02)


def test_without_shared_caches_a_node_is_the_quickest_level() -> None:
    machine = open_machine("numa:2 l3:2 core:1 pu:1")
    target = target_of_machine(machine, 2.0)
    far = synthetic(4, lambda i, j: 80.0 if i // 2 == j // 2 else np.nan)
    measured, costs = measured_costs(target, place_levels(target, machine), far)
    assert costs.by_name == {"core": 0.0, "node": 1.0}
    assert measured.factor[0, 1] == 2.0  # not measured


def test_latencies_of_another_machine_are_refused() -> None:
    machine = open_machine("numa:2 core:4 pu:1")
    target = target_of_machine(machine, 2.0)
    with pytest.raises(NumascapeError, match="have no CPU 4"):
        measured_costs(target, place_levels(target, machine), synthetic(4, lambda _i, _j: 50.0))


def test_a_disturbed_measurement_still_gives_rising_costs() -> None:
    """Cores with a shared L2 cache seem to be farther apart than others of the same L3 cache."""
    machine = open_machine("numa:2 l3:1 l2:2 core:2 pu:1")
    target = target_of_machine(machine, 2.0)
    levels = place_levels(target, machine)
    odd = synthetic(8, lambda i, j: 90.0 if i // 2 == j // 2 else 60.0 if i // 4 == j // 4 else 200)
    _, costs = measured_costs(target, levels, odd)
    assert costs.by_name == {"core": 0.0, "L2": 1.0, "node": 1.0}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "has no heading"),
        ("core,0,1\n0,,1\n1,1,\n", "has no heading"),
        ("cpu,0,1\n0,,1\n", "not a square"),
        ("cpu,0,1\n0,,1\n2,1,\n", "not the same CPUs"),
        ("cpu,0,0\n0,,1\n0,1,\n", "not the same CPUs"),
        ("cpu,0,x\n0,,1\nx,1,\n", "'x' is not the number of a CPU"),
        ("cpu,0,1\n0,,-1\n1,1,\n", "'-1' is not a latency"),
        ("cpu,0,1\n0,,inf\n1,1,\n", "'inf' is not a latency"),
    ],
)
def test_a_file_that_makes_no_sense_is_one_line(
    numascape: Numascape, tmp_path: Path, text: str, complaint: str
) -> None:
    file = tmp_path / "latencies.csv"
    file.write_text(text)
    (tmp_path / "tasks.csv").write_text("load\n1\n2\n")
    status, _, errors = numascape(
        "balance", tmp_path, "-m", "numa:1 core:2 pu:1", "--level-costs", file
    )
    assert (status, errors.count("\n")) == (2, 1)
    assert complaint in errors


@pytest.mark.program
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_this_host_is_measured(numascape: Numascape, tmp_path: Path) -> None:
    file = tmp_path / "latencies.csv"
    status, _, said = numascape("machine", "cores", "-o", file)
    host = open_machine(None)
    if len(first_cpus(host)) < 2:
        assert (status, said.count("\n")) == (2, 1)
        return
    assert status == 0
    found = read_core_latencies(file)
    assert found.cpus == first_cpus(host)
    apart = ~np.eye(len(found.cpus), dtype=bool)
    assert np.isnan(np.diag(found.ns)).all()
    assert (found.ns[apart] > 0).all()
    assert np.array_equal(found.ns[apart], found.ns.T[apart])
    # A description of this machine gets the matrix, and keeps its other values.
    described = tmp_path / "host.json"
    write_machine(replace(host, notes=("ours",)), described)
    status, _, said = numascape("machine", "cores", "-o", described)
    assert (status, "--level-costs measured" in said) == (0, True)
    again = read_machine(described)
    assert again.core_latencies is not None
    assert (again.core_latencies.cpus, again.notes) == (found.cpus, ("ours",))
    other = tmp_path / "other.json"
    write_machine(open_machine("numa:2 core:64 pu:1"), other)
    status, _, errors = numascape("machine", "cores", "-o", other)
    assert (status, errors.count("\n")) == (2, 1)
    assert "with other CPUs than this host's" in errors


def test_latencies_are_a_part_of_a_machine(tmp_path: Path) -> None:
    machine = open_machine("numa:2 core:2 pu:1")
    known = synthetic(4, lambda i, j: 40.0 + 10 * (i + j))
    file = tmp_path / "machine.json"
    write_machine(with_core_latencies(machine, known, "2026-01-01"), file)
    stored = read_machine(file).core_latencies
    assert stored is not None
    assert stored.provenance.kind == "measured"
    read = stored_core_latencies(stored)
    assert np.allclose(read.ns, known.ns, rtol=1e-3, equal_nan=True)
    with pytest.raises(NumascapeError, match="has no CPU 4: it is another machine"):
        with_core_latencies(machine, synthetic(5, lambda _i, _j: 9.0), "")
    wrong = json.loads(file.read_text())
    wrong["core_latencies"]["values"].pop()
    file.write_text(json.dumps(wrong))
    with pytest.raises(NumascapeError, match="one row and one column for each of its CPUs"):
        read_machine(file)
