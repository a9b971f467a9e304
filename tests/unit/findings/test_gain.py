# SPDX-License-Identifier: Apache-2.0
"""The places of pages after a remedy, and the fix that is advised first."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.findings import gain
from numascape.findings.finding import Figure, Finding, Fix, Gain, Kind, Remedy
from numascape.findings.gain import _in_order
from numascape.findings.nodes import Nodes
from numascape.findings.remedies import RemediedRun
from numascape.prediction import demand_of, speeds_of
from numascape.prediction.initialisation import initialised_by_users, with_initialisation
from unit.prediction.made_up import machine_of, nodes, trace_of


def after(accesses: list[tuple[int, int, int, int]], threads: int) -> Any:
    """The model of a run on two nodes with two threads each, and one node of memory only."""
    machine = machine_of(3, 2, first=4, without_cpus=(2,))
    trace = trace_of(accesses, threads)
    where = nodes(4, 4, 5, -1)[:threads]
    placed = Nodes(machine, True, where, trace.first_touch)
    return SimpleNamespace(_trace=trace, _nodes=placed)


def placed(frame: pl.DataFrame) -> dict[int, int]:
    assert frame["share"].to_list() == [1.0] * frame.height
    return dict(frame.sort("page").select("page", "node").iter_rows())


def test_each_page_goes_to_the_node_that_uses_it_most() -> None:
    model = after(
        [
            *((0, 0, 3, 0), (0, 1, 0, 3), (0, 2, 5, 0)),  # 6 on node 4, 5 on node 5
            *((1, 0, 1, 1), (1, 2, 2, 0)),  # equal: the first node
            *((2, 2, 1, 0), (2, 3, 99, 0)),  # thread 3 is anywhere
            (3, 3, 9, 0),
        ],
        4,
    )
    assert placed(RemediedRun._near_users(model, model._trace.accesses)) == {0: 4, 1: 4, 2: 5}


@pytest.mark.parametrize(
    ("fences", "on"),
    [
        ((0.0, 0.5, 1.0), [4, 4, 5, 5]),
        ((0.0, 0.375, 1.0), [4, 5, 5, 5]),  # the middle of page 1 is on the boundary
        ((0.0, 0.38, 1.0), [4, 4, 5, 5]),
        # Each node has two of four parts; the first node has two of three parts.
        ((0.0, 0.1, 0.2, 0.8, 1.0), [4, 5, 5, 5]),
        ((0.0, 0.2, 0.6, 1.0), [4, 4, 5, 5]),
    ],
)
def test_parts_with_equal_accesses_go_to_the_nodes_in_order(
    fences: tuple[float, ...], on: list[int]
) -> None:
    model = after([(page, 0, 1, 0) for page in range(4)], 1)
    hot: Any = SimpleNamespace(structure=0, even_parts=fences)
    found = placed(RemediedRun._in_parts(model, model._trace.accesses, hot))
    assert [found[page] for page in range(4)] == on


def test_parts_have_the_length_of_their_own_structure() -> None:
    model = after([(page, 0, 1, 0) for page in range(4)], 1)
    accesses = model._trace.accesses.with_columns(structure=pl.lit(1, pl.UInt32))
    model._trace = SimpleNamespace(structures=pl.DataFrame({"pages": [4, 8]}))
    hot: Any = SimpleNamespace(structure=1, even_parts=(0.0, 0.25, 1.0))
    found = placed(RemediedRun._in_parts(model, accesses, hot))
    assert [found[page] for page in range(4)] == [4, 4, 5, 5]


def test_the_users_of_pages_initialise_them_in_parallel() -> None:
    # Thread 0 writes all pages in phase 1; then thread 1 uses page 0, and nobody uses page 2.
    trace = trace_of([(0, 0, 0, 512), (0, 1, 900, 0), (1, 0, 700, 512), (2, 0, 0, 512)], 2)
    whole = with_initialisation(trace)
    demand = demand_of(whole, speeds_of(machine_of(2)))
    assert demand.accesses.tolist() == [[1724.0, 900.0], [512.0, 0.0]]
    moved = initialised_by_users(demand, [0], 1)
    assert moved.accesses.tolist() == [[1724.0, 900.0], [0.0, 512.0]]
    assert initialised_by_users(demand, [1], 1).accesses.tolist() == demand.accesses.tolist()


def finding(*fixes: Fix) -> Finding:
    return Finding(Kind.SERIAL_FIRST_TOUCH, 0, "A", (), "", fixes, (), Figure.FIRST_TOUCH, 1.0)


def test_the_best_fix_comes_first_and_fallbacks_only_if_they_are_it() -> None:
    users, pinned = Fix("users", Remedy.USERS), Fix("pin")
    spread = Fix("spread", Remedy.INTERLEAVED, fallback=True)
    kept = _in_order(finding(users, pinned, spread), Remedy.USERS)
    assert kept.advice == ("users", "pin")
    first = _in_order(finding(users, pinned, spread), Remedy.INTERLEAVED)
    assert first.advice == ("spread", "users", "pin")
    assert first.remedy is Remedy.INTERLEAVED
    # Without a machine, nothing is predicted, and the usual order stays.
    assert _in_order(finding(users, pinned, spread), Remedy.NONE).advice == ("users", "pin")


@pytest.mark.parametrize(
    ("remedy", "share", "names", "said"),
    [
        (Remedy.USERS, 0.25, ("A",), "for A: 25 % of the run time saved."),
        (Remedy.USERS, -0.1, ("",), "for the run: 0 % of the run time saved."),
        (Remedy.DIVIDED, 0.25, ("A", "B"), "for all of them: at most 25 % of the run time saved."),
        (Remedy.COPIED, 0.25, ("A",),
         "for A: 25 % of the run time saved, including the time to make the copies."),
    ],
)  # fmt: skip
def test_the_gain_of_another_fix_is_said(
    remedy: Remedy, share: float, names: tuple[str, ...], said: str
) -> None:
    members = [dataclasses.replace(finding(), name=name) for name in names]
    gained = Gain(share, share, share, "links", "m")
    assert gain._saved(Fix("", remedy), gained, members) == f"Predicted {said}"


@pytest.mark.parametrize(
    ("gains", "best"),
    [
        ({Remedy.USERS: 0.3, Remedy.INTERLEAVED: 0.305}, Remedy.USERS),
        ({Remedy.USERS: 0.25, Remedy.INTERLEAVED: 0.26}, Remedy.USERS),
        ({Remedy.USERS: 0.3, Remedy.INTERLEAVED: 0.32}, Remedy.INTERLEAVED),
        ({Remedy.USERS: -0.19, Remedy.INTERLEAVED: 0.22}, Remedy.INTERLEAVED),
    ],
)
def test_another_fix_must_be_clearly_better(
    monkeypatch: pytest.MonkeyPatch, gains: dict[Remedy, float], best: Remedy
) -> None:
    model = SimpleNamespace(gain=lambda _, remedy: SimpleNamespace(share=gains[remedy]))
    monkeypatch.setattr(gain, "remedied_run", lambda _: model)
    run: Any = None
    fixes = (Fix("a", Remedy.USERS), Fix("b", Remedy.INTERLEAVED), Fix("c", Remedy.DIVIDED))
    assert gain._best_remedy(run, [finding(*fixes)]) is best
    # The gain of divided work is an upper bound, and is compared with no other.
    divided = (Fix("c", Remedy.DIVIDED), Fix("b", Remedy.INTERLEAVED))
    assert gain._best_remedy(run, [finding(*divided)]) is Remedy.DIVIDED


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0199, "1.9 %"),
        (0.0151, "1.5 %"),
        (0.01, "1.0 %"),
        (0.02, "2 %"),
        (0.0099, "0.99 %"),
        (-0.1, "0 %"),
    ],
)
def test_a_gain_below_the_threshold_does_not_look_like_it(share: float, text: str) -> None:
    assert Gain(share, share, share, "links", "m").saved == text
