# SPDX-License-Identifier: Apache-2.0
"""Balance: map tasks that exchange messages to the cores of a NUMA machine.

from numascape.balance import Problem, flat_target, task_graph

graph = task_graph(load=[3, 2, 1], core=[0, 0, 0], sender=[0], receiver=[2])
balanced = Problem(graph, flat_target(nodes=2, cores_per_node=1, factor=2.0)).run()
balanced.mapping, balanced.metrics.imbalance
"""

from numascape.balance.graph import TaskGraph, task_graph
from numascape.balance.mapping import ALGORITHMS, Balanced, Metrics, Options, Problem, compare
from numascape.balance.target import Target, flat_target, target_of_machine

__all__ = [
    "ALGORITHMS",
    "Balanced",
    "Metrics",
    "Options",
    "Problem",
    "Target",
    "TaskGraph",
    "compare",
    "flat_target",
    "target_of_machine",
    "task_graph",
]
