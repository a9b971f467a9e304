# SPDX-License-Identifier: Apache-2.0
"""Threads share the pages and use some pages far more than others: split by accesses."""

from __future__ import annotations

import numpy as np

from numascape.findings.advice import interleave_if_better
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.page_use import Floats, PageUse
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    DEFAULT_CACHE_BYTES,
    MAX_HOT_SHARE,
    MIN_HOT_RATIO,
    MIN_PAGES_OF_PART,
    sureness,
)
from numascape.quantities import percent
from numascape.trace.format import PAGE_BYTES


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if subject.pattern not in (Pattern.SHARED, Pattern.GROUPS, Pattern.CHANGING):
        return None
    use, parts = subject.use, len(subject.threads)
    # The pages of several instances have no common order.
    if subject.row["instances"] != 1 or len(use.page) < MIN_PAGES_OF_PART * parts:
        return None
    pages = int(subject.row["pages"])
    heaviest = heaviest_part(use, pages, parts)
    hot = half_of_accesses(use)
    share = hot / len(use.page)
    if heaviest < MIN_HOT_RATIO or share > MAX_HOT_SHARE:
        return None
    if hot * PAGE_BYTES <= DEFAULT_CACHE_BYTES:
        return None
    fences = even_parts(use, pages, parts)
    shown = ", ".join(f"{fence:.3g}" for fence in fences[: 2 + 1])
    dots = ", ..." if parts > 2 else ""
    return Finding(
        kind=Kind.HOT_PAGES,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=(
            f"Half of the accesses go to {percent(share)} of its pages. If it is split into "
            f"{parts} parts of equal length, the busiest part has {heaviest:.1f} times the mean "
            "number of accesses."
        ),
        fixes=(
            Fix(
                f"Split it into {parts} contiguous parts with equal numbers of accesses. They end "
                f"at {shown}{dots} of its length (full list: `--json`). Give one part to each "
                "thread, or bind the parts to the nodes in order (policy `parts` of a plan).",
                Remedy.EVEN_PARTS,
            ),
            interleave_if_better(subject),
        ),
        evidence=(
            Evidence("pages that have half of the accesses", share, "share"),
            Evidence("busiest of the parts of equal length, over the mean", heaviest, "times"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(heaviest, MIN_HOT_RATIO, 2 * MIN_HOT_RATIO),
        place=subject.used_at,
        nearer=round((1 - 1 / heaviest) * subject.foreign),
        even_parts=fences,
    )


def heaviest_part(use: PageUse, pages: int, parts: int) -> float:
    """The accesses to the heaviest of equally long contiguous parts, relative to the mean."""
    at, running = _running(use, pages)
    fences = np.interp(np.linspace(0.0, 1.0, parts + 1), at, running)
    sums = np.diff(fences)
    return float(sums.max() / sums.mean())


def even_parts(use: PageUse, pages: int, parts: int) -> tuple[float, ...]:
    """The boundaries of contiguous parts with equal accesses, as fractions from 0 to 1."""
    at, running = _running(use, pages)
    wanted = np.linspace(0.0, running[-1], parts + 1)[1:-1]
    # The running sum is constant on unused pages, but must rise to be inverted.
    rising = np.concatenate([[True], np.diff(running) > 0])
    return (0.0, *np.interp(wanted, running[rising], at[rising]).tolist(), 1.0)


def half_of_accesses(use: PageUse) -> int:
    """The smallest number of pages that have half of the accesses."""
    running = np.cumsum(np.sort(use.weight)[::-1])
    return int(np.searchsorted(running, running[-1] / 2)) + 1


def _running(use: PageUse, pages: int) -> tuple[Floats, Floats]:
    """Positions in the structure, from 0 to 1, and the sum of the accesses before each."""
    ends = np.stack([use.page, use.page + 1], axis=1).ravel() / max(pages, int(use.page[-1]) + 1)
    sums = np.repeat(np.cumsum(use.weight), 2)
    sums[::2] -= use.weight
    at = np.concatenate([[0.0], ends, [1.0]])
    return np.asarray(at), np.concatenate([[0.0], sums, sums[-1:]])
