# SPDX-License-Identifier: Apache-2.0
"""Writes, spread pages and hot pages exactly at a threshold count on the right side.

All numbers are exact in floating point, or rounded like the threshold.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from numascape.findings.diagnoses import hot_pages, shared_written
from numascape.findings.page_use import PageUse
from numascape.findings.pattern import (
    Pattern,
)
from unit.findings.pattern_cases import rows, use


def written(reads: int, writes: int, by_toucher: int, touched_bytes: int) -> float:
    """Thread 0 touched the pages and makes `by_toucher` of the writes; thread 1 makes the rest."""
    table = rows({(0, 0, 0): (0, by_toucher), (0, 0, 1): (reads, writes)})
    subject: Any = SimpleNamespace(
        rows=table, whole=SimpleNamespace(first_toucher=0), touched_bytes=touched_bytes
    )
    return shared_written.written_share(subject)


def test_one_write_per_element_by_the_first_toucher_is_no_work() -> None:
    # Elements have at least four bytes: 1024 writes fill a page.
    assert written(90, 10, 1024, 4096) == pytest.approx(0.1)
    assert written(90, 10, 1025, 4096) == pytest.approx(1035 / 1125)
    assert written(0, 0, 1024, 4096) == 0.0


def spread(by_node: dict[int, float], thread_nodes: int = 1, observed: bool = True) -> bool:
    """The work of threads on this number of nodes, on the memory of each node."""
    table = pl.DataFrame(
        [
            (at, node, share / thread_nodes)
            for node, share in by_node.items()
            for at in range(thread_nodes)
        ],
        schema=["thread_node", "node", "accesses"],
        orient="row",
    )
    subject: Any = SimpleNamespace(
        traffic=table, run=SimpleNamespace(nodes=SimpleNamespace(observed=observed))
    )
    return shared_written.already_spread(subject)


def test_pages_are_spread_when_no_node_has_more_than_its_part() -> None:
    assert spread({0: 100.0, 1: 100.0}, 2)
    assert spread({0: 130.0, 1: 70.0}, 2)  # 1.3 times the mean
    assert not spread({0: 132.0, 1: 68.0}, 2)
    assert not spread({0: 100.0, 1: 100.0}, 2, observed=False)


def test_spread_pages_are_on_all_nodes_with_threads_and_on_two_at_least() -> None:
    assert not spread({0: 100.0, 1: 100.0}, 3)
    assert not spread({0: 100.0}, 1)
    assert spread({0: 100.0, 1: 100.0}, 1)


def heavy(counts: list[int]) -> Any:
    return use([[count / 2, count / 2] for count in counts])


def test_parts_of_equal_length_and_of_equal_accesses() -> None:
    found = heavy([6, 2, 2, 2])
    assert hot_pages.heaviest_part(found, 4, 2) == pytest.approx(8 / 6)
    assert hot_pages.even_parts(found, 4, 2) == pytest.approx((0.0, 0.25, 1.0))
    # Of four parts with three accesses each, two are in the first page.
    assert hot_pages.even_parts(found, 4, 4) == pytest.approx((0.0, 0.125, 0.25, 0.625, 1.0))
    # Pages without accesses have no boundary, and one access is enough.
    single = PageUse(np.arange(1), np.zeros(2, int), np.array([0, 3]), np.ones((2, 1)))
    assert hot_pages.even_parts(single, 4, 2) == pytest.approx((0.0, 0.25, 1.0))
    assert hot_pages.half_of_accesses(found) == 1
    assert hot_pages.half_of_accesses(heavy([2, 2, 2, 2])) == 2
    assert hot_pages.half_of_accesses(heavy([1, 2, 3, 2, 1])) == 2


def hot(pages: int, first: int = 5, instances: int = 1, pattern: Pattern = Pattern.SHARED) -> Any:
    """Two threads use all pages; they use the first quarter `first` times as often."""
    counts = [first if page < pages / 4 else 1 for page in range(pages)]
    return SimpleNamespace(
        pattern=pattern,
        use=heavy(counts),
        threads=(0, 1),
        row={"instances": instances, "pages": pages, "size": pages << 12, "kind": "global"},
        structure=0,
        name="A",
        used_at=None,
        touched_as=None,
        whole=SimpleNamespace(place=("", "", 0)),
        foreign=300,
    )


def test_hot_pages_are_more_than_a_cache_holds() -> None:
    # Half of the accesses go to a fifth of the pages: 32 pages, which are 128 KiB, and 33.
    assert hot_pages.diagnose(hot(160)) is None
    found = hot_pages.diagnose(hot(164))
    assert found is not None
    assert found.even_parts == pytest.approx((0.0, 0.2, 1.0))
    assert found.nearer == 100  # of 300, what is above the mean: 1 - 1 / 1.5
    assert found.confidence == 0.5
    assert hot_pages.diagnose(hot(164, instances=2)) is None
    assert hot_pages.diagnose(hot(164, pattern=Pattern.SPLIT)) is None


def test_hot_pages_are_said_with_the_ends_of_the_first_parts() -> None:
    two = hot_pages.diagnose(hot(164))
    assert two is not None
    assert "Half of the accesses go to 20 % of its pages. If it is split into 2 parts" in two.why
    assert "the busiest part has 1.5 times the mean number of accesses" in two.why
    assert "They end at 0, 0.2, 1 of its length" in two.fixes[0].text
    assert [evidence.value for evidence in two.evidence] == pytest.approx([33 / 164, 1.5])
    many = hot(180)
    many.threads = (0, 1, 2)
    three = hot_pages.diagnose(many)
    assert three is not None
    assert len(three.even_parts) == 4
    assert "They end at 0, 0.133, 0.333, ... of its length" in three.fixes[0].text
    # With fewer than four pages for each thread, this cannot be seen.
    many.threads = tuple(range(46))
    assert hot_pages.diagnose(many) is None
    many.threads = tuple(range(45))
    assert hot_pages.diagnose(many) is not None
