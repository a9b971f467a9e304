# SPDX-License-Identifier: Apache-2.0
"""Groups findings of the same kind at the same place in the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numascape.findings.finding import LINES_TRAVEL, Finding, Gain, Kind
from numascape.findings.gain import by_cause, joint_gain
from numascape.findings.subject import Run
from numascape.quantities import percent, share_of
from numascape.trace.counting import only_touches


@dataclass(frozen=True)
class Group:
    """Findings of one kind with one responsible place, most important first.

    `share` is the part of the run's accesses that could become local; `gain` is the predicted
    saving when all of their advice is followed.
    """

    findings: tuple[Finding, ...]
    share: float
    gain: Gain | None
    of_touches: bool = False
    """Whether the accesses are first touches, one for each page."""
    all_local: bool = False
    """Whether all accesses are local on the machine, so that placement matters only on others."""

    @property
    def first(self) -> Finding:
        """The most important finding, which represents the group."""
        return self.findings[0]

    @property
    def weight(self) -> float:
        """The rank of the group: its predicted gain, or the share that could become local."""
        return self.gain.share if self.gain else self.share

    @property
    def kind(self) -> Kind:
        """The kind of all findings in the group."""
        return self.first.kind


def group_findings(run: Run, found: Sequence[Finding]) -> list[Group]:
    """Return the findings in groups: largest gain first, those without a fix last."""
    made = [
        Group(
            members,
            min(1.0, share_of(sum(finding.nearer for finding in members), run.accesses)),
            joint_gain(run, members),
            only_touches(run.trace),
            run.nodes is None,
        )
        for members in by_cause(found)
    ]
    predicted = run.nodes is not None

    def order(group: Group) -> tuple[bool, bool, float]:
        return not group.first.to_do, predicted and group.gain is None, -group.weight

    return sorted(made, key=order)


def stake_of(group: Group) -> tuple[str, str]:
    """The number that shows the importance of the group, and its label."""
    if not group.first.to_do:
        return "", ""
    gain = group.gain
    if gain is not None:
        low, high = (percent(max(end, 0.0)) for end in sorted((gain.low, gain.high)))
        # The interval has no meaning beside a bound, or if both of its ends read the same.
        around = "" if gain.at_most or low == high else f" ({low} to {high})"
        return gain.saved, (
            f"of the run time saved, predicted for {gain.machine}{around}"
            + (f". {gain.limited}" if gain.limited else "")
        )
    if group.of_touches:
        return percent(group.share), "of touched pages (accesses were not recorded)"
    if group.kind in LINES_TRAVEL:
        return percent(group.share), "of accesses use a cache line that other threads write"
    if group.kind is Kind.LOAD_IMBALANCE:
        return percent(group.share), "of accesses are made while other threads wait"
    if group.all_local:
        label = "of accesses could become local on a machine with CPUs on several nodes"
        return percent(group.share), label
    return percent(group.share), ("of accesses could become local (not an estimate of time saved)")
