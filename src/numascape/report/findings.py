# SPDX-License-Identifier: Apache-2.0
"""The findings for the report's first panel."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from numascape.analysis.text import short_printable
from numascape.findings.finding import Finding
from numascape.findings.groups import Group, group_findings, stake_of
from numascape.findings.subject import Run
from numascape.findings.wording import number_text
from numascape.report.data import FindingCard

CARDS = 40
"""Maximum number of cards of a report; these are the most important ones."""
POSITIONS = 64
"""Maximum number of structures that a card names."""


def finding_cards(
    run: Run, found: Sequence[Finding], position: pl.Series
) -> tuple[FindingCard, ...]:
    """The cards of the findings about a run, most important first.

    `position`: by structure in the trace, its position in the report, or null.
    """
    return tuple(_card(group, position) for group in group_findings(run, found)[:CARDS])


def _card(group: Group, position: pl.Series) -> FindingCard:
    first = group.first
    number, label = stake_of(group)
    structures = [f.structure for f in group.findings if f.structure is not None]
    shown = [position[structure] for structure in structures]
    return FindingCard(
        kind=group.kind.value,
        positions=tuple(int(p) for p in shown if p is not None)[:POSITIONS],
        structures=len(structures),
        to_do=first.to_do,
        number=number,
        label=short_printable(label),
        why=short_printable(first.why),
        advice=tuple(short_printable(sentence) for sentence in first.advice),
        evidence=tuple((e.what, number_text(e.value, e.unit)) for e in first.evidence),
        figure=first.figure.value,
        confidence=round(first.confidence, 2),
        place=short_printable(str(first.place or "")),
    )
