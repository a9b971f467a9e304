# SPDX-License-Identifier: Apache-2.0
"""Computes the nodes of a trace's pages under a policy, with probabilities.

Each policy returns a frame `structure, instance, page, node, share`. The node is the kernel's
number, and the shares of a page add up to 1. A page is 4 KiB, as in the trace. The kernel's NUMA
balancing is in balancing.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.analysis.huge_pages import first_touches_of_blocks
from numascape.analysis.page_index import page_index, rows_of_accesses
from numascape.analysis.sharing import PAGE
from numascape.errors import NumascapeError
from numascape.machine import Machine, numa_factors
from numascape.machine.description import same_nodes
from numascape.plan.plan import Plan, StructureRule
from numascape.prediction.layout import nodes_by_plan
from numascape.trace import Trace
from numascape.trace.format import PAGE_BYTES
from numascape.trace.once import once_per_trace

SCHEMA: Final = pl.Schema(
    {**{name: pl.UInt32() for name in PAGE}, "node": pl.Int32(), "share": pl.Float64()}
)


@once_per_trace
def touched_pages(trace: Trace) -> pl.DataFrame:
    """The pages that the run used, in the order of their first touch: PAGE and thread.

    Pages with an unknown first touch come first; their thread is the one that uses them most. All
    pages of a huge page have the thread that touched the huge page first.
    """
    return first_touches_of_blocks(trace, _touched_pages(trace))


def _touched_pages(trace: Trace) -> pl.DataFrame:
    """The same, as if the kernel used no huge pages."""
    index = page_index(trace)
    is_seen = np.zeros(index.pages.height, bool)
    is_seen[index.rows(trace.first_touch)] = True
    first = trace.first_touch
    if not (np.diff(first["order"].to_numpy().astype(np.int64)) > 0).all():
        first = first.sort("order", *PAGE)
    seen = first.select(*PAGE, "thread")
    if is_seen.all():
        return seen
    page = rows_of_accesses(trace)
    count = pl.col("reads") + pl.col("writes")
    unseen = (
        trace.accesses.filter((page >= 0) & ~is_seen[page])
        .lazy()
        .filter(count > 0)
        .group_by(*PAGE, "thread")
        .agg(count.sum().alias("count"))
        .group_by(PAGE)
        .agg(pl.col("thread").sort_by("count", "thread", descending=[True, False]).first())
        .sort(PAGE)
        .collect()
    )
    return pl.concat([unseen, seen])


def first_touch(
    trace: Trace,
    machine: Machine,
    thread_nodes: npt.NDArray[np.int64],
    free_bytes: Mapping[int, int] | None = None,
) -> pl.DataFrame:
    """Place each page on the node of its first toucher or, if this is full, on the next node.

    `free_bytes` is the capacity of each node; by default its memory, or unlimited if that is
    unknown. Pages of a first toucher without a node are spread evenly over all nodes with CPUs, and
    do not use any capacity.
    """
    pages = touched_pages(trace)
    nodes = np.asarray(thread_nodes, np.int64)[pages["thread"].to_numpy()]
    fixed = pages.filter(nodes >= 0)
    placed = _spilt(fixed, nodes[nodes >= 0], machine, free_bytes)
    anywhere = [node.node for node in machine.nodes if node.cpus]
    return pl.concat([placed, _shared_out(pages.filter(nodes < 0), anywhere)])


def interleave(trace: Trace, machine: Machine, nodes: Sequence[int] | None = None) -> pl.DataFrame:
    """Interleave pages over these nodes, by default over all nodes with memory.

    The node of a page depends on the thread's earlier allocations, so each node has the same
    probability.
    """
    return interleaved(touched_pages(trace), machine, nodes)


def interleaved(
    pages: pl.DataFrame, machine: Machine, nodes: Sequence[int] | None = None
) -> pl.DataFrame:
    """Interleave these pages over these nodes, by default over all nodes with memory."""
    return _shared_out(pages, nodes or _with_memory(machine))


def weighted_interleave(
    trace: Trace, machine: Machine, weights: Mapping[int, float] | None = None
) -> pl.DataFrame:
    """Interleave pages in proportion to weights, by default to the bandwidth of memory."""
    return weighted_interleaved(touched_pages(trace), machine, weights)


def weighted_interleaved(
    pages: pl.DataFrame, machine: Machine, weights: Mapping[int, float] | None = None
) -> pl.DataFrame:
    """Interleave these pages in proportion to weights, by default to the bandwidth of memory."""
    from numascape.prediction.speeds import speeds_of

    if weights is None:
        speeds = speeds_of(machine)
        by_number = dict(zip(speeds.nodes, speeds.controller.tolist(), strict=True))
        weights = {node: by_number[node] for node in _with_memory(machine)}
    kept = {node: weight for node, weight in weights.items() if weight > 0}
    if not kept:
        raise NumascapeError("weighted interleaving needs a weight above 0 for some node")
    return _shared_out(pages, list(kept), list(kept.values()))


def observed(trace: Trace, machine: Machine, thread_nodes: npt.NDArray[np.int64]) -> pl.DataFrame:
    """The nodes of pages at the end of the run; by first touch if unknown.

    In a trace from a machine with other nodes, all pages are by first touch.
    """
    if not same_nodes(machine, trace.info.machine):
        return first_touch(trace, machine, thread_nodes)
    index = page_index(trace)
    placed = trace.placement
    page, node = index.rows(placed), placed["node"].to_numpy()
    of_run = (page >= 0) & np.isin(node, [node.node for node in machine.nodes])
    # If a page is there twice, the first row counts: the last one that is assigned here.
    row = np.full(index.pages.height, -1, np.int64)
    row[page[of_run][::-1]] = np.flatnonzero(of_run)[::-1]
    known = placed[np.sort(row[row >= 0])].select(*PAGE, "node", share=pl.lit(1.0)).cast(SCHEMA)
    if (row >= 0).all():
        return known
    fallback = first_touch(trace, machine, thread_nodes)
    return pl.concat([known, fallback.filter(row[index.rows(fallback)] < 0)])


def placed_by_plan(
    trace: Trace,
    plan: Plan,
    machine: Machine,
    free_bytes: Mapping[int, int] | None = None,
    thread_nodes: npt.NDArray[np.int64] | None = None,
) -> pl.DataFrame:
    """Place pages by the plan's rules, and pages without a rule by first touch of its threads.

    A full node spills as with first touch, except with `bind`, which allows no other node.
    """
    if thread_nodes is None:
        thread_nodes = nodes_by_plan(trace, plan, machine)
    pages = touched_pages(trace).with_row_index("turn")
    numbers = {node.node for node in machine.nodes}
    rules = rules_of_structures(trace, plan)
    shared: list[pl.DataFrame] = []
    wanted = np.asarray(thread_nodes, np.int64)[pages["thread"].to_numpy()]
    bound = np.zeros(pages.height, bool)
    structure = pages["structure"].to_numpy()
    for number, rule in rules.items():
        if not numbers.issuperset(rule.nodes):
            missing = min(set(rule.nodes) - numbers)
            raise NumascapeError(
                f"the plan puts {rule.name} on node {missing}, which {machine.name} does not have"
            )
        at = np.flatnonzero(structure == number)
        if rule.policy == "parts" and rule.nodes:
            wanted[at] = _parts(trace, rule, number, pages[at])
        elif rule.policy in ("bind", "preferred") and rule.nodes:
            wanted[at] = _near(wanted[at], rule.nodes, machine)
            bound[at] = rule.policy == "bind"
        elif rule.policy in ("interleave", "weighted-interleave"):
            weights = list(rule.weights) if rule.policy == "weighted-interleave" else None
            shared.append(_shared_out(pages[at], rule.nodes or _with_memory(machine), weights))
            wanted[at] = -2
    fixed = pages.filter(wanted >= 0)
    placed = _spilt(fixed, wanted[wanted >= 0], machine, free_bytes, bound[wanted >= 0])
    anywhere = [node.node for node in machine.nodes if node.cpus]
    return pl.concat([placed, *shared, _shared_out(pages.filter(wanted == -1), anywhere)])


def replaced(base: pl.DataFrame, by: pl.DataFrame, structures: Sequence[int]) -> pl.DataFrame:
    """The placement `base`, in which these structures are placed as in `by`."""
    chosen = pl.col("structure").is_in(list(structures))
    return pl.concat([base.filter(~chosen), by.filter(chosen)])


def _with_memory(machine: Machine) -> list[int]:
    """The numbers of nodes with memory; all nodes if no size is known."""
    known = any(node.memory_bytes for node in machine.nodes)
    return [node.node for node in machine.nodes if node.memory_bytes or not known]


def _shared_out(
    pages: pl.DataFrame, nodes: Sequence[int], weights: Sequence[float] | None = None
) -> pl.DataFrame:
    """Spread each page over these nodes in proportion to the weights, evenly without weights."""
    parts = np.asarray([1.0] * len(nodes) if weights is None else weights, np.float64)
    targets = pl.DataFrame(
        {"node": list(nodes), "share": parts / parts.sum()},
        schema={"node": pl.Int32, "share": pl.Float64},
    )
    return pages.select(PAGE).join(targets, how="cross").cast(SCHEMA)


def _spilt(
    pages: pl.DataFrame,
    nodes: npt.NDArray[np.int64],
    machine: Machine,
    free_bytes: Mapping[int, int] | None,
    bound: npt.NDArray[np.bool_] | None = None,
) -> pl.DataFrame:
    """Place pages on the wanted nodes, in order; if one is full, on the nearest with room."""
    result = nodes.copy()
    capacity = _capacity(machine, free_bytes)
    numbers, wanted = np.unique(nodes, return_counts=True)
    needed = dict(zip(numbers.tolist(), wanted.tolist(), strict=True))
    if any(count > capacity[node] for node, count in needed.items()):
        near = {node: _by_distance(machine, node) for node in needed}
        stays = np.zeros(len(nodes), bool) if bound is None else bound
        for at, node in enumerate(nodes.tolist()):
            if not stays[at]:
                node = next((other for other in near[node] if capacity[other] >= 1), node)
            capacity[node] -= 1
            result[at] = node
    return pages.select(PAGE).with_columns(
        node=pl.Series(result, dtype=pl.Int32), share=pl.lit(1.0)
    ).cast(SCHEMA)  # fmt: skip


def _capacity(machine: Machine, free_bytes: Mapping[int, int] | None) -> dict[int, float]:
    """The number of pages that each node can hold."""
    capacity = {}
    for node in machine.nodes:
        known = node.memory_bytes if free_bytes is None else free_bytes.get(node.node)
        unlimited = known is None or (free_bytes is None and known == 0)
        capacity[node.node] = float("inf") if unlimited else float((known or 0) // PAGE_BYTES)
    return capacity


def _by_distance(machine: Machine, number: int) -> list[int]:
    """All nodes, nearest first, like the kernel's fallback list; ties go to the next number."""
    here = machine.position(number)
    count = len(machine.nodes)
    factors = numa_factors(machine).values[here]

    def distance(position: int) -> tuple[float, int]:
        factor = factors[position]
        apart = 0.0 if position == here else float("inf") if factor is None else factor
        return apart, (position - here) % count

    return [machine.nodes[position].node for position in sorted(range(count), key=distance)]


