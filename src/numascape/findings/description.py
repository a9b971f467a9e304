# SPDX-License-Identifier: Apache-2.0
"""Sentences that say who uses a structure and who touched it first."""

from __future__ import annotations

from numascape.analysis.facts import Facts
from numascape.findings.finding import Place
from numascape.findings.subject import Run, Subject
from numascape.findings.thresholds import MIN_DOMINANT_SHARE, MIN_FOREIGN_SHARE, MIN_SERIAL_SHARE
from numascape.quantities import counted, percent


def who_uses(facts: Facts) -> str:
    """Return which threads use it in the whole run, and how they share its pages."""
    if facts.threads == 1:
        return f"Only thread {facts.busiest_thread} uses it: {counted(facts.accesses, 'access')}."
    if facts.busiest_share >= MIN_DOMINANT_SHARE:
        return _mainly_one(facts)
    who = f"{facts.threads} threads use it"
    if facts.writers == 0:
        who += ", all of them only read"
    elif facts.writers < facts.threads:
        who += f", {facts.writers} of them " + ("writes" if facts.writers == 1 else "write")
    if facts.dominance >= MIN_DOMINANT_SHARE:
        return (
            f"{who}, but nearly every page has one main user: the busiest thread of a page makes "
            f"{percent(facts.dominance)} of its accesses."
        )
    if facts.dominance <= 2 / facts.threads:
        return (
            f"{who}, and about {facts.threads_per_page:.0f} of them use each page about equally: "
            f"the busiest thread of a page makes only {percent(facts.dominance)} of its accesses."
        )
    return (
        f"{who}. About {facts.threads_per_page:.0f} of them use each page, and a page's busiest "
        f"thread makes {percent(facts.dominance)} of its accesses."
    )


def _mainly_one(facts: Facts) -> str:
    others = facts.threads - 1
    rest = percent(1 - facts.busiest_share)
    who = (
        f"{facts.threads} threads use it, but thread {facts.busiest_thread} makes "
        f"{percent(facts.busiest_share)} of the accesses"
    )
    if others == 1:
        return f"{who}, and the other thread {rest}."
    if facts.others_dominance >= MIN_DOMINANT_SHARE:
        return f"{who}. The others make {rest}, each mainly on its own pages."
    return f"{who}. The {others} others make {rest}, several of them on each page."


def who_shares(subject: Subject, how: str) -> str:
    """Return how many threads use its pages in parallel work; `how` says in which way."""
    facts, use = subject.whole, subject.use
    sentence = (
        f"In parallel work, {len(use.threads)} threads use it, about {use.users_per_page:.0f} of "
        f"them on each page, {how}. On any node, a page is remote for most of its users."
    )
    if facts.first_toucher is not None and facts.first_toucher_share >= MIN_SERIAL_SHARE:
        sentence += (
            f" Thread {facts.first_toucher} touched {percent(facts.first_toucher_share)} of the "
            f"pages first{at(subject.touched_at)}, so they are all on one node."
        )
    return sentence


def run_computes(run: Run) -> str:
    """Return that the run computes, and the numbers that show it."""
    if run.executed:
        return (
            f"The run computes: it executes {run.executed / run.accesses:.0f} instructions for "
            "each access to memory."
        )
    each = run.cpu_ns / run.accesses
    return (
        f"The run computes: it uses {each:.0f} ns of CPU time for each access to memory, far more "
        "than the access takes on any node."
    )


def who_touched(subject: Subject) -> str:
    """Return who touched its pages first, and whether these threads work on them."""
    facts, own = subject.whole, subject.own_share
    sentence = (
        f"Thread {facts.first_toucher} touched {percent(facts.first_toucher_share)} of the pages "
        f"first{at(subject.touched_at)}"
    )
    others = [thread for thread in subject.threads if thread != facts.first_toucher]
    if facts.first_toucher_share >= MIN_SERIAL_SHARE and own < MIN_FOREIGN_SHARE and others:
        who = f"{len(others)} other threads do" if len(others) > 1 else f"thread {others[0]} does"
        return f"{sentence}, but {who} {percent(1 - own)} of the work on it."
    if own >= MIN_DOMINANT_SHARE:
        return f"The first toucher of a page does {percent(own)} of the work on it."
    return (
        f"Threads other than the first toucher of a page do {percent(1 - own)} of the work on it."
    )


def at(place: Place | None) -> str:
    """A place in brackets after a sentence: ` (in the loop at a.c:3)`."""
    return f" (in {place})" if place and str(place) else ""
