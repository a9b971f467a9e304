# SPDX-License-Identifier: Apache-2.0
"""Predicts the gain of a finding's fix with the model of prediction/."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.findings.finding import Finding, Gain, Kind, Remedy
from numascape.findings.initialisation import with_initialisation
from numascape.findings.nodes import Nodes
from numascape.findings.subject import Run
from numascape.prediction.demand import Demand, demand_of
from numascape.prediction.model import Prediction, predict
from numascape.prediction.policies import SCHEMA, interleave, replaced
from numascape.prediction.speeds import Speeds, speeds_of
from numascape.quantities import percent


def with_gains(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """The findings with their predicted gains, or without them if no nodes are known."""
    return [_with_gain(run, finding) for finding in found]


def _with_gain(run: Run, finding: Finding) -> Finding:
    gained = dataclasses.replace(finding, gain=joint_gain(run, [finding]))
    if finding.kind is not Kind.SHARED_READ_MOSTLY:
        return gained
    *others, copies = finding.advice
    copies += _saved_by_copies(run, finding)
    return dataclasses.replace(gained, advice=(*others, copies))


def _saved_by_copies(run: Run, finding: Finding) -> str:
    """A sentence with the gain of a copy of shared, read data on each node."""
    if run.nodes is None or finding.structure is None:
        return ""
    saved = percent(max(0.0, _model(run).saved_by_copies(finding.structure)))
    return (
        f" Predicted for {finding.name}: {saved} of the run time saved, with the time to make the "
        "copies."
    )


def joint_gain(run: Run, found: Sequence[Finding]) -> Gain | None:
    """The gain of all of these findings together; they have the same remedy."""
    if run.nodes is None or found[0].remedy is Remedy.NONE:
        return None
    if len(found) == 1 and found[0].gain is not None:
        return found[0].gain
    return _model(run).gain(run, found)


@lru_cache(maxsize=1)
def _model(run: Run) -> _Model:
    assert run.nodes is not None
    return _Model(run, run.nodes)


class _Model:
    """Predicts the run as it is (once), and the run with a remedy."""

    def __init__(self, run: Run, nodes: Nodes) -> None:
        self._trace, self._nodes = run.trace, nodes
        self._speeds: Speeds = speeds_of(nodes.machine)
        self._demand: Demand = demand_of(with_initialisation(run), self._speeds)
        self._now: Prediction = self._predict(self._demand, nodes.pages, "as it is", None)

    def _predict(
        self, demand: Demand, pages: pl.DataFrame, label: str, reference: Prediction | None
    ) -> Prediction:
        return predict(
            demand, self._speeds, pages, self._nodes.thread_node, label=label, reference=reference
        )

    def gain(self, run: Run, found: Sequence[Finding]) -> Gain:
        demand, pages = self._demand, self._nodes.pages
        if found[0].remedy is Remedy.BALANCED:
            demand = _balanced(demand)
        for finding in found:
            if finding.remedy is not Remedy.BALANCED:
                structures = (
                    [finding.structure]
                    if finding.structure is not None
                    else [subject.structure for subject in run.subjects]
                )
                pages = replaced(pages, self._remedied(finding, structures), structures)
        then = self._predict(demand, pages, found[0].kind.value, self._now)
        return Gain(
            share=1 - then.relative,
            low=1 - then.high,
            high=1 - then.low,
            limit=self._now.limit,
            machine=self._nodes.machine.name,
        )

    def saved_by_copies(self, structure: int) -> float:
        """The share of the time that a copy of the structure on each node would save."""
        nodes = self._nodes
        then = predict(
            self._demand, self._speeds, nodes.pages, nodes.thread_node,
            label="copies", reference=self._now, copied=[structure],
        )  # fmt: skip
        return 1 - then.relative

    def _remedied(self, finding: Finding, structures: list[int]) -> pl.DataFrame:
        if finding.remedy is Remedy.INTERLEAVED:
            return self._interleaved
        rows = self._trace.accesses.filter(pl.col("structure").is_in(structures))
        if finding.remedy is Remedy.EVEN_PARTS:
            return self._in_parts(rows, finding)
        return self._near_users(rows)

    @cached_property
    def _interleaved(self) -> pl.DataFrame:
        return interleave(self._trace, self._nodes.machine)

    def _near_users(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Place each page on the node that uses it most."""
        return (
            rows.join(self._nodes.threads, on="thread")
            .group_by(*PAGE, "thread_node")
            .agg(count=(pl.col("reads") + pl.col("writes")).sum())
            .sort(*PAGE, "count", "thread_node", descending=[False, False, False, True, False])
            .unique(PAGE, keep="first", maintain_order=True)
            .select(*PAGE, node=pl.col("thread_node"), share=pl.lit(1.0))
            .cast(SCHEMA)
        )

    def _in_parts(self, rows: pl.DataFrame, finding: Finding) -> pl.DataFrame:
        """Place the finding's parts on the nodes with CPUs, in order."""
        nodes = [node.node for node in self._nodes.machine.nodes if node.cpus]
        row = self._trace.structures.row(finding.structure or 0, named=True)
        length = max(1, row["pages"])
        pages = rows.select(PAGE).unique()
        middle = (pages["page"].to_numpy() + 0.5) / length
        part = np.searchsorted(np.asarray(finding.even_parts), middle, side="right") - 1
        part = np.clip(part, 0, len(finding.even_parts) - 2)
        index = part * len(nodes) // (len(finding.even_parts) - 1)
        return pages.with_columns(node=pl.Series(np.asarray(nodes)[index]), share=pl.lit(1.0)).cast(
            SCHEMA
        )


def _balanced(demand: Demand) -> Demand:
    """Divide the work of each phase evenly among the threads that take part in it.

    Lines stay with their pages, and are scaled like the accesses of their threads.
    """
    active = demand.accesses > 0
    mean = demand.accesses.sum(axis=1, keepdims=True) / np.maximum(
        active.sum(axis=1, keepdims=True), 1
    )
    even = np.where(active, mean, 0.0)
    factor = np.divide(even, demand.accesses, out=np.zeros_like(even), where=active)
    row = factor[demand.phase, demand.thread]
    return dataclasses.replace(
        demand,
        accesses=even,
        lines=demand.lines * row,
        moved=demand.moved * row,
        rounds=demand.rounds * row,
    )
