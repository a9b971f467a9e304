# SPDX-License-Identifier: Apache-2.0
"""Predicts a run with the fixes of its findings, with the model of prediction/."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.findings.finding import Finding, Gain, Kind, Remedy
from numascape.findings.nodes import Nodes
from numascape.findings.subject import Run
from numascape.findings.thresholds import MIN_COMPUTING_SHARE, MIN_RELEVANT_GAIN
from numascape.prediction.copies import worth_copying
from numascape.prediction.demand import Demand, Ints, demand_on
from numascape.prediction.initialisation import (
    initialised_by_users,
    main_users,
    with_initialisation,
)
from numascape.prediction.load import RunPlacement, Tuning, caches_of
from numascape.prediction.model import Prediction, predict, predicted_seconds
from numascape.prediction.page_groups import group_pages, label_of_shares, of_groups
from numascape.prediction.policies import SCHEMA, interleaved, replaced
from numascape.prediction.speeds import Speeds, speeds_of
from numascape.quantities import bytes_text, percent, share_of
from numascape.trace.format import PAGE_BYTES


@dataclasses.dataclass(frozen=True)
class Policy:
    """A policy for all memory of a run, and its predicted time over that of the run as it is."""

    label: str
    relative: float


class RemediedRun:
    """Predicts the run as it is (once), and the run with remedies, on the run's nodes."""

    def __init__(
        self, run: Run, nodes: Nodes, tuning: Tuning | None = None, *, with_pages: bool = False
    ) -> None:
        self._run, self._nodes, self._tuning = run, nodes, tuning
        self._with_pages = with_pages
        self._trace = with_initialisation(run.recorded)
        self._speeds: Speeds = speeds_of(nodes.machine)
        self._pages_alone: Demand = demand_on(self._trace, nodes.machine)
        self._gains: dict[tuple[object, ...], Gain] = {}

    @cached_property
    def now(self) -> Prediction:
        """The run as it is."""
        return self._predict(self._demand, self._pages, "as it is", None)

    @cached_property
    def _labels(self) -> list[Ints]:
        """Remedies depend on these numbers of a page: its node now, its users' node, its user."""
        demand = self._pages_alone
        return [
            label_of_shares(demand.shares(self._nodes.pages, self._speeds)),
            self._nearest_nodes(),
            main_users(demand, self._initialisation),
        ]

    def _nearest_nodes(self) -> Ints:
        """For each page, the node that uses it most, as in `_near_users`; -1 if there is none."""
        index, work = self._pages_alone.index, self._run.work
        node = self._nodes.thread_node[work["thread"].to_numpy()]
        numbers = np.unique(np.append(node, -1))
        at = index.rows(work) * len(numbers) + np.searchsorted(numbers, node)
        made = (work["reads"] + work["writes"]).to_numpy().astype(np.float64)
        made[node < 0] = 0.0
        shape = (index.pages.height, len(numbers))
        sums = np.bincount(at, made, shape[0] * shape[1]).reshape(shape)
        # If nodes are equal, the one with the smallest number is taken.
        return np.where(sums.any(axis=1), numbers[sums.argmax(axis=1)], -1)

    def _grouped(self, *further: Ints) -> Demand:
        on = self._speeds.shares_of_threads(self._speeds.positions(self._nodes.thread_node))
        caches = caches_of(on, self._speeds)
        return group_pages(self._pages_alone, caches, [*self._labels, *further])

    @cached_property
    def _demand(self) -> Demand:
        return self._grouped()

    @cached_property
    def _pages(self) -> pl.DataFrame:
        return of_groups(self._nodes.pages, self._demand)

    @property
    def _initialisation(self) -> int:
        """The phase of the initialisation, if it is separate; else a number without accesses."""
        return self._run.trace.phases.height

    @property
    def _is_sampled(self) -> bool:
        return self._run.trace.info.recorder.counts == "samples"

    def gain(self, found: Sequence[Finding], remedy: Remedy) -> Gain:
        """The gain of this remedy for all of these findings together."""
        key = (remedy, *((finding.kind, finding.structure) for finding in found))
        if key not in self._gains:
            then = self.predict(found, remedy, found[0].kind.value)
            # Each sample counts as a line from memory, but a cache may have answered the access.
            low = min(0.0, 1 - then.high) if self._is_sampled else 1 - then.high
            self._gains[key] = Gain(
                share=1 - then.relative,
                low=low,
                high=1 - then.low,
                limit=self.now.limit,
                machine=self._nodes.machine.name,
                limited=self._limited(self._structures(found), then),
                at_most=self._is_sampled,
            )
        return self._gains[key]

    def predict(self, found: Sequence[Finding], remedy: Remedy, label: str) -> Prediction:
        """Predict the run with this remedy for all of these findings, relative to `now`."""
        demand, pages = self._demand, self._pages
        structures = self._structures(found)
        if remedy in (Remedy.COPIED, Remedy.DIVIDED):
            # If the work is divided, a thread finds its pages on its node, as with copies.
            return self._predict(
                demand, pages, label, self.now, structures, free=remedy is Remedy.DIVIDED
            )
        if remedy is Remedy.BALANCED:
            # The fetches that threads have in common depend on how much work each thread has.
            demand, pages = balanced(self._pages_alone), self._nodes.pages
        elif remedy is Remedy.USERS:
            if self._trace.phases.height > self._initialisation:
                demand = initialised_by_users(demand, structures, self._initialisation)
            rows = self._work.filter(pl.col("structure").is_in(structures))
            pages = replaced_where_known(pages, self._near_users(rows))
        elif remedy is Remedy.INTERLEAVED:
            pages = replaced(pages, self._interleaved, structures)
        else:
            accesses = self._trace.accesses
            parts = pl.concat(
                self._in_parts(accesses.filter(pl.col("structure") == one.structure), one)
                for one in found
            )
            demand = self._grouped(label_of_shares(self._pages_alone.shares(parts, self._speeds)))
            pages = replaced_where_known(
                of_groups(self._nodes.pages, demand), of_groups(parts, demand)
            )
        then = self._predict(demand, pages, label, self.now)
        if remedy is Remedy.USERS and found[0].kind is Kind.SHARED_BY_GROUPS:
            # The threads that share pages are put on one node: then they find their pages there.
            together = self.predict(found, Remedy.DIVIDED, label)
            return min(then, together, key=lambda prediction: prediction.relative)
        return then

    def best_policy(self) -> Policy:
        """The fastest of: as it is, all pages interleaved, all read-only structures copied."""
        now = self._seconds(self._pages)
        seconds = {"as it is": now, "interleave": self._seconds(self._interleaved)}
        if copied := worth_copying(self._trace):
            seconds["replicate"] = self._seconds(self._pages, copied)
        fastest = min(seconds, key=lambda policy: seconds[policy])
        return Policy(fastest, seconds[fastest] / now if now else 1.0)

    def _seconds(self, pages: pl.DataFrame, copied: Sequence[int] = ()) -> float:
        placement = RunPlacement(pages, self._nodes.thread_node, copied=copied)
        return predicted_seconds(self._demand, self._speeds, placement, self._tuning)

    def _structures(self, found: Sequence[Finding]) -> list[int]:
        """The structures of the findings; all examined ones if a finding is about the run."""
        if any(finding.structure is None for finding in found):
            return [subject.structure for subject in self._run.subjects]
        return [finding.structure for finding in found if finding.structure is not None]

    def _predict(
        self,
        demand: Demand,
        pages: pl.DataFrame,
        label: str,
        reference: Prediction | None,
        copied: Sequence[int] = (),
        *,
        free: bool = False,
    ) -> Prediction:
        return predict(
            demand,
            self._speeds,
            RunPlacement(
                pages, self._nodes.thread_node, label=label, copied=copied, copies_are_free=free
            ),
            reference=reference,
            tuning=self._tuning,
            with_pages=self._with_pages,
        )

    @cached_property
    def _interleaved(self) -> pl.DataFrame:
        return interleaved(self._demand.pages, self._nodes.machine)

    @cached_property
    def _work(self) -> pl.DataFrame:
        return of_groups(self._run.work, self._demand)

    def _near_users(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Place each page on the node that uses it most."""
        return (
            rows.join(self._nodes.threads, on="thread")
            .group_by(*PAGE, "thread_node")
            .agg(count=(pl.col("reads") + pl.col("writes")).sum())
            .sort("count", "thread_node", descending=[True, False])
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

    def _limited(self, structures: list[int], then: Prediction) -> str:
        """Why this saves almost nothing at the recorded size; empty if it saves enough."""
        if 1 - then.relative >= MIN_RELEVANT_GAIN:
            return ""
        slower = then.relative - 1
        if slower >= MIN_RELEVANT_GAIN:
            longer = percent(slower)
            return f"At this size, the run is predicted to take {longer} longer with this fix."
        used = self._demand.number_of_pages(structures) * PAGE_BYTES
        cache = self._speeds.shared_cache
        if used <= cache:
            return (
                f"At this size, almost nothing is saved: {bytes_text(int(used))} fit into the "
                f"last-level cache ({bytes_text(int(cache))}). Record a larger input."
            )
        busiest = float(self._demand.accesses.sum(axis=0).max(initial=0.0))
        each = self._speeds.core_ns + self._demand.computing_ns
        computing = share_of(busiest * each * 1e-9, self.now.seconds)
        if computing >= MIN_COMPUTING_SHARE:
            return (
                "At this size, almost nothing is saved: the threads compute for "
                f"{percent(min(1.0, computing))} of the time, and rarely wait for memory."
            )
        return f"Almost nothing is saved: {self.now.limit} limits the run with and without it."


def replaced_where_known(base: pl.DataFrame, by: pl.DataFrame) -> pl.DataFrame:
    """The placement `base`, in which the pages of `by` are placed as in `by`."""
    return pl.concat([base.join(by.select(PAGE).unique(), on=PAGE, how="anti"), by])


def balanced(demand: Demand) -> Demand:
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
