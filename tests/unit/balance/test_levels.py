# SPDX-License-Identifier: Apache-2.0
"""Targets of several hosts, with assumed factors, and with costs by level."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numascape.balance import Options, Problem, flat_target, target_of_machine, task_graph
from numascape.balance import generators as generated
from numascape.balance.formats import write_graph
from numascape.balance.hierarchy import _NodeGroups
from numascape.balance.levels import (
    LevelCosts,
    assumed_costs,
    measured_costs,
    named_costs,
    three_costs,
    with_levels,
)
from numascape.balance.mapping import OURS
from numascape.balance.place_levels import level_names, messages_by_level, place_levels
from numascape.balance.target import Target, several_hosts
from numascape.errors import NumascapeError
from numascape.machine import open_machine
from numascape.machine.core_latencies import CoreLatencies, with_core_latencies
from numascape.machine.description import Cache, CpuGroups
from numascape.machine.document import write_machine

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
    hosts = several_hosts(one, 2, 10.0)
    levels = place_levels(hosts, machine, 2)
    target = with_levels(hosts, levels, three_costs((0, 1, 3), levels))
    assert (target.cores, target.nodes) == (64, 64)
    # Four cores share a cache, eight are on a node, 32 on a host.
    assert target.factors(0, range(8)).tolist() == [0, 1, 1, 1, 3, 3, 3, 3]
    assert target.factors(0, 8) == 3 * one.factor[0, 1]
    assert set(target.factors(0, range(32, 64))) == {30.0}
    # Without a difference within caches, each cache is one place.
    levels = place_levels(one, machine)
    caches = with_levels(one, levels, three_costs((1, 1, 3), levels))
    assert caches.nodes == 8
    assert caches.core_node.tolist() == levels[1].group.tolist()
    assert np.bincount(caches.core_node).tolist() == [4] * 8
    graph = task_graph([1, 1, 1], [0, 3, 4], [0, 1], [1, 2], count=[5, 7])
    assert Problem(graph, caches).measure(graph.core).communication == 5 * 1 + 7 * 3


def test_caches_of_one_node_are_told_apart() -> None:
    """On one node, all mappings have the same published cost; with levels, they differ."""
    machine = open_machine("numa:1 l3:4 core:4 pu:1")
    plain = target_of_machine(machine)
    graph = generated.mesh(24, 16)
    graph = task_graph(
        graph.load, generated.at_random(576, 16, 1), graph.senders, graph.to, count=graph.count
    )
    published = Problem(graph, plain)
    places = place_levels(plain, machine)
    levels = Problem(graph, with_levels(plain, places, three_costs((0, 1, 3), places)))
    options = Options(iterations=1e4, effort=0.0)
    ours, greedy = (levels.run(name, options).mapping for name in ("incumbent", "greedy"))
    assert len({published.measure(m).communication for m in (ours, greedy, graph.core)}) == 1
    assert levels.measure(ours).communication < 0.5 * levels.measure(greedy).communication


def test_costs_that_do_not_rise_are_refused() -> None:
    machine = open_machine("numa32")
    one = target_of_machine(machine)
    levels = place_levels(one, machine)
    for costs in ({"core": 2, "node": 1}, {"core": 0, "node": 3, "host": 1}):
        with pytest.raises(NumascapeError, match="must rise from core to hosts"):
            with_levels(one, levels, LevelCosts(costs))
    for wrong in (-1, float("inf"), float("nan")):
        with pytest.raises(NumascapeError, match="must be finite numbers from 0"):
            LevelCosts({"core": wrong, "node": 1})
    with pytest.raises(NumascapeError, match="that of a node above 0"):
        LevelCosts({"core": 0, "node": 0})
    with pytest.raises(NumascapeError, match="no level 'L9' here: choose from core, node, host"):
        with_levels(one, levels, named_costs("L9=1,node=3", levels))
    many = several_hosts(one, 600, 5.0)
    levels = place_levels(many, machine, 600)
    with pytest.raises(NumascapeError, match="19200 cores or caches"):
        with_levels(many, levels, three_costs((0, 1, 3), levels))


DEEP = "package:2 numa:2 l3:2 l2:2 core:2 pu:1"
"""Two packages of two nodes, of two L3 caches, of two L2 caches, of two cores each."""


def test_levels_are_those_of_the_topology() -> None:
    machine = open_machine(DEEP)
    one = target_of_machine(machine, 2.0)
    hosts = several_hosts(one, 3, 10.0)
    levels = place_levels(hosts, machine, 3)
    assert level_names(levels, 3) == ["core", "L2", "L3", "node", "package", "host", "hosts"]
    assert [level.groups for level in levels] == [96, 48, 24, 12, 6, 3]
    for inner, outer in pairwise(levels):
        # Each group is inside one of the next level.
        assert len(np.unique(np.stack([inner.group, outer.group]), axis=1).T) == inner.groups


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("opteron-6174", ["core", "node", "package", "host"]),
        ("epyc-9354p-nps4", ["core", "L3", "node", "host"]),
        ("epyc-9274f-2s", ["core", "L3", "node", "host"]),
        # One L3 cache for the three nodes of each package.
        ("xeon-6980p-snc3", ["core", "node", "package", "host"]),
        ("numa:1 core:4 pu:1", ["core", "node"]),
        ("numa:4 core:1 pu:2", ["core", "node", "host"]),
    ],
)
def test_levels_of_machines(name: str, expected: list[str]) -> None:
    machine = open_machine(name)
    assert [x.name for x in place_levels(target_of_machine(machine, 2.0), machine)] == expected


def test_dies_are_levels_and_have_plain_names() -> None:
    machine = open_machine("package:2 die:2 core:4 pu:1")
    target = target_of_machine(machine, 2.0)
    # The level of packages is left out, because each node is a package.
    assert [x.name for x in place_levels(target, machine)][:2] == ["core", "die"]
    odd = replace(
        machine,
        groups=tuple(
            CpuGroups(kind, tuple(tuple(range(i, i + n)) for i in range(0, 16, n)))
            for kind, n in (("\x1b[1mnode", 2), ("node", 4), ("", 8))
        ),
    )
    names = [x.name for x in place_levels(target_of_machine(odd, 2.0), odd)]
    assert names[:3] == ["core", "1mnode", "node2"]


def test_caches_that_cross_nodes_are_cut() -> None:
    machine = open_machine("numa:2 core:4 pu:1")
    across = Cache(3, "unified", 1 << 20, 64, ((0, 1), (2, 3, 4, 5), (6, 7)))
    machine = replace(machine, caches=(across,))
    levels = place_levels(target_of_machine(machine, 2.0), machine)
    assert levels[1].name == "L3"
    assert levels[1].group.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_costs_by_name_reach_beyond_the_node() -> None:
    machine = open_machine(DEEP)
    hosts = several_hosts(target_of_machine(machine, 2.0), 2, 10.0)
    levels = place_levels(hosts, machine, 2)
    near = with_levels(hosts, levels, named_costs("core=0,L2=1,L3=2,node=3", levels))
    # Cores 0 to 31 are one host; groups of 4, 8 and 16 share an L3 cache, a node and a package.
    assert near.factors(0, [0, 1, 2, 4, 8, 16, 32]).tolist() == [0, 1, 2, 3, 6, 6, 30]
    far = with_levels(
        hosts, levels, named_costs("core=0,L3=2,node=3,package=4,host=5,hosts=50", levels)
    )
    assert far.factors(0, [0, 1, 2, 4, 8, 16, 32]).tolist() == [0, 2, 2, 3, 4, 5, 50]
    assumed = assumed_costs(levels)
    assert assumed.by_name == {"core": 0, "L2": 1, "L3": 2, "node": 4}


def test_every_level_is_measured() -> None:
    machine = open_machine(DEEP)
    one = target_of_machine(machine, 2.0)
    levels = place_levels(one, machine)
    sizes = (1, 2, 4, 8, 16, 32)
    ns = (np.nan, 20.0, 30.0, 60.0, 120.0, 240.0)

    def between(i: int, j: int) -> float:
        return next(t for t, size in zip(ns, sizes, strict=True) if i // size == j // size)

    matrix = np.array([[between(i, j) for j in range(32)] for i in range(32)])
    found, costs = measured_costs(one, levels, CoreLatencies(tuple(range(32)), matrix))
    assert costs.by_name == {"core": 0, "L2": 1, "L3": 1.5, "node": 3}
    assert found.factor[0].tolist() == [1, 2, 4, 4]
    by_level = with_levels(found, levels, costs)
    assert by_level.factors(0, [0, 1, 2, 4, 8, 16]).tolist() == [0, 1, 1.5, 3, 6, 12]


def _every_pair(target: Target) -> Target:
    """The same target with a matrix of all pairs of places."""
    place = np.arange(target.nodes)
    return replace(target, factor=target.factors(place[:, None], place), inner=None)


COSTS = (
    "core=0,L2=1,L3=2,node=3",
    "core=1,L2=1,L3=2,node=2",
    "core=0,L3=2,node=3,package=4,host=5,hosts=50",
    "node=2,package=2",
)


@pytest.mark.parametrize("words", COSTS)
@pytest.mark.parametrize("hosts", [1, 3])
def test_groups_of_places_stand_for_a_matrix_of_all_pairs(words: str, hosts: int) -> None:
    """All costs are integers, so all sums are exact, and equal mappings result."""
    machine = open_machine(DEEP)
    plain = several_hosts(target_of_machine(machine, 2.0), hosts, 10.0)
    plain.factor[0, 1] = 3.0  # the directions of a pair of nodes differ
    levels = place_levels(plain, machine, hosts)
    if hosts == 1:
        words = words.removesuffix(",hosts=50")
    target = with_levels(plain, levels, named_costs(words, levels))
    matrix = _every_pair(target)
    graph = generated.mesh(20, target.cores, seed=3)
    two = [Problem(graph, one) for one in (target, matrix)]
    for name in ("numalb", "nucolb", "hwtopolb", "hierarchicalnumalb", "metis", "scotch", OURS):
        first, second = (one.run(name, Options(effort=0.1, iterations=50)) for one in two)
        assert first.mapping.tolist() == second.mapping.tolist(), name
        assert first.metrics == second.metrics
        relabelled = [one.relabel(first.mapping).tolist() for one in two]
        assert relabelled[0] == relabelled[1]
    for groups in (2, 3):
        both = [_NodeGroups.divide(one, groups) for one in (target, matrix)]
        assert np.allclose(both[0].as_cores().factor, both[1].as_cores().factor)
        parts = [_every_pair(one.part(1)).factor for one in both]
        assert (parts[0] == parts[1]).all()


def test_each_of_16384_cores_is_a_place() -> None:
    machine = open_machine("package:2 numa:4 l3:2 core:4 pu:1")
    plain = several_hosts(target_of_machine(machine, 2.0), 256, 10.0)
    levels = place_levels(plain, machine, 256)
    target = with_levels(plain, levels, named_costs("core=0,L3=1,node=2", levels))
    assert (target.nodes, target.factor.shape) == (16384, (2048, 2048))
    graph = task_graph([1, 1, 1, 1], [0, 1, 4, 16383], [0, 0, 0], [1, 2, 3])
    assert Problem(graph, target).measure(graph.core).communication == 1 + 2 + 2 * 10


def test_wrong_groups_of_places_are_refused() -> None:
    machine = open_machine(DEEP)
    plain = target_of_machine(machine, 2.0)
    levels = place_levels(plain, machine)
    target = with_levels(plain, levels, named_costs("core=0,L2=1,L3=2,node=3", levels))
    graph = task_graph([1], [0], [], [])
    assert target.inner is not None
    group = target.inner.group.copy()
    group[1, 0] = group[1, 31]
    wrong: dict[str, dict[str, Any]] = {
        "is not inside one group of the next level": {"group": group},
        "factor_row has the row 4 of 4": {"row": target.inner.row + np.uint32(1)},
        "level_group has 32 values instead of 96": {"group": group[:1]},
        "level_cost 0 is nan": {"cost": target.inner.cost * np.nan},
    }
    for message, change in wrong.items():
        with pytest.raises(NumascapeError, match=message):
            Problem(graph, replace(target, inner=replace(target.inner, **change)))


def test_balancers_see_every_level() -> None:
    """Pairs of tasks with many messages fit into L2 caches, groups of four into L3 caches, ..."""
    machine = open_machine(DEEP)
    one = target_of_machine(machine, 2.0)
    levels = place_levels(one, machine)
    costs = named_costs("core=0,L2=1,L3=2,node=4,package=8,host=16", levels)
    pairs = [(a, b) for a in range(32) for b in range(a)]
    weight = [1 << (3 * (5 - max(1, (a ^ b).bit_length()))) for a, b in pairs]
    shuffled = np.random.default_rng(3).permutation(32)
    graph = task_graph(
        np.ones(32), shuffled, [a for a, _ in pairs], [b for _, b in pairs], count=weight
    )
    problem = Problem(graph, with_levels(one, levels, costs))
    best = problem.measure(np.arange(32, dtype=np.uint32)).communication
    assert problem.run("scotch").metrics.communication == best
    assert problem.run("incumbent", Options(iterations=1e4)).metrics.communication == best
    shares = messages_by_level(graph, problem.run("scotch").mapping, levels)
    assert [name for name, share in shares.items() if share] == [
        "L2", "L3", "node", "package", "host",
    ]  # fmt: skip


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
    assert "% core  node  package  host  hosts" in output


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--factor", 0.1), "the factor 0.1 is not a number from 1"),
        (("--host-factor", 0), "the factor 0 is not"),
        (("--hosts", 100000), "100000 hosts have"),
        (("--level-costs", "1,2"), "not three numbers with commas"),
        (("--level-costs", "3,2,1"), "must rise"),
        (("--level-costs", "core=0"), "add node=3"),
        (("--level-costs", "core=x,node=1"), "not a list of costs such as"),
        (("--level-costs", "L2=1,node=2"), "there is no level 'L2' here"),
        (("--level-costs", "foo=3"), "there is no level 'foo' here: choose from core, node, host"),
        (("--level-costs", "core=0,core=1,node=2"), "has two costs of 'core': give one"),
        (("--level-costs", "measured"), "has no latencies between cores"),
    ],
)
def test_mistakes_are_told_in_one_line(
    numascape: Numascape, file: Path, arguments: tuple[str, object], complaint: str
) -> None:
    status, _, errors = numascape("balance", file, "-m", "numa32", *arguments)
    assert status == 2
    assert complaint in errors.splitlines()[-1]
    assert sum("error" in line for line in errors.splitlines()) == 1


def test_a_factor_replaces_those_of_the_machine(numascape: Numascape, file: Path) -> None:
    arguments = ("balance", file, "-a", "greedy", "--host-factor", 1, "--factor")
    status, flat, said = numascape(*arguments, 1, "-m", "numa32")
    assert status == 0
    assert "note: --factor 1 replaces the NUMA factors of NUMA32" in said
    _, far, _ = numascape(*arguments, 3, "-m", "numa32")
    columns = [output.splitlines()[-1].split() for output in (flat, far)]
    # Greedy ignores messages: 960 of them cost 1, or 1 within a node and 3 between nodes.
    assert float(columns[0][2]) == 960
    assert 960 < float(columns[1][2]) <= 3 * 960
    assert (float(columns[1][2]) - 960) % 2 == 0


def test_levels_without_effect_are_named(numascape: Numascape, file: Path) -> None:
    arguments = ("balance", file, "-a", "greedy", "-m", "numa:1 l3:12 core:8 pu:1")
    assert "between all cores of a node cost the same: L3 of the" in numascape(*arguments)[2]
    assert "cost the same" not in numascape(*arguments, "--level-costs", "default")[2]
    plain = ("balance", file, "-a", "greedy", "-m", "numa:2 core:64 pu:1", "--factor", 2)
    assert "cost the same" not in numascape(*plain)[2]


def test_costs_by_level_from_the_machine(numascape: Numascape, file: Path, tmp_path: Path) -> None:
    arguments = ("balance", file, "-a", "hierarchicalnumalb", "--level-costs")
    status, output, said = numascape(*arguments, "default", "-m", "epyc-9354p-nps4", "--hosts", 2)
    assert status == 0
    assert "costs 0 within a core, 1 within a L3, 2 within a node, as assumed" in said
    assert "% core  L3  node  host  hosts" in output
    machine = open_machine("numa:2 l3:2 core:16 pu:1")
    ns = np.where(np.arange(64)[:, None] // 16 == np.arange(64) // 16, 25.0, 100.0)
    known = with_core_latencies(machine, CoreLatencies(tuple(range(64)), ns), "2026-01-01")
    write_machine(known, tmp_path / "m.json")
    for words in ("measured", "default"):
        status, _, said = numascape(*arguments, words, "-m", tmp_path / "m.json")
        assert status == 0
        assert "1 within a L3, 4 within a node, by measured latencies" in said


def test_a_core_that_no_hosts_could_have_is_refused(numascape: Numascape, file: Path) -> None:
    document = json.loads(file.read_text())
    document["core"][0] = (1 << 32) - 1
    file.write_text(json.dumps(document))
    status, _, errors = numascape("balance", file, "-m", "numa32")
    assert status == 2
    assert "not from 1 to 4096" in errors.splitlines()[-1]
