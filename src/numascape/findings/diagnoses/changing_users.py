# SPDX-License-Identifier: Apache-2.0
"""Each page has one user at a time, but different users in different phases or iterations."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from numascape.findings.advice import interleave_pages, pin, scatters, use_contiguous_parts
from numascape.findings.changes_between_phases import Change, filled_in, users_by_phase
from numascape.findings.diagnoses.shared_written import written_share
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Remedy
from numascape.findings.judging import shows_phases
from numascape.findings.page_use import page_use
from numascape.findings.parts_in_pages import are_divided_differently, has_own_lines
from numascape.findings.pattern import Pattern, accesses_in_turn, randomness, users_change
from numascape.findings.stages import has_sharing_stage
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    MAX_EVEN_SHARE_RATIO,
    MAX_WRITTEN_SHARE,
    MIN_CHANGED_SHARE,
    MIN_DIVIDED_SHARE,
    MIN_DRAWN_ACCESSES,
    MIN_FAR_SHARE,
    MIN_SERIAL_SHARE,
    MIN_USER_SPREAD,
    MIN_WRITERS_IN_TURN,
    sureness,
)
from numascape.quantities import percent
from numascape.trace.once import kept_with

_ALIKE = (
    "Divide the work in the same way in all phases (the same schedule(static) over the same "
    "range). Each page then has the same user in all phases."
)


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    change = _change(subject)
    if change.share >= MIN_CHANGED_SHARE:
        return _between_phases(subject, change)
    # If pages have one user each, the users of pages decide, and not the users of a few lines.
    if subject.pattern is not Pattern.SPLIT and are_divided_differently(subject):
        return _other_lines(subject)
    if has_own_lines(subject) or subject.last_read is not None or subject.is_read_across:
        return None
    if moving := _with_range(subject):
        return moving
    if (
        subject.pattern is Pattern.CHANGING
        or _taken_by_tasks(subject)
        or _taken_by_pool(subject)
        or _taken_by_chunks(subject)
    ):
        return _taken_by_time(subject)
    return None


def _between_phases(subject: Subject, change: Change) -> Finding:
    """Two phases divide the pages differently, or one of them does not divide them."""
    one, other = _phase(subject, change.one), _phase(subject, change.other)
    if change.walked:
        why = (
            f"In {one}, a page has one user. But in {other}, several threads use each page: "
            f"{percent(change.share)} of the use is by others than this user."
        )
        evidence = Evidence("use by others in another phase", change.share, "share")
    else:
        why = (
            f"In each phase, a page has one user. But {percent(change.share)} of its pages have "
            f"one user in {one}, and another one in {other}."
        )
        evidence = Evidence("pages with another user in another phase", change.share, "share")
    sure = sureness(change.share, MIN_CHANGED_SHARE, 1.0)
    together = _ALIKE
    if change.walked:
        together = (
            f"Let each thread use the same contiguous part in {other} as in {one}: exchange the "
            "loops there. If an iteration needs the one before, transpose the data between the "
            "phases, so that each thread copies its part once."
        )
    found = _finding(subject, why, evidence, sure, together, walked=change.walked)
    if any(subject.run.has_dynamic_loop(phase) for phase in (change.one, change.other)):
        # Free threads take the iterations of one of the phases, so it cannot divide like the other.
        spread = Fix(interleave_pages(subject), Remedy.INTERLEAVED)
        kept = [fix for fix in found.fixes if fix.remedy is not Remedy.INTERLEAVED]
        return replace(found, fixes=(spread, *kept))
    return found


def _taken_by_time(subject: Subject) -> Finding:
    """A schedule, a queue or chance decides which thread uses a page next."""
    in_tasks, in_pool = _taken_by_tasks(subject), _taken_by_pool(subject)
    spread = randomness(subject.use)
    schedule = subject.schedule
    dynamic = schedule is not None and schedule.is_dynamic
    cause = f", as {schedule.clause} makes it" if schedule and dynamic else ""
    # If tasks used pages often enough, all threads have the same shares, and the spread is 0.
    draws = (
        ""
        if in_tasks or in_pool
        else "almost at random, as if a random thread took each page about "
        f"{max(2, round(1 / spread))} times"
    )
    sure = 0.95 if dynamic or in_tasks else sureness(spread, MIN_USER_SPREAD, 0.2) * 0.8
    if in_tasks:
        why = (
            "OpenMP gives each task or section to a thread that is free. So the thread that uses "
            "a page changes."
        )
    elif in_pool:
        sure = 0.8
        why = (
            "Threads take the next part of the work when they are free: from a queue, or by a "
            "common counter. So the thread that uses a page changes."
        )
    elif schedule is not None and schedule.always_divides_alike:
        clause = schedule.clause if schedule.kind else "no schedule clause"
        why = (
            f"Its pages have several users each, {draws}. The loop has {clause}, so a thread has "
            "the same iterations each time, unless the range of the loop changes. So either the "
            "range changes, or the loop accesses the pages through indices or pointers."
        )
    else:
        why = (
            f"The thread that uses a page changes from repetition to repetition{cause}. Pages are "
            f"assigned {draws}."
        )
    evidence = Evidence("spread of the threads' shares of a page", spread, "share")
    return _finding(subject, why, evidence, sure)


def _with_range(subject: Subject) -> Finding | None:
    """The range of the divided loop moves, and most threads write each page.

    In one run of the loop, each element has one writer. So if most threads write a page, the page
    has other writers in other runs of the loop, as in an elimination whose active part shrinks. A
    schedule or tasks that give work to free threads change the users in any range.
    """
    if subject.pattern not in (Pattern.SHARED, Pattern.GROUPS, Pattern.CHANGING):
        return None
    if subject.in_tasks or subject.in_dynamic_loop:
        return None
    written = page_use(subject.blocks.with_columns(reads=pl.lit(0, pl.UInt64)))
    moving = subject.run.sources.moving_range(subject.worked_in)
    if moving is None or not len(written.page):
        return None
    if written.users_per_page < MIN_WRITERS_IN_TURN * len(subject.threads):
        return None
    place, variable = moving
    why = (
        f"The range of {place} depends on `{variable}`, which changes each time the loop runs. "
        "So a thread has other iterations each time, and about "
        f"{written.users_per_page:.1f} threads write each page in turn."
    )
    fixed = (
        f"Let {place} have the same range each time, skip the iterations that have "
        "nothing to do, and use schedule(static, 1), or a chunk that fills pages. Each page then "
        "has the same user each time, and the work stays even. Use the same schedule in the loop "
        "that initialises it."
    )
    evidence = Evidence("threads that write a page", written.users_per_page, "count")
    found = _finding(subject, why, evidence, 0.8, fixed)
    return replace(found, figure=Figure.ACCESS_DISTRIBUTION, place=place)


def _change(subject: Subject) -> Change:
    known = subject.run.trace, subject.structure, subject.rows, subject.judged
    if subject.rows["phase"].n_unique() < 2 or not shows_phases(*known):
        return Change()
    filled = filled_in(subject)
    # If pages have random users in the whole run, the cause may be phases in which pages have one
    # user each. So these phases are compared even if they have few accesses.
    least = 0.0 if subject.pattern is Pattern.CHANGING else MIN_DIVIDED_SHARE
    return kept_with(
        subject.run.trace,
        ("users by phase", subject.structure, filled, least),
        lambda: users_by_phase(subject.blocks, filled, least),
    )


def _other_lines(subject: Subject) -> Finding:
    within, every = subject.seen.overlap_in_phases, subject.seen.overlap
    why = (
        "In each phase, each thread uses its own parts of a page. But these parts change from "
        "phase to phase. In the samples of all phases, two threads are in the same cache line "
        f"{every.ratio:.1f} times as often as by chance. In the samples of one phase, this is "
        f"{within.ratio:.2f} times as often as by chance."
    )
    evidence = Evidence("lines in common, over chance", every.ratio, "times")
    return _finding(subject, why, evidence, 0.8, _ALIKE)


def _phase(subject: Subject, phase: int) -> str:
    name = str(subject.run.trace.phases["name"][phase])
    return f"phase {name}"


def _taken_by_tasks(subject: Subject) -> bool:
    """Whether OpenMP's tasks or sections decide which thread uses a page.

    After few repetitions, a page has a few users, as with groups. After many, all threads use it
    alike. Tasks may all read the same data, so data with such users counts only if it is written.
    """
    if not subject.in_tasks:
        return False
    if subject.pattern in (Pattern.SHARED, Pattern.GROUPS):
        return written_share(subject) > MAX_WRITTEN_SHARE
    return subject.pattern is Pattern.CHANGING


def _taken_by_chunks(subject: Subject) -> bool:
    """Whether a dynamic schedule decides who uses a page, maybe in a loop that calls the work.

    After few repetitions, a page has a few users, as with groups. After many, all threads use it
    alike, but each makes many accesses before the next one does. Chunks may all read the same data,
    so data with such users counts only if it is written.
    """
    if not subject.in_dynamic_loop:
        return False
    return written_share(subject) > MAX_WRITTEN_SHARE and (
        subject.pattern is Pattern.GROUPS
        or (subject.pattern is Pattern.SHARED and _makes_many_in_turn(subject))
    )


def _makes_many_in_turn(subject: Subject) -> bool:
    """Whether a thread makes many accesses to a page before another one does.

    Samples do not show it. Most tasks and chunks are large enough.
    """
    if subject.judged is not None:
        in_turn = subject.judged.in_turn
        return in_turn is None or in_turn >= MIN_DRAWN_ACCESSES
    return accesses_in_turn(subject.use, subject.touchers) >= MIN_DRAWN_ACCESSES


def _taken_by_pool(subject: Subject) -> bool:
    """Whether threads that take the next part when they are free write pages of others.

    After few repetitions, a page has a few users, as with groups. After many, all threads use it
    alike, but each makes many accesses before the next one does.
    """
    if not subject.run.takes_next_part or written_share(subject) <= MAX_WRITTEN_SHARE:
        return False
    if subject.pattern in (Pattern.SHARED, Pattern.GROUPS):
        return _makes_many_in_turn(subject)
    return (
        subject.pattern is Pattern.SPLIT
        and subject.whole.first_toucher_share < MIN_SERIAL_SHARE
        and subject.far_from(MIN_FAR_SHARE)
        and users_change(subject.use)
    )


def _finding(
    subject: Subject,
    why: str,
    evidence: Evidence,
    confidence: float,
    together: str = "",
    *,
    walked: bool = False,
) -> Finding:
    """The finding; `together` says how phases could divide the pages alike, if they do not.

    `walked`: one phase does not divide the pages at all.
    """
    return Finding(
        kind=Kind.CHANGING_USERS,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=why,
        fixes=_fixes(subject, together, walked=walked),
        evidence=(
            evidence,
            Evidence("share of a page's busiest thread", subject.use.dominance, "share"),
        ),
        figure=Figure.PHASES if together else Figure.ACCESS_DISTRIBUTION,
        confidence=confidence,
        place=subject.schedule.place if subject.schedule else subject.used_at,
        nearer=subject.foreign,
    )


def _fixes(subject: Subject, together: str, *, walked: bool = False) -> tuple[Fix, ...]:
    """Divide the work always in the same way if its source decides; else spread the pages."""
    pinned = Fix(pin(subject.run))
    spread = Fix(
        f"If the users must change: {_small(interleave_pages(subject))}", Remedy.INTERLEAVED
    )
    if walked and subject.pattern is Pattern.CHANGING:
        if _is_spread(subject):
            # Spread pages would be remote in the phase in which they are local now, too.
            return Fix(together, Remedy.DIVIDED), pinned
        # Most of the work is in the phase that does not divide the pages.
        return (
            Fix(interleave_pages(subject), Remedy.INTERLEAVED),
            Fix(together, Remedy.DIVIDED),
            pinned,
        )
    if together:
        return Fix(together, Remedy.DIVIDED), pinned, spread
    # Data that tasks only read may be looked up. It does not show how to divide the work.
    no_parts = subject.in_tasks and written_share(subject) <= MAX_WRITTEN_SHARE
    # No schedule gives a thread the same part each time if the range is another one each time.
    no_parts = no_parts or subject.run.sources.has_new_range(subject.schedule)
    if no_parts or has_sharing_stage(subject.run.trace, subject.blocks):
        return Fix(interleave_pages(subject), Remedy.INTERLEAVED), pinned
    divide = Fix(use_contiguous_parts(subject), Remedy.DIVIDED)
    if scatters(subject.schedule) or subject.in_tasks or _is_pool(subject):
        return divide, pinned, spread
    return Fix(interleave_pages(subject), Remedy.INTERLEAVED), divide, pinned


def _is_pool(subject: Subject) -> bool:
    """Whether threads without OpenMP take and write parts that could be fixed ones.

    If the source is known and does not show how threads take parts, they use any entry instead.
    """
    run = subject.run
    if run.openmp or written_share(subject) <= MAX_WRITTEN_SHARE:
        return False
    return run.gives_work_to_free_threads


def _is_spread(subject: Subject) -> bool:
    """Whether each thread touched about its even part first, so that no node has all pages."""
    even = 1 / max(1, len(subject.threads))
    return subject.whole.first_toucher_share <= MAX_EVEN_SHARE_RATIO * even


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
