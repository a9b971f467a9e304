# SPDX-License-Identifier: Apache-2.0
"""Say in words what a structure's figures show and what to do about it.

Written for a reader who has never tuned for NUMA. The rules follow from where the kernel puts
pages: on the memory node of the CPU that touches a page first, unless told otherwise.
"""

from __future__ import annotations

from numascape.analysis.facts import Facts
from numascape.analysis.ownership import Owner
from numascape.report.data import Reading
from numascape.report.setting import Setting

SERIAL = 0.8
"""One thread touched (nearly) everything first from this share of the pages on."""
FOREIGN = 0.5
"""Others' accesses matter from this share on."""
SPLIT = 0.75
"""Mean share of a page's busiest thread from which a structure counts as split among threads."""
MOSTLY = 0.5
"""From this share on, a place in the source is worth naming."""
MINOR = 0.01
"""Below this share of the run's accesses a structure is not worth the reader's time."""


def read_structure(facts: Facts, run_accesses: int, setting: Setting | None = None) -> Reading:
    """Describe one structure; ``run_accesses`` is the number of accesses of the whole run."""
    setting = setting or Setting()
    if facts.accesses == 0:
        return Reading(("No access to it was counted.",), (), 0, "")
    if facts.threads == 1:
        reading = _one_thread(facts)
    elif facts.busiest_share >= SPLIT:
        reading = _mainly_one_thread(facts)
    else:
        see = [_who_uses(facts)]
        if facts.first_toucher is not None:
            see.append(_who_touched(facts))
        advice, verdict, stake = _advice(facts)
        reading = Reading(tuple(see), tuple(advice), stake, verdict)
    share = facts.accesses / run_accesses if run_accesses else 0.0
    return _in_setting(reading, facts, share, setting)


def _in_setting(reading: Reading, facts: Facts, share: float, setting: Setting) -> Reading:
    """Add what the surroundings tell, and leave out advice that nobody could follow."""
    # What is seen last is the reason for the advice.
    see = [*reading.see[:1], *_surroundings(facts, setting), *reading.see[1:]]
    advice, stake = reading.advice, reading.stake
    if setting.owner is Owner.RUNTIME:
        advice = ("Memory of a library's own: nothing in the program's source decides on it.",)
        stake = 0
    elif setting.owner is Owner.STACK:
        stake = stake if facts.own_share < 1 - FOREIGN else 0
        advice = _STACK_OF_ALL if stake else _STACK
    if stake and share < MINOR:
        advice = (f"Only {percent(share)} of the run's accesses go here: look elsewhere first.",)
        stake = 0
    if stake and setting.nodes == 1:
        advice = (
            *advice,
            "This machine has one node, so everything is local here. On a machine with several, up "
            f"to {percent(stake / facts.accesses)} of the accesses would go to another node.",
        )
    return Reading(tuple(see), advice, stake, reading.verdict)


_STACK = ("A thread's stack is near the CPU on which the thread started: nothing to do.",)
_STACK_OF_ALL = (
    "Other threads use variables on this stack. Give each thread a copy of what it only reads "
    "(firstprivate in OpenMP), and put large arrays on the heap, initialised by their users.",
)


def _surroundings(facts: Facts, setting: Setting) -> list[str]:
    sentences = []
    if setting.used_at is not None and setting.used_at[1] >= MOSTLY:
        where, share = setting.used_at
        sentence = f"{percent(share)} of its accesses come from {where}."
        sentences.append(sentence[:1].upper() + sentence[1:])
    if setting.remote is not None and setting.nodes > 1 and facts.accesses:
        sentences.append(
            f"In this run, {percent(setting.remote)} of its accesses went to another node."
            if setting.remote > 0
            else "In this run, all of its accesses stayed on their node."
        )
    return sentences


def _mainly_one_thread(facts: Facts) -> Reading:
    thread, others = facts.busiest_thread, facts.threads - 1
    rest = percent(1 - facts.busiest_share)
    who = (
        f"{facts.threads} threads use it, but thread {thread} makes "
        f"{percent(facts.busiest_share)} of the accesses"
    )
    if others == 1:
        who += f", the other {rest}."
    elif facts.others_dominance >= SPLIT:
        who += f"; the others make {rest}, each mainly on pages of its own."
    else:
        who += f"; the {others} others make {rest}, several of them on each page."
    see, advice, stake, verdict = [who], ["Nothing to gain."], 0, "mainly one thread"
    if facts.first_toucher is None:
        return Reading(tuple(see), tuple(advice), stake, verdict)
    see.append(_who_touched(facts))
    stake = round((1 - facts.own_share) * facts.accesses)
    if facts.own_share < 1 - FOREIGN:
        advice = [f"Let thread {thread} initialise it, so that the pages are near it."]
        verdict = "first touch elsewhere"
    elif stake:
        advice = [
            f"If thread {thread} only initialises or checks it, look at the phase in which the "
            "others work: let them initialise it, with the division of work that they have there."
        ]
    return Reading(tuple(see), tuple(advice), stake, verdict)


