# SPDX-License-Identifier: Apache-2.0
"""Computes a plan: first the nodes of threads, from what they share, then those of structures.

docs/planning.md describes the candidates and the model that compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from numascape.balance.graph import Floats, Integers
from numascape.machine import Machine
from numascape.placement.node_model import (
    NodeModel,
    balancing_target,
    node_model,
    target_nodes,
)
from numascape.placement.structure_choices import (
    Choice,
    UseByNode,
    best_parts,
    choices,
    named_rule,
    parts_allowed,
    use_by_nodes,
)
from numascape.placement.structure_use import (
    StructureUse,
    evenly_working,
    page_uses,
    placeable,
    program_threads,
    remaining_use,
    structure_uses,
    working_accesses,
)
from numascape.placement.thread_groups import ThreadGroups, as_seen, possible_groups
from numascape.plan.plan import Plan
from numascape.prediction.demand import Demand, demand_of
from numascape.prediction.layout import nodes_by_plan, observed_nodes
from numascape.prediction.load import RunPlacement
from numascape.prediction.model import predicted_seconds
from numascape.prediction.policies import first_touch, observed, placed_by_plan
from numascape.prediction.speeds import Speeds, speeds_of
from numascape.quantities import share_of
from numascape.trace import Trace

TOLERANCE: Final = 0.02
"""Share of the time of a structure or the run that a less simple choice must save."""
_SWEEPS: Final = 3


def make_plan(trace: Trace, machine: Machine, free_bytes: Mapping[int, int] | None = None) -> Plan:
    """Make a plan for the recorded program on `machine`; without rules if no rule helps.

    `free_bytes` is the available memory of each node by its number; the default is all but a
    twentieth of the node's memory. The rules of structures are sorted by traffic, most first. In a
    run of several processes, the one with most accesses is planned. The predicted time of the plan
    is never longer than that of the observed placement, or of interleaving the same structures.
    """
    threads = program_threads(trace)
    plan = Plan(
        program=_executable(trace, threads),
        machine=machine.name,
        recorded_threads=len(threads),
    )
    if len(machine.nodes) < 2 or not trace.accesses.height:
        return plan
    speeds = speeds_of(machine)
    # A plan is also for larger runs, so it is chosen as if caches held nothing from phase to phase.
    large = demand_of(trace, replace(speeds, shared_cache=0.0, private_cache=0.0))
    plan = replace(plan, environment=_environment(trace))
    candidates = list(_candidates(plan, trace, machine, large, speeds, free_bytes))
    placed = [_placement(candidate, trace, machine, free_bytes) for candidate in candidates]
    nodes = observed_nodes(trace, machine)
    if free_bytes is None:
        placed.append(RunPlacement(observed(trace, machine, nodes), nodes))
    else:
        placed.append(RunPlacement(first_touch(trace, machine, nodes, free_bytes), nodes))
    small = demand_of(trace, speeds)
    as_run = [predicted_seconds(small, speeds, placement) for placement in placed]
    # A plan must be as fast as the observed placement and interleaving, or faster.
    allowed = min(as_run[-1], as_run[-2])
    fit = [i for i in range(len(candidates)) if as_run[i] <= allowed]
    if not fit:
        return replace(plan, environment={})
    predicted = {i: predicted_seconds(large, speeds, placed[i]) for i in fit}
    best = min(predicted.values())
    return next(candidates[i] for i in fit if predicted[i] <= best * (1.0 + TOLERANCE))


def _executable(trace: Trace, threads: Integers) -> str:
    """The name of the executable of the process with these threads, as the placer sees it."""
    executables = {one.process: one.program for one in trace.info.processes}
    process = int(trace.threads["process"][int(threads[0])])
    return Path(executables.get(process, trace.info.program)).name


def _placement(
    plan: Plan, trace: Trace, machine: Machine, free_bytes: Mapping[int, int] | None
) -> RunPlacement:
    nodes = nodes_by_plan(trace, plan, machine)
    return RunPlacement(placed_by_plan(trace, plan, machine, free_bytes, nodes), nodes)


def _candidates(
    plan: Plan,
    trace: Trace,
    machine: Machine,
    demand: Demand,
    speeds: Speeds,
    free_bytes: Mapping[int, int] | None,
) -> Iterator[Plan]:
    """The candidate plans, the simplest first; the last one interleaves everything."""
    threads = program_threads(trace)
    model = node_model(machine, speeds, free_bytes)
    pages = page_uses(trace, demand)
    structures = placeable(trace, pages, int(trace.threads["process"][int(threads[0])]))
    rows = structures.to_dicts()
    uses = structure_uses(trace, pages, structures)
    rest = remaining_use(trace, pages, structures)
    target = balancing_target(machine, speeds)
    node_of = np.array(target_nodes(machine, target))
    work = working_accesses(demand)[threads]
    parallelism = evenly_working(pages)
    divisions = possible_groups(uses, threads, work, trace.threads.height, target, node_of)
    in_order = divisions[0].rules(machine)
    held = [round(float(use.bytes.sum())) for use in uses]
    untouched = tuple(
        replace(named_rule(row), bytes=size) for row, size in zip(rows, held, strict=True)
    )
    seen = as_seen(divisions[0], speeds.positions(observed_nodes(trace, machine)))
    divisions += [] if seen is None else [seen]
    for groups in divisions:
        yield replace(plan, threads=groups.rules(machine), structures=untouched)
    for groups in divisions:
        chosen = _place(rows, uses, rest, groups, model, parallelism)
        rules = tuple(
            replace(choice.rule, bytes=size) for choice, size in zip(chosen, held, strict=True)
        )
        yield replace(plan, threads=groups.rules(machine), structures=rules)
    on = tuple(model.numbers[node] for node in model.nodes_for(sum(held)))
    interleaved = tuple(replace(rule, policy="interleave", nodes=on) for rule in untouched)
    yield replace(plan, threads=in_order, structures=interleaved)


def _place(
    rows: Sequence[dict[str, Any]],
    uses: Sequence[StructureUse],
    rest: StructureUse,
    groups: ThreadGroups,
    model: NodeModel,
    parallelism: float,
) -> list[Choice]:
    """Choose the rule of each structure given the rules of all others.

    This is repeated until no rule changes, but at most three times. Structures with most lines per
    byte come first, and so get a node's memory first.
    """
    nodes = len(model.numbers)
    by_nodes = [use_by_nodes(use, groups, nodes) for use in uses]
    others = use_by_nodes(rest, groups, nodes)
    max_parts = parts_allowed(groups)
    parts = [best_parts(use, model, max_parts) for use in by_nodes]
    density = [use.lines.sum() / max(use.bytes.sum(), 1.0) for use in by_nodes]
    order = sorted(range(len(uses)), key=lambda i: -density[i])
    chosen: dict[int, Choice] = {}
    traffic = others.touched + _spread_evenly(by_nodes, model)
    taken = others.touched_bytes.copy()
    for _ in range(_SWEEPS):
        before = {i: choice.rule for i, choice in chosen.items()}
        for i in order:
            if i in chosen:
                traffic = traffic - chosen[i].traffic
                taken = taken - chosen[i].bytes
            else:
                traffic = traffic - _spread_evenly([by_nodes[i]], model)
            room = np.maximum(model.room - taken, 0.0)
            offered = list(choices(rows[i], by_nodes[i], model, room, max_parts, parts[i]))
            chosen[i] = _simplest_of_the_best(offered, traffic, model, parallelism)
            traffic = traffic + chosen[i].traffic
            taken = taken + chosen[i].bytes
        if before == {i: choice.rule for i, choice in chosen.items()}:
            break
    return [chosen[i] for i in range(len(uses))]


def _spread_evenly(uses: Sequence[UseByNode], model: NodeModel) -> Floats:
    """The traffic of structures without a decision yet, as if interleaved."""
    shares = np.zeros(len(model.numbers))
    shares[model.with_cpus] = 1.0 / len(model.with_cpus)
    by_node: Floats = np.zeros((2, len(shares)))
    for use in uses:
        by_node = by_node + use.by_node
    spread: Floats = by_node[:, :, None] * shares
    return spread


def _simplest_of_the_best(
    offered: Sequence[Choice], traffic: Floats, model: NodeModel, parallelism: float
) -> Choice:
    """The first of `offered` whose cost, with the other traffic, is near the lowest cost."""
    seconds = [model.seconds(traffic + choice.traffic, parallelism) for choice in offered]
    own = offered[0].traffic.sum()
    share = share_of(own, own + traffic.sum())
    enough = min(seconds) + TOLERANCE * share
    return next(choice for choice, took in zip(offered, seconds, strict=True) if took <= enough)


def _environment(trace: Trace) -> dict[str, str]:
    """Disable OpenMP's own binding of threads, which would undo that of the plan."""
    names = trace.structures["name"].to_list()
    return {"OMP_PROC_BIND": "false"} if "OpenMP runtime" in names else {}
