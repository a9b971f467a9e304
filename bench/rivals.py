# SPDX-License-Identifier: Apache-2.0
"""Partitioners from PyPI for comparison, each in its own process.

`python -m bench.rivals NAME FILE` maps the problem of FILE (.npz) and prints JSON: the mapping and
the seconds of CPU. They are not dependencies: pip install kahip
chszlablib mtkahypar pymetis.
"""

import importlib.util
import json
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

    def rows(self) -> tuple[Integers, Integers, Integers]:
        """Offsets, neighbours and weights with both directions."""
        ends = np.concatenate([self.low, self.high])
        others = np.concatenate([self.high, self.low])
        order = np.lexsort((others, ends))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=self.tasks))])
        return offsets, others[order], np.concatenate([self.weight, self.weight])[order]


def kaffpa(given: Given) -> list[int]:
    import kahip

    offsets, others, weights = given.rows()
    parts: list[int] = kahip.kaffpa(
        given.load.tolist(), offsets.tolist(), weights.tolist(), others.tolist(), given.cores,
        0.05, True, 1, kahip.ECO,
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
    import mtkahypar

    # The distances of a machine need the square of its cores, and minutes beyond this size; with
    # more cores, the cut between cores is minimised.
    largest_target = 64
    kahypar = mtkahypar.initialize(1)
    context = kahypar.context_from_preset(mtkahypar.PresetType.QUALITY)
    context.set_partitioning_parameters(given.cores, 0.05, mtkahypar.Objective.CUT)
    context.logging = False
    edges = list(zip(given.low.tolist(), given.high.tolist(), strict=True))
    graph = kahypar.create_graph(
        context, given.tasks, len(edges), edges, given.load.tolist(), given.weight.tolist()
    )
    if given.cores > largest_target:
        parts = graph.partition(context)
        return [parts.block_id(task) for task in range(given.tasks)]
    cores = [(a, b) for a in range(given.cores) for b in range(a + 1, given.cores)]
    distance = [int(10 * given.factor[given.node[a], given.node[b]]) for a, b in cores]
    machine = kahypar.create_target_graph(context, given.cores, len(cores), cores, distance)
    mapped = graph.map_onto_graph(machine, context)
    return [mapped.block_id(task) for task in range(given.tasks)]


def metis_two_levels(given: Given) -> list[int]:
    """METIS onto nodes, and then each node's tasks onto its cores."""
    import pymetis

    nodes = len(given.factor)
    cores = [np.flatnonzero(given.node == n).tolist() for n in range(nodes)]
    offsets, others, weights = given.rows()
    options = pymetis.Options(ufactor=45)  # of 1000: the second level may add to it

    def parts(tasks: Integers, count: int) -> Integers:
        """The part of each of the tasks, by the messages among them."""
        if count == 1 or len(tasks) <= count:
            return np.arange(len(tasks)) % count
        place = np.full(given.tasks, -1)
        place[tasks] = np.arange(len(tasks))
        sender = np.repeat(np.arange(given.tasks), np.diff(offsets))
        inside = (place[sender] >= 0) & (place[others] >= 0)
        starts = np.concatenate([[0], np.cumsum(np.bincount(place[sender[inside]],
                                                            minlength=len(tasks)))])  # fmt: skip
        found = pymetis.part_graph(
            count, xadj=starts.tolist(), adjncy=place[others[inside]].tolist(),
            vweights=given.load[tasks].tolist(), eweights=weights[inside].tolist(),
            recursive=count <= 8, options=options,
        )[1]  # fmt: skip
        return np.array(found)

    node_of = parts(np.arange(given.tasks), nodes)
    mapping = np.zeros(given.tasks, np.int64)
    for n in range(nodes):
        tasks = np.flatnonzero(node_of == n)
        if len(tasks):
            mapping[tasks] = np.array(cores[n])[parts(tasks, len(cores[n]))]
    found: list[int] = mapping.tolist()
    return found


RIVALS: dict[str, tuple[str, Callable[[Given], list[int]]]] = {
    "KaFFPa": ("kahip", kaffpa),
    "SharedMap": ("chszlablib", shared_map),
    "Mt-KaHyPar": ("mtkahypar", mt_kahypar),
    "METIS in two levels": ("pymetis", metis_two_levels),
}


def installed() -> list[str]:
    """The rivals that can be run here."""
    return [name for name, (module, _) in RIVALS.items() if importlib.util.find_spec(module)]


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
