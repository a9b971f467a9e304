# SPDX-License-Identifier: Apache-2.0
"""Turns a structure's findings into the report's text: what its figures show, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numascape.analysis.facts import Facts
from numascape.analysis.ownership import Owner
from numascape.findings.description import who_uses
from numascape.findings.finding import Finding
from numascape.findings.first_touches import read_first_touches
from numascape.findings.sample_sizes import MIN_SAMPLES_OF_STRUCTURE
from numascape.findings.subject import Run, Subject
from numascape.findings.thresholds import MIN_FOREIGN_SHARE, MIN_STRUCTURE_SHARE
from numascape.quantities import counted, percent, share_of
from numascape.trace.counting import knows_threads, samples_are_faults, structure_error


@dataclass(frozen=True)
class Reading:
    """Text on what a structure's figures show (``see``) and what to do (``advice``)."""

    see: tuple[str, ...]
    advice: tuple[str, ...]
    verdict: str
    """The kind of the most important finding, for the table of structures; may be empty."""


UNUSED = Reading(("No access to it was counted.",), (), "")


def reading_of(run: Run, structure: int, found: Sequence[Finding]) -> Reading:
    """The text about one structure; `found` are the run's findings."""
    facts = run.facts.get(structure)
    counts = run.trace.info.recorder.counts
    if facts is None or facts.accesses == 0:
        return UNUSED
    if counts == "first touches":
        placed = run.pages_by_node.get(structure, {})
        return Reading(*read_first_touches(facts, run.owners[structure], placed))
    if counts == "samples":
        note = _how_exact(run, structure, facts.accesses)
        if not knows_threads(run.trace):
            return Reading((note, "Which threads use it is not known."), (), "")
        subject = run.subject(structure)
        if subject is None or facts.accesses < MIN_SAMPLES_OF_STRUCTURE:
            few = "They are too few to say which threads use it."
            return Reading((note, few), (), "")
        # Counts on single pages, each with few samples, show too few users of a page.
        use = subject.use
        facts = replace(facts, dominance=use.dominance, threads_per_page=use.users_per_page)
        reading = _read(run, structure, facts, found)
        return replace(reading, see=(note, *reading.see))
    return _read(run, structure, facts, found)


def _how_exact(run: Run, structure: int, samples: int) -> str:
    if samples_are_faults(run.trace.info.recorder):
        faults = counted(samples, "page fault")
        return f"Counted: {faults}, which do not show how much it is used afterwards."
    error = percent(structure_error(run.trace, structure))
    return f"Estimated from {counted(samples, 'sample')}: its shares are within {error}."


def _read(run: Run, structure: int, facts: Facts, found: Sequence[Finding]) -> Reading:
    own = [finding for finding in found if finding.structure == structure]
    subject = run.subject(structure)
    see = [who_uses(facts), *(_surroundings(subject) if subject else ())]
    see += [finding.why for finding in own]
    if own:
        return Reading(
            tuple(see), tuple(a for finding in own for a in finding.advice), own[0].kind.value
        )
    verdict = "one thread" if facts.threads == 1 else ""
    return Reading(tuple(see), _without_finding(run, structure, facts), verdict)


def _without_finding(run: Run, structure: int, facts: Facts) -> tuple[str, ...]:
    owner = run.owners[structure]
    if owner is Owner.RUNTIME:
        return (
            "A library allocated this memory for itself. The program's source cannot change it.",
        )
    if owner is Owner.STACK:
        return ("A thread's stack is near the CPU on which the thread started: nothing to do.",)
    share = share_of(facts.accesses, run.accesses)
    if (
        share < MIN_STRUCTURE_SHARE
        and facts.threads > 1
        and facts.own_share < 1 - MIN_FOREIGN_SHARE
    ):
        return (
            f"Only {percent(share)} of the run's accesses go here: check other structures first.",
        )
    if facts.threads == 1:
        return ("Nothing is shared here.",)
    return ("Nothing to gain.",)


def _surroundings(subject: Subject) -> list[str]:
    sentences = []
    place = subject.used_at
    if place is not None and place.share >= MIN_FOREIGN_SHARE:
        sentence = f"{percent(place.share)} of its accesses come from {place}."
        sentences.append(sentence[:1].upper() + sentence[1:])
    if subject.remote is not None and subject.run.nodes and subject.run.nodes.observed:
        sentences.append(
            f"In this run, {percent(subject.remote)} of the work on it went to another node."
            if subject.remote > 0
            else "In this run, all of the work on it stayed on its node."
        )
    return sentences
