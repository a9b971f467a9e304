# SPDX-License-Identifier: Apache-2.0
"""Say what a structure's first touches alone show: there are no counts of accesses."""

from __future__ import annotations

from collections.abc import Mapping

from numascape.analysis.facts import Facts
from numascape.analysis.ownership import Owner
from numascape.findings.wording import counted, percent

SERIAL = 0.8
"""One thread touched (nearly) everything from this share of the pages on."""

_Sentences = tuple[str, ...]


def read_first_touches(
    facts: Facts, owner: Owner, pages_by_node: Mapping[int, int]
) -> tuple[_Sentences, _Sentences, str]:
    """What is seen of who touched a structure first, what to do, and that in a few words.

    ``pages_by_node`` says where its pages were.
    """
    if facts.first_toucher is None:
        return ("No first touch of it was recorded.",), (), ""
    who = (
        f"Thread {facts.first_toucher} touched {percent(facts.first_toucher_share)} of its "
        f"{counted(facts.first_touched_pages, 'page')} first{_at(facts)}"
    )
    rest = facts.threads - 1
    others = "" if rest <= 0 else f"; {rest} other thread{'s' if rest > 1 else ''} touched the rest"
    see = [f"{who}{others}."]
    if len(pages_by_node) > 1:
        see.append(_where(pages_by_node))
    if owner is Owner.RUNTIME:
        return tuple(see), (), ""
    if facts.first_toucher_share >= SERIAL:
        advice = (
            "If several threads use it afterwards, let them initialise it, with the division of "
            "work of the loops that use it: then each one's pages are on its node. Who uses it, "
            "the recorders that count accesses tell (numascape record without --recorder faults).",
        )
        return tuple(see), advice, "touched by one thread"
    advice = (
        "Several threads initialised it. Pin the threads, and see that the loops that use it "
        "divide it in the same way.",
    )
    return tuple(see), advice, "touched by several"


def _where(pages_by_node: Mapping[int, int]) -> str:
    pages = sum(pages_by_node.values())
    parts = [f"node {node}: {percent(n / pages)}" for node, n in sorted(pages_by_node.items())]
    return f"Its pages were on {', '.join(parts)}."


def _at(facts: Facts) -> str:
    """Where most pages were touched first, in brackets after a space; empty when unknown."""
    function, file, line = facts.place
    where = f"{file.rsplit('/', 1)[-1]}:{line}" if file and line else ""
    words = ", ".join(word for word in (f"in {function}" if function else "", where) if word)
    return f" ({words})" if words else ""
