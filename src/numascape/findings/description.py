# SPDX-License-Identifier: Apache-2.0
"""What a structure's figures show, in words for a reader who has never tuned for NUMA."""

from __future__ import annotations

from numascape.analysis.facts import Facts
from numascape.findings.finding import Place
from numascape.findings.subject import Subject
from numascape.findings.thresholds import FOREIGN, SERIAL, SPLIT
from numascape.findings.wording import counted, percent, percent_first


def who_uses(facts: Facts) -> str:
    """Which threads use it in the whole run, and how they share its pages."""
    if facts.threads == 1:
        return f"Only thread {facts.busiest_thread} uses it: {counted(facts.accesses, 'access')}."
    if facts.busiest_share >= SPLIT:
        return _mainly_one(facts)
    who = f"{facts.threads} threads use it"
    if facts.writers == 0:
        who += ", all of them only read"
    elif facts.writers < facts.threads:
        who += f", {facts.writers} of them " + ("writes" if facts.writers == 1 else "write")
    if facts.dominance >= SPLIT:
        return (
            f"{who}, but nearly every page is mainly one thread's: a page's busiest thread makes "
            f"{percent(facts.dominance)} of its accesses."
        )
    if facts.dominance <= 2 / facts.threads:
        return (
            f"{who}, and about {facts.threads_per_page:.0f} of them use each page to much the "
            "same degree: its busiest thread makes only "
            f"{percent(facts.dominance)} of its accesses."
        )
    return (
        f"{who}; a page is used by about {facts.threads_per_page:.0f} of them, its busiest thread "
        f"makes {percent(facts.dominance)} of its accesses."
    )


def _mainly_one(facts: Facts) -> str:
    others = facts.threads - 1
    rest = percent(1 - facts.busiest_share)
    who = (
        f"{facts.threads} threads use it, but thread {facts.busiest_thread} makes "
        f"{percent(facts.busiest_share)} of the accesses"
    )
    if others == 1:
        return f"{who}, the other {rest}."
    if facts.others_dominance >= SPLIT:
        return f"{who}; the others make {rest}, each mainly on pages of its own."
    return f"{who}; the {others} others make {rest}, several of them on each page."


def who_shares(subject: Subject, how: str) -> str:
    """How many threads use its pages at work; `how` says the rest."""
    facts, use = subject.whole, subject.use
    sentence = (
        f"{len(use.threads)} threads work on it and about {use.users_per_page:.0f} of them on each "
        f"page, {how}: wherever a page lies, it is far from most of its users."
    )
    if facts.first_toucher is not None and facts.first_toucher_share >= SERIAL:
        sentence += (
            f" Thread {facts.first_toucher} touched {percent(facts.first_toucher_share)} of the "
            f"pages first{at(subject.touched_at)}, so all are on one node."
        )
    return sentence


def who_touched(subject: Subject) -> str:
    """Who touched its pages first, and whether those work on them."""
    facts, own = subject.whole, subject.own_share
    sentence = (
        f"Thread {facts.first_toucher} touched {percent(facts.first_toucher_share)} of the pages "
        f"first{at(subject.touched_at)}"
    )
    others = [thread for thread in subject.threads if thread != facts.first_toucher]
    if facts.first_toucher_share >= SERIAL and own < FOREIGN and others:
        who = f"{len(others)} other threads do" if len(others) > 1 else f"thread {others[0]} does"
        return f"{sentence}, but {who} {percent(1 - own)} of the work on it."
    if own >= SPLIT:
        who = "the thread that touched the page first"
        return f"{percent_first(own)} of the work is done by {who}."
    return f"{percent_first(1 - own)} of the work is done by others than touched the page first."


def at(place: Place | None) -> str:
    """` (in the loop at a.c:3)` after what happened there."""
    return f" (in {place})" if place and str(place) else ""
