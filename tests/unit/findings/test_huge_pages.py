# SPDX-License-Identifier: Apache-2.0
"""The cost of 2 MiB pages: accesses by other threads than the main user of each of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from numascape.findings.diagnoses import huge_page_false_sharing
from numascape.findings.diagnoses.huge_page_false_sharing import diagnose, loss
from numascape.findings.page_use import PageUse
from numascape.findings.pattern import Pattern


def subject(pages: int = 2048, address: int = 0, nodes: Any = None, kind: str = "heap") -> Any:
    """Thread 5 uses every fourth page of a structure, thread 2 the others."""
    page = np.arange(pages)
    by_last = (page % 4 == 3)[:, None] == [False, True]
    use = PageUse(np.array([2, 5]), np.zeros(pages, np.int64), page, by_last * 2.0)
    instances = pl.DataFrame(
        {"structure": [0], "instance": [0], "address": [address]},
        schema={"structure": pl.UInt32, "instance": pl.UInt32, "address": pl.UInt64},
    )
    run = SimpleNamespace(nodes=nodes, trace=SimpleNamespace(instances=instances))
    return SimpleNamespace(
        use=use, run=run, structure=0, name="A", threads=(2, 5), used_at=None, working=1000,
        pattern=Pattern.SPLIT, row={"kind": kind},
    )  # fmt: skip


def test_only_whole_huge_pages_count() -> None:
    assert loss(subject()) == (0.25, 4)
    assert loss(subject(2047)) == (384 / 2047, 3)
    assert loss(subject(511)) == (0.0, 0)
    # The first of 512 pages is the last one of a huge page.
    assert loss(subject(513, 511 << 12)) == (128 / 513, 1)
    assert loss(subject(512, 511 << 12)) == (0.0, 0)


@pytest.mark.parametrize(
    ("pages", "address", "found"),
    [(2048, 0, True), (2559, 1 << 12, True), (2558, 1 << 12, False), (2558, 511 << 12, False)],
)
def test_chance_does_not_decide_whether_there_are_four_huge_pages(
    monkeypatch: pytest.MonkeyPatch, pages: int, address: int, found: bool
) -> None:
    """2558 pages have four whole huge pages at most addresses, and three at some."""
    monkeypatch.setattr(huge_page_false_sharing, "pin", lambda _: "")
    monkeypatch.setattr(huge_page_false_sharing, "has_huge_pages", lambda *_: None)
    monkeypatch.setattr(huge_page_false_sharing, "loss", lambda _: (0.5, 4))
    assert (diagnose(subject(pages, address)) is not None) is found


def test_threads_of_one_node_are_one_user() -> None:
    near = SimpleNamespace(observed=True, thread_node=np.array([9, 9, 1, 9, 9, 1]))
    assert loss(subject(nodes=near)) == (0.0, 4)
    near.thread_node[5] = 0
    assert loss(subject(nodes=near)) == (0.25, 4)
    near.observed, near.thread_node = False, None
    assert loss(subject(nodes=near)) == (0.25, 4)


def test_a_quarter_of_the_accesses_on_four_huge_pages_is_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(huge_page_false_sharing, "pin", lambda _: "")
    monkeypatch.setattr(huge_page_false_sharing, "has_huge_pages", lambda *_: None)
    found = diagnose(subject())
    assert found is not None
    assert found.nearer == 250
    assert found.confidence == pytest.approx(0.45)
    assert [one.value for one in found.evidence] == [0.25, 4]
    assert "make 25 % of the accesses. (It has 4 such pages.)" in found.why
    assert diagnose(subject(kind="mapping")) is not None
    assert diagnose(subject(kind="global")) is None
    assert diagnose(subject(2047)) is None


@pytest.mark.parametrize(
    ("huge", "found", "sentence"),
    [
        (None, 0.45, "With transparent huge pages, threads that are not the main user of a 2 MiB"),
        (True, 0.45, "But the kernel gives it transparent huge pages, so threads that are not the"),
        (False, None, ""),
    ],
)
def test_pages_that_are_known_to_be_small_are_no_finding(
    monkeypatch: pytest.MonkeyPatch, huge: bool | None, found: float | None, sentence: str
) -> None:
    monkeypatch.setattr(huge_page_false_sharing, "pin", lambda _: "")
    monkeypatch.setattr(huge_page_false_sharing, "has_huge_pages", lambda *_: huge)
    finding = diagnose(subject())
    assert (finding and finding.confidence) == found
    assert finding is None or sentence in finding.why
