# SPDX-License-Identifier: Apache-2.0
"""Threads share the pages, and some pages are used far more than others: split by weight."""

from __future__ import annotations

import numpy as np

from numascape.findings.finding import Evidence, Figure, Finding, Kind, Remedy
from numascape.findings.page_use import Floats, PageUse
from numascape.findings.pattern import Pattern
from numascape.findings.subject import PAGE_BYTES, Subject
from numascape.findings.thresholds import CACHE_BYTES, HOT, sureness
from numascape.findings.wording import percent


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    if subject.pattern not in (Pattern.SHARED, Pattern.GROUPS, Pattern.CHANGING):
        return None
    use, parts = subject.use, len(subject.threads)
    # Several instances have no common order of pages to split.
    if subject.row["instances"] != 1 or len(use.page) < 4 * parts:
        return None
    weights = page_weights(use, subject.row["pages"])
    heaviest = heaviest_part(weights, parts)
    hot = half_of_accesses(use)
    if heaviest < HOT or hot * PAGE_BYTES <= CACHE_BYTES:
        return None
    fences = even_parts(weights, parts)
    share = hot / len(use.page)
    shown = ", ".join(f"{fence:.3g}" for fence in fences[: 2 + 1])
    dots = ", ..." if parts > 2 else ""
    return Finding(
        kind=Kind.HOT_PAGES,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=(
            f"Half of the accesses go to {percent(share)} of its pages: of {parts} equally long "
            f"parts, the heaviest has {heaviest:.1f} times the mean."
        ),
        advice=(
            f"Split it by weight instead of by length: {parts} contiguous parts with even shares "
            f"of the accesses end at {shown}{dots} of its length (`--json` has all). Give each "
            "thread one of them, or bind them to the nodes in order (policy `parts` of a plan).",
        ),
        evidence=(
            Evidence("pages that have half of the accesses", share, "share"),
            Evidence("heaviest of equally long parts, over the mean", heaviest, "times"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(heaviest, HOT, 2 * HOT),
        place=subject.used_at,
        nearer=round((1 - 1 / heaviest) * subject.foreign),
        remedy=Remedy.EVEN_PARTS,
        even_parts=fences,
    )


def page_weights(use: PageUse, pages: int) -> Floats:
    """Accesses of each page of the structure, from its first to its last."""
    weights = np.zeros(max(pages, int(use.page.max()) + 1))
    np.add.at(weights, use.page, use.weight)
    return weights


def heaviest_part(weights: Floats, parts: int) -> float:
    """How much more than the mean the heaviest of equally long contiguous parts has."""
    fences = np.linspace(0.0, float(len(weights)), parts + 1, dtype=np.float64)
    sums = np.diff(_running(weights, fences))
    return float(sums.max() / sums.mean())


def even_parts(weights: Floats, parts: int) -> tuple[float, ...]:
    """Fence posts of contiguous parts with even shares of the weight, as fractions, 0 to 1."""
    running = np.concatenate([[0.0], np.cumsum(weights)])
    at = np.interp(np.linspace(0, running[-1], parts + 1), running, np.arange(len(running)))
    fences = [0.0, *(at[1:-1] / len(weights)).tolist(), 1.0]
    return tuple(float(fence) for fence in fences)


def half_of_accesses(use: PageUse) -> int:
    """The least number of pages that have half of the accesses."""
    running = np.cumsum(np.sort(use.weight)[::-1])
    return int(np.searchsorted(running, running[-1] / 2)) + 1


def _running(weights: Floats, at: Floats) -> Floats:
    running = np.concatenate([[0.0], np.cumsum(weights)])
    return np.asarray(np.interp(at, np.arange(len(running)), running))
