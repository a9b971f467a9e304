# SPDX-License-Identifier: Apache-2.0
"""Describes what a structure's first touches show, without counts of accesses."""

from __future__ import annotations

from collections.abc import Mapping

from numascape.analysis.facts import Facts
from numascape.analysis.ownership import Owner
from numascape.findings.thresholds import MIN_SERIAL_SHARE
from numascape.quantities import counted, percent

_Sentences = tuple[str, ...]


def read_first_touches(
    facts: Facts, owner: Owner, pages_by_node: Mapping[int, int]
) -> tuple[_Sentences, _Sentences, str]:
    """Return what the first touches show, what to do, and a short form of both.

    ``pages_by_node`` is the number of its pages on each node.
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
    if facts.first_toucher_share >= MIN_SERIAL_SHARE:
        advice = (
            "If several threads use it afterwards, initialise it in these threads, with the same "
            "division of work. The pages of each thread are then on its node. To see which threads "
            "use it, record accesses (numascape record without --recorder faults).",
        )
        return tuple(see), advice, "first touch by one thread"
    advice = (
        "Several threads initialised it. Pin the threads, and check that the loops that use it "
        "divide it in the same way.",
    )
    return tuple(see), advice, "touched by several"


def _where(pages_by_node: Mapping[int, int]) -> str:
    pages = sum(pages_by_node.values())
    parts = [f"node {node}: {percent(n / pages)}" for node, n in sorted(pages_by_node.items())]
    return f"Its pages were on {', '.join(parts)}."


def _at(facts: Facts) -> str:
    """The place of most first touches, in brackets after a space; empty if unknown."""
    function, file, line = facts.place
    where = f"{file.rsplit('/', 1)[-1]}:{line}" if file and line else ""
    words = ", ".join(word for word in (f"in {function}" if function else "", where) if word)
    return f" ({words})" if words else ""
