# SPDX-License-Identifier: Apache-2.0
"""Each page has one user at a time, but different users in different phases or iterations."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.findings.advice import contiguous_parts, interleave, pin, scatters
from numascape.findings.diagnoses.shared_written import written_share
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.page_use import page_use
from numascape.findings.pattern import Pattern, randomness
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    MAX_WRITTEN_SHARE,
    MIN_CHANGED_SHARE,
    MIN_DOMINANT_SHARE,
    MIN_PHASE_WORK,
    MIN_USER_SPREAD,
    sureness,
)
from numascape.quantities import percent


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    changed = users_by_phase(subject)
    if changed >= MIN_CHANGED_SHARE:
        why = (
            f"In each phase, a page has one user. But {percent(changed)} of the accesses are in "
            "phases in which this user is not the main user of the page in the whole run."
        )
        evidence = Evidence("accesses in phases with another user", changed, "share")
        return _finding(
            subject, why, evidence, sureness(changed, MIN_CHANGED_SHARE, 1.0), phases=True
        )
    in_tasks = _taken_by_tasks(subject)
    if subject.pattern is not Pattern.CHANGING and not in_tasks and not _taken_by_chunks(subject):
        return None
    spread = randomness(subject.use)
    schedule = subject.schedule
    dynamic = schedule is not None and schedule.is_dynamic
    cause = f", as {schedule.clause} makes it" if schedule and dynamic else ""
    # Pages that tasks used often enough are shared exactly alike: then the spread is 0.
    draws = (
        ""
        if in_tasks
        else f"almost at random (about {max(2, round(1 / spread))} independent draws)"
    )
    if in_tasks:
        why = (
            "OpenMP gives each task or section to a thread that is free. So the thread that uses "
            "a page changes."
        )
    elif schedule is not None and schedule.always_divides_alike:
        clause = schedule.clause if schedule.kind else "no schedule clause"
        why = (
            f"Its pages have several users each, {draws}. The loop has {clause}, so a thread has "
            "the same iterations each time if the range of the loop is the same. Therefore the "
            "accesses go through indices or pointers, or the range changes."
        )
    else:
        why = (
            f"The thread that uses a page changes from repetition to repetition{cause}. Pages are "
            f"assigned {draws}."
        )
    evidence = Evidence("spread of the threads' shares of a page", spread, "share")
    sure = 0.95 if dynamic or in_tasks else sureness(spread, MIN_USER_SPREAD, 0.2) * 0.8
    return _finding(subject, why, evidence, sure, phases=False)


def _taken_by_tasks(subject: Subject) -> bool:
    """Whether OpenMP's tasks or sections decide which thread uses a page.

    After few repetitions, a page has a few users, as with groups; after many, all threads use it
    alike. What is only read may be shared within a task: then its users are all threads.
    """
    if not subject.in_tasks:
        return False
    if subject.pattern is Pattern.SHARED:
        return written_share(subject) > MAX_WRITTEN_SHARE
    return subject.pattern in (Pattern.CHANGING, Pattern.GROUPS)


def _taken_by_chunks(subject: Subject) -> bool:
    """Whether a dynamic schedule decides, and a page had a few users in the few repetitions."""
    schedule = subject.schedule
    return schedule is not None and schedule.is_dynamic and subject.pattern is Pattern.GROUPS


def _finding(
    subject: Subject, why: str, evidence: Evidence, confidence: float, *, phases: bool
) -> Finding:
    return Finding(
        kind=Kind.CHANGING_USERS,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=why,
        fixes=_fixes(subject, phases=phases),
        evidence=(
            evidence,
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.PHASES if phases else Figure.ACCESS_DISTRIBUTION,
        confidence=confidence,
        place=subject.schedule.place if subject.schedule else subject.used_at,
        nearer=subject.foreign,
    )


def _fixes(subject: Subject, *, phases: bool) -> tuple[Fix, ...]:
    """Divide the work always in the same way if its source decides; else spread the pages."""
    pinned = Fix(pin(subject.run))
    spread = Fix(f"If the users must change: {_small(interleave(subject))}", Remedy.INTERLEAVED)
    if phases:
        together = (
            "Divide the work in the same way in all phases (the same schedule(static) over the "
            "same range). Each page then has the same user in all phases."
        )
        return Fix(together, Remedy.DIVIDED), pinned, spread
    divide = Fix(contiguous_parts(subject), Remedy.DIVIDED)
    if scatters(subject.schedule) or subject.in_tasks:
        return divide, pinned, spread
    return Fix(interleave(subject), Remedy.INTERLEAVED), divide, pinned


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def users_by_phase(subject: Subject) -> float:
    """Share of the accesses to pages whose main user in the phase is not that of the whole run.

    0 if fewer than two phases matter, or if pages have several users even within a phase.
    """
    rows = subject.rows
    counts = rows.group_by("phase").agg(count=(pl.col("reads") + pl.col("writes")).sum())
    total = float(counts["count"].sum()) or 1.0
    phases = counts.filter(pl.col("count") >= MIN_PHASE_WORK * total)["phase"].sort().to_list()
    if len(phases) < 2 or subject.use.dominance >= MIN_DOMINANT_SHARE:
        return 0.0
    owned = [(phase, page_use(rows.filter(pl.col("phase") == phase))) for phase in phases]
    if any(use.dominance < MIN_DOMINANT_SHARE or len(use.threads) < 2 for _, use in owned):
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
