# SPDX-License-Identifier: Apache-2.0
"""Findings that are one and the same for a reader: same kind, same place in the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numascape.findings.finding import Finding, Gain, Kind
from numascape.findings.wording import percent


@dataclass(frozen=True)
class Group:
    """Findings of one kind with one responsible place, most important first.

    `share` is the part of the run's accesses that could come nearer; `gain` what following all of
    their advice is predicted to save.
    """

    findings: tuple[Finding, ...]
    share: float
    gain: Gain | None

    @property
    def first(self) -> Finding:
        """The most important one; it speaks for all."""
        return self.findings[0]

    @property
    def kind(self) -> Kind:
        """The kind of all."""
        return self.first.kind


def grouped(found: Sequence[Finding], accesses: int) -> list[Group]:
    """The findings in groups, in their order; `accesses` are the run's."""
    groups: dict[object, list[Finding]] = {}
    for finding in found:
        where = (finding.place.file, finding.place.line) if finding.place else None
        key = (finding.kind, where) if finding.to_do else finding.kind
        groups.setdefault((key, finding.structure is None), []).append(finding)
    return [
        Group(
            tuple(members),
            min(1.0, sum(finding.nearer for finding in members) / max(1, accesses)),
            _together([finding.gain for finding in members]),
        )
        for members in groups.values()
    ]


def _together(gains: Sequence[Gain | None]) -> Gain | None:
    """Savings of different structures add up, as long as something is left to save."""
    known = [gain for gain in gains if gain is not None]
    if not known:
        return None
    share, low, high = (
        min(0.99, sum(getattr(gain, name) for gain in known)) for name in ("share", "low", "high")
    )
    return Gain(share, low, high, known[0].limit, known[0].machine)


def stake_of(group: Group) -> tuple[str, str]:
    """The number that says how much is at stake, and what it is a number of."""
    if not group.first.to_do:
        return "", ""
    gain = group.gain
    if gain is not None:
        low, high = sorted((max(gain.low, 0.0), max(gain.high, 0.0)))
        return percent(max(gain.share, 0.0)), (
            f"of the time predicted to be saved on {gain.machine} "
            f"({percent(low)} to {percent(high)})"
        )
    if group.kind is Kind.UNEVEN_WORK:
        return percent(group.share), "of all accesses are made while other threads wait"
    return percent(group.share), (
        "of all accesses could come nearer to their threads (no prediction of time)"
    )
