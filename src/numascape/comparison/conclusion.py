# SPDX-License-Identifier: Apache-2.0
"""The conclusion of a comparison in one sentence, and reasons why the runs are less comparable.

The terminal, the JSON document and the page take both from here.
"""

from __future__ import annotations

from numascape.comparison.change import Comparison
from numascape.comparison.measures import RunMeasures
from numascape.findings import Finding
from numascape.quantities import counted, share_text

_KINDS = 3
"""Maximum number of kinds of findings that the sentence names."""
_EQUAL = 0.0005
"""Shares that differ by less are printed alike."""


def conclusion(comparison: Comparison) -> str:
    """The change of the remote share (with one node: of the foreign share), and of the findings."""
    return f"{_share_sentence(comparison)} {_findings_sentence(comparison)}"


def cautions(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for each difference between the conditions of the two runs."""
    before, after = comparison.before, comparison.after
    found = []
    if before.counts != after.counts:
        found.append(
            f"The first trace counts {before.counts}, the second one {after.counts}: "
            "compare shares, not numbers."
        )
    for which, run in (("first", before), ("second", after)):
        if run.counted_share < 1.0:
            found.append(
                f"The {which} trace has estimates from {share_text(run.counted_share)} of the "
                f"work. Its number of all accesses is right within {share_text(run.estimate_error)}"
                ", and those of structures have larger errors. Smaller changes may be chance."
            )
    if before.threads != after.threads:
        found.append(
            f"The first run has {counted(before.threads, 'thread')}, the second one "
            f"{counted(after.threads, 'thread')}: threads are compared by their numbers."
        )
    if before.machine != after.machine:
        found.append(f"The first run was on {before.machine}, the second one on {after.machine}.")
    if (one_sided := _one_sided(comparison)) and sum(one_sided):
        found.append(
            f"{counted(one_sided[0], 'structure')} of the first run and "
            f"{counted(one_sided[1], 'structure')} of the second one have no counterpart."
        )
    return tuple(found)


def several_nodes(comparison: Comparison) -> bool:
    """Whether one of the runs had several nodes, so that the node of a page matters."""
    nodes = {
        node
        for change in comparison.structures
        for side in (change.before, change.after)
        if side is not None
        for node in side.nodes
    }
    return len(nodes) > 1


def _share_sentence(comparison: Comparison) -> str:
    runs = comparison.before, comparison.after
    if several_nodes(comparison):
        sentence = _moved("remote share", *(run.remote_share for run in runs))
        if sentence:
            return sentence
    return _moved("foreign share", *(run.foreign_share for run in runs)) or _unknown(*runs)


def _moved(what: str, before: float | None, after: float | None) -> str:
    """A sentence on how a share changed; empty if the share is unknown in one of the runs."""
    if before is None or after is None:
        return ""
    if abs(after - before) < _EQUAL:
        return f"The {what} of the accesses stays at {share_text(after)}."
    verb = "falls" if after < before else "rises"
    return f"The {what} of the accesses {verb} from {share_text(before)} to {share_text(after)}."


def _unknown(before: RunMeasures, after: RunMeasures) -> str:
    which = [
        name for name, run in (("first", before), ("second", after)) if run.foreign_share is None
    ]
    return (
        f"In the {' and the '.join(which)} trace, it is unknown which accesses go to pages of "
        "other threads."
    )


def _findings_sentence(comparison: Comparison) -> str:
    changed = (("Gone", comparison.gone), ("New", comparison.new))
    sentences = [f"{title}: {_kinds(findings)}." for title, findings in changed if findings]
    if sentences:
        return " ".join(sentences)
    return "The findings are the same." if comparison.kept else "Neither run has findings."


def _kinds(findings: tuple[Finding, ...]) -> str:
    """The kinds of findings, each with the number of its structures."""
    structures: dict[str, int] = {}
    for finding in findings:
        kind = finding.kind.value
        structures[kind] = structures.get(kind, 0) + bool(finding.name)
    named = [
        f"{kind} ({counted(number, 'structure')})" if number else kind
        for kind, number in structures.items()
    ]
    rest = len(named) - _KINDS
    return ", ".join(named[:_KINDS]) + (f" and {counted(rest, 'other kind')}" if rest > 0 else "")


def _one_sided(comparison: Comparison) -> tuple[int, int]:
    """The structures with a relevant share that only the first, and only the second run has."""
    only = [
        change.after is None
        for change in comparison.structures
        if None in (change.before, change.after) and change.share >= _RELEVANT
    ]
    return only.count(True), only.count(False)


_RELEVANT = 0.01
"""At or above this share of the accesses, a structure without counterpart gets a sentence."""
