# SPDX-License-Identifier: Apache-2.0
"""The sentences about a structure without a finding, and about the sources of its accesses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from numascape.analysis.ownership import Owner
from numascape.findings.finding import Kind, Place
from numascape.findings.reading import UNUSED, _surroundings, _without_finding, reading_of


def said(accesses: int, threads: int, own: float, owner: Owner = Owner.PROGRAM) -> str:
    run: Any = SimpleNamespace(accesses=10_000, owners={0: owner})
    facts: Any = SimpleNamespace(accesses=accesses, threads=threads, own_share=own)
    (sentence,) = _without_finding(run, 0, facts)
    return sentence


@pytest.mark.parametrize(
    ("accesses", "threads", "own", "start"),
    [
        (99, 2, 0.49, "Only 0.99 % of the run's accesses go here: check other structures first."),
        (99, 2, 0.5, "Nothing to gain."),
        (100, 2, 0.49, "Nothing to gain."),
        (99, 1, 0.49, "Nothing is shared here."),
        (100, 1, 1.0, "Nothing is shared here."),
    ],
)
def test_what_is_small_and_used_by_others_is_looked_at_last(
    accesses: int, threads: int, own: float, start: str
) -> None:
    assert said(accesses, threads, own) == start


def test_memory_that_nobody_places_is_said_so() -> None:
    assert said(9000, 4, 0.0, Owner.RUNTIME).startswith("A library allocated this memory")
    assert said(9000, 4, 0.0, Owner.STACK).startswith("A thread's stack is near the CPU")


def test_the_first_of_several_findings_is_the_verdict() -> None:
    fixes = [SimpleNamespace(structure=s, why=f"why {n}", kind=kind, advice=(f"do {n}",))
             for n, (s, kind) in enumerate(((0, Kind.HOT_PAGES), (1, Kind.SHARED_WRITTEN),
                                            (0, Kind.PAGE_FALSE_SHARING)))]  # fmt: skip
    whole = SimpleNamespace(accesses=9, threads=1, busiest_thread=4)
    trace = SimpleNamespace(info=SimpleNamespace(recorder=SimpleNamespace(counts="accesses")))
    run: Any = SimpleNamespace(facts={0: whole, 2: whole}, trace=trace, accesses=9,
                               subject=lambda _: None, owners={2: Owner.PROGRAM})  # fmt: skip
    found: Any = fixes
    reading = reading_of(run, 0, found)
    assert reading.see == ("Only thread 4 uses it: 9 accesses.", "why 0", "why 2")
    assert (reading.advice, reading.verdict) == (("do 0", "do 2"), Kind.HOT_PAGES.value)
    alone = reading_of(run, 2, found)
    assert (alone.advice, alone.verdict) == (("Nothing is shared here.",), "one thread")


def surroundings(share: float, remote: float | None, observed: bool = True) -> list[str]:
    subject: Any = SimpleNamespace(
        used_at=Place("f", "/src/a.c", 3, True, share),
        remote=remote,
        run=SimpleNamespace(nodes=SimpleNamespace(observed=observed)),
    )
    return _surroundings(subject)


def test_a_place_with_half_of_the_accesses_is_said() -> None:
    assert surroundings(0.5, None) == ["50 % of its accesses come from the loop at a.c:3."]
    assert surroundings(0.49, None) == []


def test_work_on_other_nodes_is_said_if_they_were_observed() -> None:
    assert surroundings(0, 0.25) == ["In this run, 25 % of the work on it went to another node."]
    assert surroundings(0, 0.0) == ["In this run, all of the work on it stayed on its node."]
    assert surroundings(0, 0.25, observed=False) == []


def test_what_was_not_accessed_is_not_used() -> None:
    counts = SimpleNamespace(recorder=SimpleNamespace(counts="accesses"))
    trace = SimpleNamespace(info=counts)
    facts = {1: SimpleNamespace(accesses=0)}
    run: Any = SimpleNamespace(facts=facts, trace=trace)
    assert reading_of(run, 0, []) is UNUSED
    assert reading_of(run, 1, []) is UNUSED
