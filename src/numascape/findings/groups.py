# SPDX-License-Identifier: Apache-2.0
"""Findings that are one and the same for a reader: same kind, same place in the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numascape.findings.finding import Finding, Gain, Kind
from numascape.findings.gain import joint_gain
from numascape.findings.subject import Run
from numascape.findings.wording import percent
from numascape.trace.counting import only_touches


@dataclass(frozen=True)
class Group:
    """Findings of one kind with one responsible place, most important first.

    `share` is the part of the run's accesses that could come nearer; `gain` what following all of
    their advice is predicted to save.
    """

    findings: tuple[Finding, ...]
    share: float
    gain: Gain | None
    of_touches: bool = False
    """Whether the accesses are first touches, one for each page."""

    @property
    def first(self) -> Finding:
        """The most important one; it speaks for all."""
        return self.findings[0]

    @property
    def weight(self) -> float:
        """What ranks it: its predicted gain, or the share that could come nearer."""
        return self.gain.share if self.gain else self.share

    @property
    def kind(self) -> Kind:
        """The kind of all."""
        return self.first.kind


def grouped(run: Run, found: Sequence[Finding]) -> list[Group]:
    """The findings about a run in groups, most gain first; what is well as it is last."""
    groups: dict[object, list[Finding]] = {}
    for finding in found:
        where = (finding.place.file, finding.place.line) if finding.place else None
        key = (finding.kind, where) if finding.to_do else finding.kind
        groups.setdefault((key, finding.structure is None), []).append(finding)
    made = [
        Group(
            tuple(members),
            min(1.0, sum(finding.nearer for finding in members) / max(1, run.accesses)),
            joint_gain(run, members),
            only_touches(run.trace),
        )
        for members in groups.values()
    ]
    predicted = run.nodes is not None

    def order(group: Group) -> tuple[bool, bool, float]:
        return not group.first.to_do, predicted and group.gain is None, -group.weight

    return sorted(made, key=order)


def stake_of(group: Group) -> tuple[str, str]:
    """The number that says how much is at stake, and what it is a number of."""
    if not group.first.to_do:
        return "", ""
    gain = group.gain
    if gain is not None:
        low, high = sorted((max(gain.low, 0.0), max(gain.high, 0.0)))
        return percent(max(gain.share, 0.0)), (
            f"of the time saved, as predicted for {gain.machine} "
            f"({percent(low)} to {percent(high)})"
        )
    if group.of_touches:
        return percent(group.share), "of the pages touched (accesses were not recorded)"
    if group.kind is Kind.UNEVEN_WORK:
        return percent(group.share), "of all accesses are made while other threads wait"
    return percent(group.share), (
        "of all accesses could come nearer to their threads (no prediction of time)"
    )
