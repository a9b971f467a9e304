# SPDX-License-Identifier: Apache-2.0
"""Divisions into contiguous parts, compared with an exhaustive search."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from numascape.balance.graph import Floats, Integers
from numascape.placement.contiguous_parts import contiguous_parts, parts_that_fit


def price(cost: Floats, nodes: Integers, boundary: float) -> float:
    held = cost[np.arange(len(cost)), nodes].sum()
    return float(held + boundary * np.count_nonzero(np.diff(nodes)))


@settings(max_examples=60, deadline=None)
@given(
    pieces=st.integers(1, 6),
    nodes=st.integers(1, 3),
    boundary=st.integers(0, 5),
    seed=st.integers(0, 10**6),
)
def test_the_division_is_the_cheapest(pieces: int, nodes: int, boundary: int, seed: int) -> None:
    cost = np.random.default_rng(seed).integers(0, 20, (pieces, nodes)).astype(float)
    every = itertools.product(range(nodes), repeat=pieces)
    best = min(price(cost, np.array(division), boundary) for division in every)
    assert price(cost, contiguous_parts(cost, boundary, pieces), boundary) == best


def test_there_are_no_more_parts_than_allowed() -> None:
    cost = np.random.default_rng(1).random((500, 4))
    for most in (1, 2, 7, 60):
        assert 1 + np.count_nonzero(np.diff(contiguous_parts(cost, 0.0, most))) <= most


def test_a_node_that_is_too_small_gets_the_part_that_loses_least() -> None:
    # Node 0 is best everywhere; at the beginning, it is best by far.
    gain = np.linspace(10.0, 1.0, 100)
    cost = np.stack([np.zeros(100), gain], axis=1)
    size = np.full(100, 5.0)
    nodes = parts_that_fit(cost, size, np.array([300.0, 500.0]), 0.5, 10)
    assert nodes is not None
    taken = int((nodes == 0).sum())
    assert 45 <= taken <= 60
    assert (nodes[:taken] == 0).all()
    assert (nodes[taken:] == 1).all()


def test_what_fits_nowhere_has_no_division() -> None:
    assert parts_that_fit(np.ones((4, 2)), np.ones(4), np.array([1.0, 1.0]), 0.1, 4) is None
