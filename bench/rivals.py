# SPDX-License-Identifier: Apache-2.0
"""Partitioners from PyPI for comparison, each in its own process.

`python -m bench.rivals NAME FILE` maps the problem of FILE (.npz) and prints JSON: the mapping and
the seconds of CPU. They are not dependencies: pip install kahip
chszlablib mtkahypar kahypar pymetis. KaHyPar needs a file of its settings, which its wheel does not
have: KAHYPAR_CONFIG names it (such as cut_kKaHyPar_sea20.ini of KaHyPar's sources).
"""

import copy
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from numascape.balance import Problem
from numascape.balance.graph import Cores, Integers

KAHYPAR_CONFIG = "KAHYPAR_CONFIG"
IMBALANCE = 0.05
# The share of the allowed imbalance for the nodes; the cores of each node get the rest.
NODES_SHARE = 0.8

# Loads and costs are scaled to integers; the largest one becomes this value.
STEPS = 256


class Given:
    """A problem for partitioners: an undirected graph with integer weights."""

    def __init__(self, file: Path) -> None:
        data = np.load(file)
        self.tasks, self.cores = len(data["load"]), len(data["core_node"])
        self.node, self.factor = data["core_node"], data["factor"]
        self.load = self._steps(data["load"])
        low = np.minimum(data["sender"], data["receiver"]).astype(np.int64)
        high = np.maximum(data["sender"], data["receiver"]).astype(np.int64)
        pairs, place = np.unique((low * self.tasks + high)[low != high], return_inverse=True)
        weight = np.bincount(place, data["count"][low != high], len(pairs))
        self.low, self.high = pairs // self.tasks, pairs % self.tasks
        self.weight = self._steps(weight)

    @staticmethod
    def _steps(values: npt.NDArray[Any]) -> Integers:
        scale = STEPS / values.max() if len(values) and values.max() > 0 else 1.0
        steps: Integers = np.maximum(1, np.ceil(values * scale)).astype(np.int64)
        return steps

    def of(self, tasks: Integers) -> "Given":
        """These tasks and the messages among them."""
        place = np.full(self.tasks, -1)
        place[tasks] = np.arange(len(tasks))
        inside = (place[self.low] >= 0) & (place[self.high] >= 0)
        part = copy.copy(self)
        part.tasks, part.load = len(tasks), self.load[tasks]
        part.low, part.high = place[self.low[inside]], place[self.high[inside]]
        part.weight = self.weight[inside]
        return part

    def rows(self) -> tuple[Integers, Integers, Integers]:
        """Offsets, neighbours and weights with both directions."""
        ends = np.concatenate([self.low, self.high])
        others = np.concatenate([self.high, self.low])
        order = np.lexsort((others, ends))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=self.tasks))])
        return offsets, others[order], np.concatenate([self.weight, self.weight])[order]


Rival = Callable[[Given], list[int]]
# A graph, the number of parts and their largest imbalance; the part of each task.
Partition = Callable[[Given, int, float], Integers]


def kaffpa(given: Given) -> list[int]:
    import kahip

    offsets, others, weights = given.rows()
    parts: list[int] = kahip.kaffpa(
        given.load.tolist(), offsets.tolist(), weights.tolist(), others.tolist(), given.cores,
        IMBALANCE, True, 1, kahip.ECO,
    )[1]  # fmt: skip
    return parts


