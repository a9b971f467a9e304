# SPDX-License-Identifier: Apache-2.0
"""Predicts the gain of each finding's fixes, and puts the best one first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache

from numascape.findings.finding import Finding, Fix, Gain, Remedy
from numascape.findings.remedies import Policy, RemediedRun
from numascape.findings.subject import Run
from numascape.findings.thresholds import MIN_GAIN
from numascape.trace.counting import only_touches


def by_cause(found: Sequence[Finding]) -> list[tuple[Finding, ...]]:
    """The findings in groups of the same kind at the same source line, in order of appearance.

    Findings without a fix are grouped by kind alone.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in found:
        where = (finding.place.file, finding.place.line) if finding.place else None
        key = (finding.kind, where) if finding.to_do else finding.kind
        groups.setdefault((key, finding.structure is None), []).append(finding)
    return [tuple(members) for members in groups.values()]


def with_gains(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """The findings with the predicted gains of their fixes, if nodes are known; the best fix first.

    Findings with the same cause get the same order. Fallbacks that are not better are left out.
    """
    if run.nodes is None:
        return without_gains(found)
    predicted: dict[int, Finding] = {}
    for members in by_cause(found):
        best = _best_remedy(run, members)
        for finding in members:
            predicted[id(finding)] = _with_gains(run, _in_order(finding, best), members)
    return [predicted[id(finding)] for finding in found]


def without_gains(found: Sequence[Finding]) -> list[Finding]:
    """The findings with their fixes in the order of the diagnosis, without fallbacks."""
    return [_in_order(finding, Remedy.NONE) for finding in found]


def joint_gain(run: Run, found: Sequence[Finding]) -> Gain | None:
    """The gain of the advised fix of all of these findings together; they have the same one."""
    remedy = found[0].remedy
    if run.nodes is None or only_touches(run.trace):
        return None
    if remedy is Remedy.NONE:
        return _sum([finding.gain for finding in found])
    return remedied_run(run).gain(found, remedy)


def _sum(gains: Sequence[Gain | None]) -> Gain | None:
    """The gain of fixes that place nothing, and so were predicted one by one."""
    known = [gain for gain in gains if gain is not None]
    if not known:
        return None
    return dataclasses.replace(
        known[0],
        share=sum(gain.share for gain in known),
        low=sum(gain.low for gain in known),
        high=min(1.0, sum(gain.high for gain in known)),
    )


def seconds_now(run: Run) -> float | None:
    """The predicted time of the run as it is; None if no nodes are known."""
    if run.nodes is None or only_touches(run.trace):
        return None
    return remedied_run(run).now.seconds


def best_policy(run: Run) -> Policy | None:
    """The fastest placement that needs no change to the program; None if no nodes are known."""
    if run.nodes is None or only_touches(run.trace):
        return None
    return remedied_run(run).best_policy()


@lru_cache(maxsize=1)
def remedied_run(run: Run) -> RemediedRun:
    """Predicts the run with remedies, on its nodes, which must be known."""
    assert run.nodes is not None
    return RemediedRun(run, run.nodes)


def _best_remedy(run: Run, members: Sequence[Finding]) -> Remedy:
    """The remedy that saves most; the first one unless another is clearly better.

    Divided work is never preferred to another remedy: its gain is an upper bound.
    """
    first = members[0].remedy
    others = {fix.remedy for fix in members[0].fixes} - {Remedy.NONE, Remedy.DIVIDED, first}
    if first in (Remedy.NONE, Remedy.DIVIDED) or not others:
        return first
    gains = {remedy: remedied_run(run).gain(members, remedy).share for remedy in others}
    best = max(sorted(others, key=lambda remedy: remedy.value), key=lambda remedy: gains[remedy])
    return best if gains[best] > remedied_run(run).gain(members, first).share + MIN_GAIN else first


def _in_order(finding: Finding, best: Remedy) -> Finding:
    """The finding with the fix `best` first, and without other fallbacks."""
    kept = [fix for fix in finding.fixes if not fix.fallback or fix.remedy is best]
    kept.sort(key=lambda fix: best is Remedy.NONE or fix.remedy is not best)
    return dataclasses.replace(finding, fixes=tuple(kept))


def _with_gains(run: Run, finding: Finding, members: Sequence[Finding]) -> Finding:
    """The finding with the gains of its fixes.

    The gain of the advised fix is for this finding alone, those of other fixes for all `members`.
    """
    fixes = []
    for fix in finding.fixes:
        if fix.remedy is Remedy.NONE:
            fixes.append(fix)
        elif fix.remedy is finding.remedy:
            gain = remedied_run(run).gain([finding], fix.remedy)
            fixes.append(dataclasses.replace(fix, gain=gain))
        else:
            gain = remedied_run(run).gain(members, fix.remedy)
            text = f"{fix.text} {_saved(fix, gain, members)}"
            fixes.append(dataclasses.replace(fix, text=text, gain=gain))
    return dataclasses.replace(finding, fixes=tuple(fixes))


def _saved(fix: Fix, gain: Gain, members: Sequence[Finding]) -> str:
    """A sentence with the gain of a fix that is not the first one."""
    who = "all of them" if len(members) > 1 else members[0].name or "the run"
    divided = fix.remedy is Remedy.DIVIDED and not gain.at_most
    most = "at most " if divided else ""
    made = ", including the time to make the copies" if fix.remedy is Remedy.COPIED else ""
    return f"Predicted for {who}: {most}{gain.saved} of the run time saved{made}."
