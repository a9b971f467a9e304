# SPDX-License-Identifier: Apache-2.0
"""Pages have one user at a time, but another one in each phase or iteration."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.findings.advice import contiguous_parts, interleave, pin
from numascape.findings.finding import Evidence, Figure, Finding, Kind, Remedy
from numascape.findings.page_use import page_use
from numascape.findings.pattern import Pattern, randomness
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    CHANGED_OWNER,
    OWN_PHASE,
    RANDOM_OWNER,
    SPLIT,
    sureness,
)
from numascape.findings.wording import percent

_DYNAMIC = ("dynamic", "guided")


def diagnose(subject: Subject) -> Finding | None:
    """Find it, or not."""
    changed = owners_by_phase(subject)
    if changed >= CHANGED_OWNER:
        why = (
            f"In each phase a page has one user, but {percent(changed)} of the accesses are in a "
            "phase whose user is another than in most of the work."
        )
        evidence = Evidence("accesses in phases with another owner", changed, "share")
        return _finding(subject, why, evidence, sureness(changed, CHANGED_OWNER, 1.0), phases=True)
    if subject.pattern is not Pattern.CHANGING or _has_fixed_schedule(subject):
        return None
    spread = randomness(subject.use)
    schedule = subject.schedule
    dynamic = schedule is not None and schedule.kind in _DYNAMIC
    cause = f", as {schedule.clause} makes it" if schedule and dynamic else ""
    why = (
        f"Which thread uses a page changes from repetition to repetition{cause}: the threads' "
        f"shares differ from page to page as in about {max(2, round(1 / spread))} draws of lots."
    )
    evidence = Evidence("spread of the threads' shares of a page", spread, "share")
    sure = 0.95 if dynamic else sureness(spread, RANDOM_OWNER, 0.2) * 0.8
    return _finding(subject, why, evidence, sure, phases=False)


def _finding(
    subject: Subject, why: str, evidence: Evidence, confidence: float, *, phases: bool
) -> Finding:
    spread = f"Where it must change: {_small(interleave(subject))}"
    together = (
        "Divide the work in the same way in all phases (the same schedule(static) over the same "
        "range), so that a page has one user throughout."
        if phases
        else contiguous_parts(subject)
    )
    return Finding(
        kind=Kind.CHANGING_OWNERS,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=why,
        advice=(together, pin(subject.run), spread),
        evidence=(
            evidence,
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.PHASES if phases else Figure.ACCESS_DISTRIBUTION,
        confidence=confidence,
        place=subject.schedule.place if subject.schedule else subject.used_at,
        nearer=subject.foreign,
        remedy=Remedy.INTERLEAVED,
    )


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _has_fixed_schedule(subject: Subject) -> bool:
    """Whether its source says that iterations are dealt out in the same way each time."""
    schedule = subject.schedule
    return schedule is not None and schedule.kind in ("static", "")


def owners_by_phase(subject: Subject) -> float:
    """Share of the work, in phases that have owners, on pages whose owner in all is another.

    0 where fewer than two phases matter, or where pages have no single users even in a phase.
    """
    rows = subject.rows
    counts = rows.group_by("phase").agg(count=(pl.col("reads") + pl.col("writes")).sum())
    total = float(counts["count"].sum()) or 1.0
    phases = counts.filter(pl.col("count") >= OWN_PHASE * total)["phase"].sort().to_list()
    if len(phases) < 2 or subject.use.dominance >= SPLIT:
        return 0.0
    owned = [(phase, page_use(rows.filter(pl.col("phase") == phase))) for phase in phases]
    if any(use.dominance < SPLIT or len(use.threads) < 2 for _, use in owned):
        return 0.0
    keys = PAGE[1:]
    whole = _owners(rows, keys).rename({"owner": "usual"})
    changed = all_ = 0.0
    for phase, _ in owned:
        part = _owners(rows.filter(pl.col("phase") == phase), keys).join(whole, on=keys)
        weight = part["weight"].to_numpy().astype(float)
        other = (part["owner"] != part["usual"]).to_numpy()
        changed += float(np.sum(weight[other]))
        all_ += float(np.sum(weight))
    return changed / all_ if all_ else 0.0


def _owners(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """instance, page, owner, weight: who uses each page most, and its accesses."""
    return (
        rows.group_by(*keys, "thread")
        .agg(count=(pl.col("reads") + pl.col("writes")).sum())
        .group_by(keys)
        .agg(
            owner=pl.col("thread").sort_by("count", "thread", descending=[True, False]).first(),
            weight=pl.col("count").sum(),
        )
    )
