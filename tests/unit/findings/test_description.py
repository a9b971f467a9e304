# SPDX-License-Identifier: Apache-2.0
"""The sentences about users and first touchers, at the borders between wordings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from numascape.analysis.facts import Facts
from numascape.findings.description import at, who_shares, who_touched, who_uses
from numascape.findings.finding import Place

WHERE = Place("fill", "/src/a.c", 3)


def facts(**known: Any) -> Facts:
    usual: dict[str, Any] = {
        "reads": 600,
        "writes": 400,
        "threads": 4,
        "writers": 4,
        "busiest_thread": 2,
        "busiest_share": 0.4,
        "touched_pages": 9,
        "dominance": 0.6,
        "threads_per_page": 2.0,
        "first_touched_pages": 9,
        "first_toucher": 1,
        "first_toucher_share": 0.8,
        "first_toucher_accesses": 0.1,
        "own_share": 0.3,
        "place": ("", "", 0),
    }
    return Facts(**(usual | known))


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"threads": 1}, "Only thread 2 uses it: 1 000 accesses."),
        ({"writers": 0}, "4 threads use it, all of them only read. About 2 of them use each page"),
        ({"writers": 1}, "4 threads use it, 1 of them writes. About 2"),
        ({"writers": 3}, "4 threads use it, 3 of them write. About 2"),
        ({}, "4 threads use it. About 2 of them use each page, and a page's busiest thread makes"),
        ({"dominance": 0.5}, "about 2 of them use each page about equally: the busiest thread of "),
        ({"dominance": 0.51}, "thread makes 51 % of its accesses."),
        ({"dominance": 0.75}, "nearly every page has one main user: the busiest thread of a page"),
        ({"dominance": 0.74}, "thread makes 74 % of its accesses."),
        ({"busiest_share": 0.74}, "4 threads use it. About"),
    ],
)
def test_who_uses_it(known: dict[str, Any], said: str) -> None:
    assert said in who_uses(facts(**known)).replace("\u202f", " ").replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("known", "end"),
    [
        ({"threads": 2}, "2 threads use it, but thread 2 makes 75 % of the accesses, and the other "
                         "thread 25 %."),
        ({"threads": 3}, ". The 2 others make 25 %, several of them on each page."),
        ({"others_dominance": 0.75}, ". The others make 25 %, each mainly on its own pages."),
        ({"others_dominance": 0.74}, ". The 3 others make 25 %, several of them on each page."),
    ],
)  # fmt: skip
def test_one_thread_makes_most_accesses(known: dict[str, Any], end: str) -> None:
    assert who_uses(facts(busiest_share=0.75, **known)).endswith(end)


def subject(threads: tuple[int, ...] = (1, 2), **known: Any) -> Any:
    return SimpleNamespace(
        whole=facts(**known),
        use=SimpleNamespace(threads=[0, 1, 2], users_per_page=2.4),
        own_share=known.get("own_share", 0.3),
        threads=threads,
        touched_at=WHERE,
        touched_as=None,
    )


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({}, True),
        ({"first_toucher_share": 0.79}, False),
        ({"first_toucher": None, "first_toucher_share": 1.0}, False),
    ],
)
def test_a_first_touch_by_one_thread_is_told(known: dict[str, Any], told: bool) -> None:
    text = who_shares(subject(**known), "for reading")
    assert text.startswith("In parallel work, 3 threads use it, about 2 of them on each page, for")
    end = (
        " Thread 1 touched 80 % of the pages first (in fill (a.c:3)), so they are all on one node."
    )
    assert text.endswith(end) is told


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "Thread 1 touched 80 % of the pages first (in fill (a.c:3)), but thread 2 does 70 % "
             "of the work on it."),
        ({"work_by": (0, 1, 2)}, ", but 2 other threads do 70 % of the work on it."),
        ({"work_by": (1,)}, "Threads other than the first toucher of a page do 70 % of"),
        ({"first_toucher_share": 0.79}, "Threads other than the first toucher of a page do 70 %"),
        ({"own_share": 0.5}, "Threads other than the first toucher of a page do 50 % of"),
        ({"own_share": 0.49}, ", but thread 2 does 51 % of the work on it."),
        ({"own_share": 0.74}, "Threads other than the first toucher of a page do 26 % of"),
        ({"own_share": 0.75}, "The first toucher of a page does 75 % of the work on it."),
    ],
)  # fmt: skip
def test_who_touched_it_first(known: dict[str, Any], said: str) -> None:
    threads = known.pop("work_by", (1, 2))
    assert said in who_touched(subject(threads, **known))


def test_a_place_is_in_brackets() -> None:
    assert at(WHERE) == " (in fill (a.c:3))"
    assert (at(None), at(Place("", "", 3))) == ("", "")
