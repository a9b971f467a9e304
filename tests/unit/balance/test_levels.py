# SPDX-License-Identifier: Apache-2.0
"""Targets of several hosts, with assumed factors, and with costs by level."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from numascape.balance import Options, Problem, flat_target, target_of_machine, task_graph
from numascape.balance import generators as generated
from numascape.balance.formats import write_graph
from numascape.balance.levels import LevelCosts, cache_of_core, with_levels
from numascape.balance.target import several_hosts
from numascape.errors import NumascapeError
from numascape.machine import open_machine

Numascape = Callable[..., tuple[int, str, str]]


def test_a_given_factor_stands_for_unknown_ones_only() -> None:
    grace = target_of_machine(open_machine("grace-cpu-superchip"), 1.7)
    assert grace.factor.tolist() == [[1.0, 1.7], [1.7, 1.0]]
    known = open_machine("numa32")
    assert (target_of_machine(known, 9.0).factor == target_of_machine(known).factor).all()
    with pytest.raises(NumascapeError, match=r"the factor 0\.5 is not a number"):
        target_of_machine(known, 0.5)


def test_hosts_are_copies_of_the_machine() -> None:
    one = flat_target(2, 3, 2.0)
    target = several_hosts(one, 3, 8.0)
    assert (target.cores, target.nodes) == (18, 6)
    assert target.core_node[6:12].tolist() == [2, 2, 2, 3, 3, 3]
    assert target.factor[2].tolist() == [8.0, 8.0, 1.0, 2.0, 8.0, 8.0]
    assert several_hosts(one, 1, 8.0) is one
    with pytest.raises(NumascapeError, match="3000 hosts have 6000 nodes"):
        several_hosts(one, 3000, 8.0)


def test_a_message_costs_what_its_level_costs() -> None:
    machine = open_machine("epyc-9354p-nps4")
    one = target_of_machine(machine)
    target = with_levels(several_hosts(one, 2, 10.0), machine, LevelCosts(0, 1, 3))
    assert (target.cores, target.nodes) == (64, 64)
    # Four cores share a cache, eight are on a node, 32 on a host.
    assert target.factor[0, :8].tolist() == [0, 1, 1, 1, 3, 3, 3, 3]
    assert target.factor[0, 8] == 3 * one.factor[0, 1]
    assert set(target.factor[0, 32:]) == {30.0}
    # Without a difference within caches, each cache is one place.
    caches = with_levels(one, machine, LevelCosts(1, 1, 3))
    assert caches.nodes == 8
    assert caches.core_node.tolist() == cache_of_core(one, machine).tolist()
    assert np.bincount(caches.core_node).tolist() == [4] * 8
    graph = task_graph([1, 1, 1], [0, 3, 4], [0, 1], [1, 2], count=[5, 7])
    assert Problem(graph, caches).measure(graph.core).communication == 5 * 1 + 7 * 3


def test_caches_of_one_node_are_told_apart() -> None:
    """All mappings have the same published cost on one node; with levels, they do not."""
    machine = open_machine("numa:1 l3:4 core:4 pu:1")
    plain = target_of_machine(machine)
    graph = generated.mesh(24, 16)
    graph = task_graph(
        graph.load, generated.at_random(576, 16, 1), graph.senders, graph.to, count=graph.count
    )
    published = Problem(graph, plain)
    levels = Problem(graph, with_levels(plain, machine, LevelCosts(0, 1, 3)))
    options = Options(iterations=1e4, effort=0.0)
    ours, greedy = (levels.run(name, options).mapping for name in ("incumbent", "greedy"))
    assert len({published.measure(m).communication for m in (ours, greedy, graph.core)}) == 1
    assert levels.measure(ours).communication < 0.5 * levels.measure(greedy).communication


def test_costs_that_do_not_rise_are_refused() -> None:
    for costs in ((2, 1, 3), (-1, 0, 1), (0, 0, 0), (0, 1, float("inf")), (float("nan"), 1, 2)):
        with pytest.raises(NumascapeError, match="that rise from core to node"):
            LevelCosts(*costs)
    machine = open_machine("numa32")
    many = several_hosts(target_of_machine(machine), 200, 5.0)
    with pytest.raises(NumascapeError, match="6400 cores or caches"):
        with_levels(many, machine, LevelCosts(0, 1, 3))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mesh.json"
    write_graph(path, generated.mesh(16, 64))
    return path


def test_the_verb_says_what_it_assumes(numascape: Numascape, file: Path) -> None:
    status, output, said = numascape("balance", file, "-m", "opteron-6174", "-a", "numalb")
    assert status == 0
    assert "are unknown: 2 is assumed" in said
    assert "more cores than one 4 x AMD Opteron 6174 has: 2 hosts are assumed" in said
    assert output.startswith("256 tasks, 960 messages, 96 cores on 16 nodes of 2 x 4 x AMD")
    status, output, said = numascape(
        "balance", file, "-m", "opteron-6174", "--factor", 1.5, "--hosts", 3, "-a", "numalb",
        "--level-costs", "0,1,2",
    )  # fmt: skip
    assert (status, said) == (0, "")
    assert "144 cores on 24 nodes of 3 x" in output
    assert "% core  cache  node  host  hosts" in output


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--factor", 0.1), "the factor 0.1 is not a number from 1"),
        (("--host-factor", 0), "the factor 0 is not"),
        (("--hosts", 100000), "100000 hosts have"),
        (("--level-costs", "1,2"), "not three numbers with commas"),
        (("--level-costs", "3,2,1"), "that rise"),
    ],
)
def test_mistakes_are_told_in_one_line(
    numascape: Numascape, file: Path, arguments: tuple[str, object], complaint: str
) -> None:
    status, _, errors = numascape("balance", file, "-m", "numa32", *arguments)
    assert status == 2
    assert complaint in errors.splitlines()[-1]
    assert sum("error" in line for line in errors.splitlines()) == 1


def test_a_core_that_no_hosts_could_have_is_refused(numascape: Numascape, file: Path) -> None:
    document = json.loads(file.read_text())
    document["core"][0] = (1 << 32) - 1
    file.write_text(json.dumps(document))
    status, _, errors = numascape("balance", file, "-m", "numa32")
    assert status == 2
    assert "not from 1 to 4096" in errors.splitlines()[-1]
