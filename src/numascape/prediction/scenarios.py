# SPDX-License-Identifier: Apache-2.0
"""Predicts a run under several policies, relative to the run as observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, get_args

import polars as pl

from numascape.errors import NumascapeError
from numascape.machine import Machine
from numascape.plan.plan import Plan
from numascape.prediction import policies
from numascape.prediction.balancing import balancing_start
from numascape.prediction.copies import worth_copying
from numascape.prediction.demand import Demand, Ints, demand_on
from numascape.prediction.initialisation import with_initialisation
from numascape.prediction.layout import NodeArray, nodes_by_plan, observed_nodes
from numascape.prediction.load import RunPlacement, Tuning, caches_of
from numascape.prediction.model import Prediction, calibrated, predict
from numascape.prediction.page_groups import (
    group_pages,
    label_of_shares,
    label_of_use,
    of_groups,
)
from numascape.prediction.speeds import Floats, Speeds, speeds_of
from numascape.trace import Trace

PolicyName = Literal[
    "observed", "first-touch", "interleave", "weighted-interleave", "balancing", "replicate"
]
POLICY_NAMES: Final[tuple[PolicyName, ...]] = get_args(PolicyName)

_ROUNDS: Final = 20
"""Iterations to find the time of a run with balancing, because this time affects the balancing."""


@dataclass(frozen=True, eq=False)
class Scenarios:
    """The data that all policies of one trace on one machine need.

    `threads` are the nodes of threads under all policies, except plans. `seconds` is the measured
    time of the observed run on this machine, if known. With `with_pages`, predictions have
    `structure_pages`.
    """

    trace: Trace
    machine: Machine
    threads: NodeArray
    free_bytes: Mapping[int, int] | None = None
    seconds: float | None = None
    phases: Sequence[int] | None = None
    with_pages: bool = False

    @cached_property
    def copied(self) -> list[int]:
        """The structures that the policy `replicate` copies to each node."""
        return worth_copying(self.trace)

    @cached_property
    def tuning(self) -> Tuning:
        """The tuning with which the observed run takes `seconds`, if they are known."""
        if self.seconds is None:
            return Tuning()
        seen, placed = self._seen
        groups = self._groups(seen)
        placement = RunPlacement(of_groups(placed, groups), seen)
        return calibrated(groups, self._speeds, placement, self.seconds)

    @cached_property
    def _speeds(self) -> Speeds:
        return speeds_of(self.machine)

    @cached_property
    def _whole(self) -> Demand:
        return demand_on(with_initialisation(self.trace), self.machine)

    @cached_property
    def _demand(self) -> Demand:
        demand = self._whole
        if self.phases is not None:
            demand = demand.of_phases(self.phases)
        if not demand.accesses.any():
            raise NumascapeError(
                f"{self.trace.path} has no accesses to predict from: record the program with the "
                "binary or compiled recorder, which count them"
            )
        return demand

    @cached_property
    def _seen(self) -> tuple[NodeArray, pl.DataFrame]:
        """The nodes of threads and of pages in the observed run."""
        seen = observed_nodes(self.trace, self.machine)
        return seen, policies.observed(self.trace, self.machine, seen)

    @cached_property
    def _first_touch(self) -> pl.DataFrame:
        return policies.first_touch(self.trace, self.machine, self.threads, self.free_bytes)

    @cached_property
    def _labels(self) -> list[Ints]:
        """The labels on which policies depend: where each page was and begins, and who uses it."""
        whole, speeds = self._whole, self._speeds
        _, placed = self._seen
        return [
            label_of_shares(whole.shares(placed, speeds)),
            label_of_shares(whole.shares(self._first_touch, speeds)),
            label_of_use(whole),
        ]

    @cached_property
    def _known_groups(self) -> dict[bytes, Demand]:
        return {}

    def _groups(self, threads: NodeArray) -> Demand:
        """The demand with one row for pages that all policies treat alike.

        The part of their fetches that threads share depends on the nodes of the `threads`.
        """
        speeds = self._speeds
        caches = caches_of(speeds.shares_of_threads(speeds.positions(threads)), speeds)
        key = caches.tobytes()
        if key not in self._known_groups:
            self._known_groups[key] = group_pages(self._demand, caches, self._labels)
        return self._known_groups[key]

    def predict(
        self, names: Sequence[PolicyName], plans: Mapping[str, Plan] | None = None
    ) -> list[Prediction]:
        """Predict each policy and plan, relative to the observed placement.

        `replicate` is left out if there is nothing to copy. Raises NumascapeError if the trace has
        no accesses, there is no such policy, or the machine does not have a named node.
        """
        if unknown := set(names) - set(POLICY_NAMES):
            raise NumascapeError(
                f"there is no policy {min(unknown)[:60]!r}: choose from {', '.join(POLICY_NAMES)}"
            )
        seen, placed = self._seen
        groups = self._groups(seen)
        observed = predict(
            groups,
            self._speeds,
            RunPlacement(of_groups(placed, groups), seen, label="observed"),
            tuning=self.tuning,
            with_pages=self.with_pages,
        )
        found = [
            observed if name == "observed" else self._predict(name, observed)
            for name in names
            if name != "replicate" or self.copied
        ]
        for label, plan in (plans or {}).items():
            threads = nodes_by_plan(self.trace, plan, self.machine)
            pages = policies.placed_by_plan(
                self.trace, plan, self.machine, self.free_bytes, threads
            )
            found.append(
                predict(
                    self._demand,
                    self._speeds,
                    RunPlacement(pages, threads, label=label),
                    reference=observed,
                    tuning=self.tuning,
                    with_pages=self.with_pages,
                )
            )
        return found

    def _predict(self, name: PolicyName, observed: Prediction) -> Prediction:
        groups = self._groups(self.threads)

        def predicted(
            pages: pl.DataFrame | Floats, thread_seconds: float = 0.0, copied: Sequence[int] = ()
        ) -> Prediction:
            return predict(
                groups,
                self._speeds,
                RunPlacement(
                    pages, self.threads, label=name, thread_seconds=thread_seconds, copied=copied
                ),
                reference=observed,
                tuning=self.tuning,
                with_pages=self.with_pages,
            )

        if name == "interleave":
            return predicted(policies.interleaved(groups.pages, self.machine))
        if name == "weighted-interleave":
            return predicted(policies.weighted_interleaved(groups.pages, self.machine))
        start = of_groups(self._first_touch, groups)
        if name == "replicate":
            return predicted(start, copied=self.copied)
        result = predicted(start)
        if name == "first-touch":
            return result
        assert groups.groups is not None
        begins = balancing_start(self.trace, self.machine, self.threads, self.free_bytes).of_groups(
            self._whole.index.rows(groups.pages), groups.groups.sizes
        )
        for _ in range(_ROUNDS):
            before = result.seconds
            pages, thread_seconds, _ = begins.shares_after(before)
            result = predicted(pages, thread_seconds)
            if abs(result.seconds - before) <= 1e-3 * before:
                break
        return result