def _near(
    wanted: npt.NDArray[np.int64], nodes: Sequence[int], machine: Machine
) -> npt.NDArray[np.int64]:
    """The nearest of `nodes` for each wanted node; the first of `nodes` if no node is wanted."""
    nearest = {-1: nodes[0]}
    for node in np.unique(wanted[wanted >= 0]).tolist():
        nearest[node] = next(other for other in _by_distance(machine, node) if other in nodes)
    return np.array([nearest[node] for node in wanted.tolist()], np.int64)


def _parts(
    trace: Trace, rule: StructureRule, structure: int, pages: pl.DataFrame
) -> npt.NDArray[np.int64]:
    """The node of each page, by the part that contains its middle."""
    size = float(trace.structures.item(structure, "size"))
    sizes: npt.NDArray[np.float64] = np.full(pages.height, max(size, 1.0))
    mine = trace.instances.filter(pl.col("structure") == structure)
    if mine.height:
        found = pages.select("instance").join(
            mine, on="instance", how="left", maintain_order="left"
        )
        known = found["size"].fill_null(0).to_numpy().astype(np.float64)
        sizes = np.where(known > 0, known, sizes)
    middle = np.minimum((pages["page"].to_numpy() + 0.5) * PAGE_BYTES / sizes, 1.0)
    part = np.searchsorted(np.asarray(rule.parts), middle, side="right") - 1
    node = np.asarray(rule.nodes, np.int64)[np.minimum(part, len(rule.nodes) - 1)]
    return np.asarray(node)


def rules_of_structures(trace: Trace, plan: Plan) -> dict[int, StructureRule]:
    """The first rule that applies, by structure."""
    found: dict[int, StructureRule] = {}
    for row in trace.structures.select(
        "structure", "name", "kind", "function", "file", "line"
    ).iter_rows(named=True):
        for rule in plan.structures:
            if rule.name == row["name"] and all(
                getattr(rule, field) in ("", 0, row[field])
                for field in ("kind", "function", "file", "line")
            ):
                found[row["structure"]] = rule
                break
    return found
