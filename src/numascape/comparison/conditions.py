# SPDX-License-Identifier: Apache-2.0
"""Limits that a change must not exceed: `remote-share+5`, `accesses+10%`, `findings+0`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from numascape.comparison.change import Comparison
from numascape.comparison.measures import RunMeasures
from numascape.errors import NumascapeError
from numascape.quantities import grouped_digits, share_text

_CONDITION: Final = re.compile(r"([a-z-]+?)\+([0-9]{1,12}(?:\.[0-9]{1,6})?)(%?)")

Measure = Callable[[RunMeasures], "float | None"]

SHARES: Final[dict[str, Measure]] = {
    "remote-share": lambda run: run.remote_share,
    "foreign-share": lambda run: run.foreign_share,
    "busiest-node-share": lambda run: run.busiest_node_share,
}
"""Shares of the accesses: +N means N percentage points."""
COUNTS: Final[dict[str, Measure]] = {
    "accesses": lambda run: run.accesses,
    "reads": lambda run: run.reads,
    "writes": lambda run: run.writes,
    "pages": lambda run: run.pages,
    "threads": lambda run: run.threads,
}
FINDINGS: Final = "findings"
"""The number of new findings: +0 allows none."""


@dataclass(frozen=True)
class Condition:
    """Fails if `metric` rises by more than `most`: in percent, points, or as a count."""

    text: str
    metric: str
    most: float
    percent: bool

    def failure(self, comparison: Comparison) -> str | None:
        """Say by how much the condition is exceeded; None if it holds.

        Raises NumascapeError if a trace does not have the metric.
        """
        if self.metric == FINDINGS:
            new = len(comparison.new)
            return f"{new} new findings" if new > self.most else None
        before, after = (self._value(run) for run in (comparison.before, comparison.after))
        rise = after - before
        if self.percent:
            allowed = abs(before) * self.most / 100
        else:
            allowed = self.most / 100 if self.metric in SHARES else self.most
        # The tolerance is for rounding: shares are sums of floats.
        if rise <= allowed + 1e-9:
            return None
        if self.metric in SHARES:
            return f"{self.metric} rose from {share_text(before)} to {share_text(after)}"
        return f"{self.metric} rose from {grouped_digits(before)} to {grouped_digits(after)}"

    def _value(self, run: RunMeasures) -> float:
        value = {**SHARES, **COUNTS}[self.metric](run)
        if value is None:
            raise NumascapeError(
                f"{run.path} does not say on which nodes threads and pages were, and so has no "
                f"{self.metric}: record on a machine with several nodes, or leave {self.text} out"
            )
        return float(value)


def parse_condition(text: str) -> Condition:
    """The condition in a text such as `remote-share+5`; NumascapeError says what is wrong."""
    metrics = (*SHARES, *COUNTS, FINDINGS)
    match = _CONDITION.fullmatch(text.strip())
    if match is None:
        raise NumascapeError(
            f"{text[:60]!r} is not a condition: write METRIC+N or METRIC+N%, such as remote-share+5"
        )
    metric, most, percent = match.groups()
    if metric not in metrics:
        raise NumascapeError(f"there is no metric {metric!r}: choose one of {', '.join(metrics)}")
    if metric == FINDINGS and percent:
        raise NumascapeError(f"{FINDINGS} are counted: write {FINDINGS}+{most}")
    return Condition(text.strip(), metric, float(most), bool(percent))