def percent(share: float) -> str:
    """Format a share for a sentence: never 0 % for something, never 100 % for less than all."""
    if share >= 1 or share <= 0:
        return f"{share * 100:.0f} %"
    if share > 0.995:
        return "over 99 %" if share < 0.9995 else "nearly 100 %"
    if share >= 0.01:
        return f"{share * 100:.0f} %"
    return f"{share * 100:.2g} %" if share >= 0.0001 else "under 0.01 %"


def _one_thread(facts: Facts) -> Reading:
    thread = facts.busiest_thread
    see = [f"Only thread {thread} uses it: {counted(facts.accesses, 'access')}."]
    advice = ["Nothing is shared here."]
    stake = 0
    verdict = "one thread"
    if facts.first_toucher is not None and facts.first_toucher != thread:
        see.append(
            f"Thread {facts.first_toucher} touched {percent(facts.first_toucher_share)} of its "
            f"pages first{_at(facts)}."
        )
        if facts.own_share < 1 - FOREIGN:
            advice = [f"Let thread {thread} initialise it, so that the pages are near it."]
            stake = round((1 - facts.own_share) * facts.accesses)
            verdict = "first touch elsewhere"
    return Reading(tuple(see), tuple(advice), stake, verdict)


def _who_uses(facts: Facts) -> str:
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


def _who_touched(facts: Facts) -> str:
    others = facts.threads - 1 if facts.first_toucher_accesses > 0 else facts.threads
    toucher = f"Thread {facts.first_toucher}"
    sentence = (
        f"{toucher} touched {percent(facts.first_toucher_share)} of the pages first{_at(facts)}"
    )
    if facts.first_toucher_share >= SERIAL and facts.first_toucher_accesses < 1 - FOREIGN:
        plural = "another thread makes" if others == 1 else f"{others} other threads make"
        return (
            f"{sentence}, but {plural} {percent(1 - facts.first_toucher_accesses)} of the accesses."
        )
    if facts.own_share >= SPLIT:
        return (
            f"{percent(facts.own_share)} of the accesses come from the thread that touched the "
            "page first."
        )
    return (
        f"{percent(1 - facts.own_share)} of the accesses come from other threads than the one that "
        "touched the page first."
    )


def _advice(facts: Facts) -> tuple[list[str], str, int]:
    foreign = round((1 - facts.own_share) * facts.accesses)
    serial = facts.first_toucher is not None and facts.first_toucher_share >= SERIAL
    split = facts.dominance >= SPLIT
    if facts.first_toucher is None:
        foreign, serial = 0, False
    if split and facts.own_share >= SPLIT:
        return (
            ["Well placed: keep each thread on the CPUs where it started (pin the threads)."],
            "split, near",
            0,
        )
    if split and facts.first_toucher is not None:
        loop = (
            "Initialise it in parallel, with the same division of work as the loop that uses it: "
            "then each thread touches its own pages first and the kernel puts them on its node."
        )
        pin = "Pin the threads, so that they stay near their pages."
        return [loop, pin], "serial first touch" if serial else "touched by others", foreign
    if split:
        return ["Pin the threads, so that they stay near their pages."], "split", 0
    if facts.dominance <= 2 / facts.threads:
        return _shared_by_all(facts, serial, foreign)
    advice = [
        "Pages are used by several threads each. Give each thread one contiguous part of the work "
        "(a static schedule, blocks instead of single iterations), so that a page has one user; "
        "then initialise in parallel with the same division.",
        "Where that cannot be done, put the threads that share pages on one node.",
    ]
    return advice, "mixed", foreign


def _shared_by_all(facts: Facts, serial: bool, foreign: int) -> tuple[list[str], str, int]:
    spread = (
        "No single node is right for a page that all threads use. Interleave its pages over the "
        "nodes (numactl --interleave=all for the whole program, or mbind for this structure), so "
        "that no memory controller becomes the bottleneck."
    )
    if facts.writes * 100 <= facts.reads:
        other = "It is hardly ever written: a copy per node makes every access local."
    else:
        other = (
            "Better: change the loop so that each thread works on its own contiguous part "
            "(blocks, a static schedule), and initialise it in parallel the same way."
        )
    return [spread, other], "serial, shared by all" if serial else "shared by all", foreign


def _at(facts: Facts) -> str:
    function, file, line = facts.place
    where = f"{file.rsplit('/', 1)[-1]}:{line}" if file and line else ""
    if function and where:
        return f" (in {function}, {where})"
    return f" ({function or where})" if function or where else ""


def counted(number: int, noun: str) -> str:
    """Format a count with its noun: 1 access, 12 300 accesses, 4.1 billion accesses."""
    plural = noun if number == 1 else noun + ("es" if noun.endswith("s") else "s")
    for size, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if number >= size:
            return f"{number / size:.3g} {word} {plural}"
    return f"{number:,}".replace(",", "\u202f") + f" {plural}"