def shared_map(given: Given) -> list[int]:
    from chszlablib import Decomposition, Graph

    offsets, others, weights = given.rows()
    graph = Graph.from_csr(offsets, others, node_weights=given.load, edge_weights=weights)
    nodes = len(given.factor)
    far = round(10 * float(given.factor[~np.eye(nodes, dtype=bool)].mean()))
    found = Decomposition.process_map(
        graph, hierarchy=[given.cores // nodes, nodes], distance=[10, far], mode="strong", threads=1
    )
    parts: list[int] = found.assignment.tolist()
    return parts


def mt_kahypar(given: Given) -> list[int]:
    # The distances of a machine need the square of its cores, and minutes beyond this size; with
    # more cores, the cut between cores is minimised.
    largest_target = 64
    if given.cores > largest_target:
        return directly(mt_kahypar_parts)(given)
    kahypar, context, graph = mt_kahypar_graph(given, given.cores, IMBALANCE)
    cores = [(a, b) for a in range(given.cores) for b in range(a + 1, given.cores)]
    distance = [int(10 * given.factor[given.node[a], given.node[b]]) for a, b in cores]
    machine = kahypar.create_target_graph(context, given.cores, len(cores), cores, distance)
    mapped = graph.map_onto_graph(machine, context)
    return [mapped.block_id(task) for task in range(given.tasks)]


def mt_kahypar_graph(part: Given, count: int, imbalance: float) -> tuple[Any, Any, Any]:
    """Mt-KaHyPar, its settings and the graph."""
    import mtkahypar

    kahypar = mtkahypar.initialize(1)
    context = kahypar.context_from_preset(mtkahypar.PresetType.QUALITY)
    context.set_partitioning_parameters(count, imbalance, mtkahypar.Objective.CUT)
    context.logging = False
    edges = list(zip(part.low.tolist(), part.high.tolist(), strict=True))
    return kahypar, context, kahypar.create_graph(
        context, part.tasks, len(edges), edges, part.load.tolist(), part.weight.tolist()
    )  # fmt: skip


def mt_kahypar_parts(part: Given, count: int, imbalance: float) -> Integers:
    _, context, graph = mt_kahypar_graph(part, count, imbalance)
    found = graph.partition(context)
    return np.array([found.block_id(task) for task in range(part.tasks)])


def kahypar_parts(part: Given, count: int, imbalance: float) -> Integers:
    import kahypar

    context = kahypar.Context()
    context.loadINIconfiguration(os.environ[KAHYPAR_CONFIG])
    context.setK(count)
    context.setEpsilon(imbalance)
    context.setSeed(1)
    context.suppressOutput(True)
    ends = np.column_stack([part.low, part.high]).ravel()
    graph = kahypar.Hypergraph(
        part.tasks, len(part.low), np.arange(0, len(ends) + 1, 2).tolist(), ends.tolist(), count,
        part.weight.tolist(), part.load.tolist(),
    )  # fmt: skip
    kahypar.partition(graph, context)
    return np.array([graph.blockID(task) for task in range(part.tasks)])


def metis_parts(part: Given, count: int, imbalance: float) -> Integers:
    import pymetis

    offsets, others, weights = part.rows()
    options = pymetis.Options(ufactor=max(1, round(1000 * imbalance)))
    found = pymetis.part_graph(
        count, xadj=offsets.tolist(), adjncy=others.tolist(), vweights=part.load.tolist(),
        eweights=weights.tolist(), recursive=count <= 8, options=options,
    )[1]  # fmt: skip
    return np.array(found)


def directly(partition: Partition) -> Rival:
    """One partition onto all cores."""

    def found(given: Given) -> list[int]:
        parts: list[int] = partition(given, given.cores, IMBALANCE).tolist()
        return parts

    return found


def in_two_levels(partition: Partition) -> Rival:
    """A partition onto nodes, and then one of each node's tasks onto its cores."""

    def found(given: Given) -> list[int]:
        nodes = len(given.factor)
        node_of = partition(given, nodes, NODES_SHARE * IMBALANCE)
        largest = (1 + IMBALANCE) * given.load.sum() / given.cores
        mapping = np.zeros(given.tasks, np.int64)
        for node in range(nodes):
            tasks = np.flatnonzero(node_of == node)
            cores = np.flatnonzero(given.node == node)
            if len(tasks) <= len(cores):
                mapping[tasks] = cores[: len(tasks)]
            else:
                left = largest * len(cores) / given.load[tasks].sum() - 1
                mapping[tasks] = cores[partition(given.of(tasks), len(cores), max(left, 0.005))]
        parts: list[int] = mapping.tolist()
        return parts

    return found


RIVALS: dict[str, tuple[str, Rival]] = {
    "KaFFPa": ("kahip", kaffpa),
    "SharedMap": ("chszlablib", shared_map),
    "Mt-KaHyPar": ("mtkahypar", mt_kahypar),
    "Mt-KaHyPar in two levels": ("mtkahypar", in_two_levels(mt_kahypar_parts)),
    "KaHyPar": ("kahypar", directly(kahypar_parts)),
    "KaHyPar in two levels": ("kahypar", in_two_levels(kahypar_parts)),
    "METIS in two levels": ("pymetis", in_two_levels(metis_parts)),
}


def installed() -> list[str]:
    """The rivals that can be run here."""
    return [
        name
        for name, (module, _) in RIVALS.items()
        if importlib.util.find_spec(module)
        and (module != "kahypar" or KAHYPAR_CONFIG in os.environ)
    ]


def run(name: str, problem: Problem, limit_s: float = 300.0) -> tuple[Cores, float] | None:
    """The rival's mapping and its seconds of CPU; None if it failed or took too long."""
    graph, target = problem.graph, problem.target
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(
            file, load=graph.load, sender=graph.senders, receiver=graph.to, count=graph.count,
            core_node=target.core_node, factor=target.factor,
        )  # fmt: skip
        command = [sys.executable, "-m", "bench.rivals", name, str(file)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode != 0:
        return None
    result = json.loads(done.stdout.splitlines()[-1])
    # Parts are numbered like cores in the order of their nodes, like ours.
    return np.array(result["mapping"], np.uint32), result["seconds"]


if __name__ == "__main__":
    problem_given = Given(Path(sys.argv[2]))
    start = time.process_time()
    mapping = RIVALS[sys.argv[1]][1](problem_given)
    seconds = time.process_time() - start
    print(json.dumps({"mapping": mapping, "seconds": seconds}))
