# SPDX-License-Identifier: Apache-2.0
"""The policies by name, in a run with one page that another thread touched first."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from numascape.errors import NumascapeError
from numascape.plan import Plan, StructureRule
from numascape.prediction import scenarios as scenarios_module
from numascape.prediction.demand import demand_of
from numascape.prediction.load import Tuning
from numascape.prediction.scenarios import POLICY_NAMES, Scenarios
from numascape.prediction.speeds import speeds_of
from numascape.trace import Trace
from unit.prediction.made_up import machine_of, nodes, trace_of

MACHINE = machine_of(2, memory_gb_s=20.0)


@pytest.fixture
def trace() -> Trace:
    """Thread 1 uses the page that thread 0 touched; the kernel moved it during the run."""
    made: Any = trace_of(
        [(0, 1, 10**10, 0)],
        2,
        lines=[10**10],
        first_touch=[(0, 0)],
        placement=[(0, 1)],
        machine=MACHINE,
    )
    made.threads = made.threads.with_columns(nodes=pl.Series([[0], [1]]))
    return cast(Trace, made)


def test_each_policy_places_the_page_as_it_is_called(trace: Trace) -> None:
    found = Scenarios(trace, MACHINE, nodes(0, 1)).predict(POLICY_NAMES)
    remote = {one.label: one.remote_accesses for one in found}
    balancing = remote.pop("balancing")
    assert remote == pytest.approx(
        {"observed": 0.0, "first-touch": 1.0, "interleave": 0.5, "weighted-interleave": 0.5}
    )
    # It moves in the second second of a run of some hundred seconds.
    assert 0.0 < balancing < 0.02
    assert all(one.structure_pages is None for one in found)


def test_a_plan_is_a_policy_and_pages_are_counted_if_wanted(trace: Trace) -> None:
    plan = Plan(structures=(StructureRule("a", "bind", nodes=(0,)),))
    found = Scenarios(trace, MACHINE, nodes(0, 1), with_pages=True).predict(
        ["observed"], {"p": plan}
    )
    assert [(one.label, one.remote_accesses) for one in found] == [("observed", 0.0), ("p", 1.0)]
    pages = [one.structure_pages for one in found if one.structure_pages is not None]
    assert [table.tolist() for table in pages] == [[[0.0, 1.0]], [[1.0, 0.0]]]


def test_a_measured_time_tunes_the_observed_run(trace: Trace) -> None:
    assert Scenarios(trace, MACHINE, nodes(0, 1)).tuning == Tuning()
    tuned = Scenarios(trace, MACHINE, nodes(0, 1), seconds=4000.0)
    (found,) = tuned.predict(["observed"])
    assert found.seconds == pytest.approx(4000.0)


def test_only_the_wanted_phases_are_predicted(trace: Trace) -> None:
    demand = demand_of(trace, speeds_of(MACHINE))
    (whole,) = Scenarios(trace, MACHINE, nodes(0, 1), phases=[0]).predict(["observed"])
    assert [phase.name for phase in whole.phases] == list(demand.phase_names)
    with pytest.raises(NumascapeError, match="has no accesses to predict from"):
        Scenarios(trace, MACHINE, nodes(0, 1), phases=[]).predict(["observed"])


@pytest.mark.parametrize("where", [(0, 1, 0, 1), (0, 0, -1, 1)])
def test_pages_that_are_used_alike_are_predicted_together(
    where: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three kinds of pages: one user; two users, touched by a third; all threads.
    users = [[(page % 4,), (page % 3, 3), (0, 1, 2, 3)][page % 3] for page in range(60)]
    rows = [(page, one, 10**7, 10**6 * one) for page, them in enumerate(users) for one in them]
    trace = trace_of(
        rows,
        4,
        lines=[10**7 + 10**5 * one for _, one, _, _ in rows],
        first_touch=[(page, page % 4) for page in range(60)],
        machine=MACHINE,
    )
    trace.threads = trace.threads.with_columns(nodes=pl.Series([[0], [0], [1], [1]]))

    def told() -> tuple[int, list[list[float]]]:
        scenarios = Scenarios(trace, MACHINE, nodes(*where), with_pages=True)
        found = scenarios.predict(["observed", "first-touch", "interleave", "balancing"])
        groups = scenarios._groups(nodes(*where)).pages.height
        shares = [[*one.variants, one.remote_share, one.remote_accesses] for one in found]
        return groups, shares + [one.structure_pages.ravel().tolist() for one in found]  # type: ignore[union-attr]

    groups, together = told()
    monkeypatch.setattr(scenarios_module, "label_of_use", lambda demand: np.arange(60))
    pages, alone = told()
    assert (groups < 20, pages) == (True, 60)
    for one, other in zip(together, alone, strict=True):
        assert one == pytest.approx(other, rel=1e-9)
