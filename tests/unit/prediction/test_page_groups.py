# SPDX-License-Identifier: Apache-2.0
"""A prediction is the same if pages that are placed in the same way are one row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from numascape.analysis.sharing import PAGE
from numascape.machine import Machine
from numascape.prediction.demand import Demand, demand_of
from numascape.prediction.initialisation import initialised_by_users, main_users
from numascape.prediction.load import RunPlacement, caches_of
from numascape.prediction.model import Prediction, predict
from numascape.prediction.page_groups import (
    group_pages,
    label_of_shares,
    label_of_use,
    of_groups,
)
from numascape.prediction.policies import SCHEMA
from numascape.prediction.speeds import Floats, Speeds, speeds_of
from unit.prediction.made_up import machine_of, trace_of

THREADS, PAGES = 4, 60


def machine() -> Machine:
    """Two nodes, in each of which two threads share a cache."""
    return replace(machine_of(2), name="two nodes")


def drawn(seed: int, counted: bool) -> tuple[Demand, Speeds]:
    """A run with two phases, with random numbers of accesses by thread and page."""
    chance = np.random.default_rng(seed)
    rows = [
        (page, thread, int(chance.integers(1, 900)), int(chance.choice([0, 0, 0, 512])))
        for page in range(PAGES)
        for thread in range(THREADS)
        if chance.random() < 0.6
    ]
    lines = [int(chance.integers(0, 90)) for _ in rows] if counted else None
    trace = trace_of(rows, THREADS, lines=lines)
    trace.__dict__["phases"] = pl.DataFrame(
        {"phase": [0, 1], "name": ["a", "b"], "repetitions": [1, 3]}
    )
    # Only thread 0 is in the second phase, as in an initialisation.
    second = [thread == 0 and chance.random() < 0.5 for _, thread, _, _ in rows]
    phases = pl.Series(second).cast(pl.UInt32)
    trace.__dict__["accesses"] = trace.accesses.with_columns(phase=phases)
    speeds = replace(speeds_of(machine()), sharers=2, shared_cache=1e4, private_cache=1e3)
    return demand_of(trace, speeds), speeds


def placement(demand: Demand, seed: int) -> pl.DataFrame:
    """Each page on node 0, on node 1, or on both."""
    chance = np.random.default_rng(seed)
    kind = chance.integers(0, 3, demand.pages.height)
    pages = demand.pages.select(PAGE)
    parts = [
        pages.filter(kind == node).with_columns(node=pl.lit(node), share=pl.lit(1.0))
        for node in (0, 1)
    ]
    both = [
        pages.filter(kind == 2).with_columns(node=pl.lit(node), share=pl.lit(share))
        for node, share in ((0, 0.25), (1, 0.75))
    ]
    return pl.concat([*parts, *both]).cast(SCHEMA)


def told(found: Prediction) -> list[Floats]:
    assert found.structure_pages is not None
    shares = np.array([found.remote_share, found.remote_accesses, found.extra_bytes])
    return [np.array(found.variants), found.traffic, found.structure_pages, shares]


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("remedy", ["as it is", "copied", "initialised by users"])
def test_groups_are_predicted_like_their_pages(seed: int, counted: bool, remedy: str) -> None:
    demand, speeds = drawn(seed, counted)
    pages = placement(demand, seed)
    nodes = np.array([0, 0, 1, 1])
    labels = [label_of_shares(demand.shares(pages, speeds)), main_users(demand, 1)]
    on = speeds.shares_of_threads(speeds.positions(nodes))
    groups = group_pages(demand, caches_of(on, speeds), labels)
    assert groups.pages.height < demand.pages.height
    few = of_groups(pages, groups)

    def found(one: Demand, where: pl.DataFrame) -> list[Floats]:
        copied = [0] if remedy == "copied" else []
        if remedy == "initialised by users":
            one = initialised_by_users(one, [0], 1)
        return told(
            predict(one, speeds, RunPlacement(where, nodes, copied=copied), with_pages=True)
        )

    for alone, together in zip(found(demand, pages), found(groups, few), strict=True):
        assert together == pytest.approx(alone, rel=1e-9)


def test_shares_have_one_label_each() -> None:
    share = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.25, 0.75], [0.5, 0.5]])
    labels = label_of_shares(share).tolist()
    assert labels[:1] + labels[2:3] == [0, 1]
    assert labels[1] == labels[4]
    assert len(set(labels)) == 4


def test_pages_that_are_used_alike_have_one_label() -> None:
    rows = [
        (0, 0, 8, 0), (0, 1, 4, 2),
        (1, 1, 4, 2), (1, 0, 8, 0),
        (2, 1, 8, 0), (2, 0, 4, 2),  # threads
        (3, 0, 8, 0), (3, 1, 5, 1),  # reads and writes
        (4, 0, 8, 0),
    ]  # fmt: skip
    labels = label_of_use(demand_of(trace_of(rows, 2), speeds_of(machine()))).tolist()
    assert labels[0] == labels[1]
    assert len(set(labels)) == 4
