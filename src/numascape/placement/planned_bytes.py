# SPDX-License-Identifier: Apache-2.0
"""Computes how much memory a plan needs on each node."""

from __future__ import annotations

import numpy as np

from numascape.errors import NumascapeError
from numascape.machine import Machine
from numascape.machine.description import cpu_nodes
from numascape.plan.plan import Plan, StructureRule
from numascape.prediction.policies import placed_by_plan
from numascape.trace import Trace
from numascape.trace.format import PAGE_BYTES


def planned_bytes(plan: Plan, machine: Machine) -> dict[int, int]:
    """Bytes by node of the plan's structures, with the sizes of the recorded run.

    Memory with first touch is assumed to be spread evenly over the nodes of the plan's threads.
    Raises NumascapeError if the plan has no sizes of structures, or has CPUs or nodes that the
    machine does not have.
    """
    if not any(rule.bytes for rule in plan.structures):
        raise NumascapeError(
            "the plan does not say how large its structures are: add a run's trace with --like"
        )
    node_of = cpu_nodes(machine)
    threads = []
    for rule in plan.threads:
        for cpu in rule.cpus:
            if cpu not in node_of:
                raise NumascapeError(f"the plan names CPU {cpu}, which this machine does not have")
            threads.append(node_of[cpu])
    running = sorted(set(threads)) or sorted(set(node_of.values()))
    found: dict[int, float] = {}
    for structure in plan.structures:
        for node, share in _shares(structure, running).items():
            found[node] = found.get(node, 0.0) + share * structure.bytes
    return _whole(found, machine)


def planned_bytes_of_run(plan: Plan, trace: Trace, machine: Machine) -> dict[int, int]:
    """Bytes by node of all memory that a recorded run touched, if it ran under the plan."""
    sums = placed_by_plan(trace, plan, machine).group_by("node").sum().select("node", "share")
    return _whole({node: share * PAGE_BYTES for node, share in sums.iter_rows()}, machine)


def _shares(rule: StructureRule, running: list[int]) -> dict[int, float]:
    """The share of a structure's pages that its rule puts on each node."""
    if rule.policy == "first-touch" or not rule.nodes:
        return dict.fromkeys(running, 1.0 / len(running))
    if rule.policy == "parts":
        weights = np.diff(rule.parts)
    elif rule.policy in ("bind", "preferred"):
        # The first node is filled first.
        weights = np.array([1.0] + [0.0] * (len(rule.nodes) - 1))
    else:
        weights = np.array(rule.weights or [1] * len(rule.nodes), float)
    shares: dict[int, float] = {}
    for node, weight in zip(rule.nodes, weights.tolist(), strict=True):
        shares[node] = shares.get(node, 0.0) + weight / float(weights.sum())
    return shares


def _whole(found: dict[int, float], machine: Machine) -> dict[int, int]:
    known = {node.node for node in machine.nodes}
    strange = sorted(set(found) - known)
    if strange:
        raise NumascapeError(
            f"the plan puts memory on node {strange[0]}, which this machine does not have"
        )
    return {node: round(size) for node, size in sorted(found.items()) if size >= 1}
