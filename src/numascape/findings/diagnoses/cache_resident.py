# SPDX-License-Identifier: Apache-2.0
"""A hot structure that fits into each thread's cache, so that its node hardly matters."""

from __future__ import annotations

from numascape.analysis.ownership import Owner
from numascape.findings.diagnoses.shared_written import written_share
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind
from numascape.findings.pattern import Pattern
from numascape.findings.subject import Subject
from numascape.findings.thresholds import (
    DEFAULT_CACHE_BYTES,
    MAX_LINES_PER_ACCESS,
    MAX_NEGLIGIBLE_SIZE,
    MAX_REUSE_RATIO,
    MAX_WRITTEN_SHARE,
    MIN_CACHE_RESIDENT_BYTES,
    MIN_CACHE_RESIDENT_SHARE,
    MIN_REUSE,
    SECOND_LEVEL_BYTES,
    sureness,
)
from numascape.quantities import bytes_text, percent

_MEMORY_LINES = "memory_lines"
"""The column of a trace's accesses with the lines from memory, if they were counted."""


def is_cache_resident(subject: Subject) -> bool:
    """Whether each thread's part stays in its cache and is used again and again.

    A structure that only fits into a cache that cores share does not count: it fits because the
    recorded input is small. If lines from memory were counted, they decide. Otherwise, a model
    decides: a cache contains the structures with most accesses per byte. Of structures with a
    similar number, it contains all or none. A structure that fits, and is much smaller than these,
    causes hardly any lines from memory in either case.
    """
    if not subject.rows.height:
        return False
    size, again = subject.footprint.size, subject.footprint.reuse
    if size > DEFAULT_CACHE_BYTES:
        return False
    if _MEMORY_LINES in subject.rows.columns:
        return int(subject.rows[_MEMORY_LINES].sum()) <= MAX_LINES_PER_ACCESS * subject.working
    if again < MIN_REUSE:
        return False
    hotter = (
        other.footprint
        for other in subject.run.subjects
        if other is not subject and other.owner is Owner.PROGRAM and len(other.threads) > 1
    )
    beside = sum(one.size for one in hotter if one.reuse * MAX_REUSE_RATIO > again)
    return size + beside <= SECOND_LEVEL_BYTES or size <= MAX_NEGLIGIBLE_SIZE * beside


def is_written_by_several(subject: Subject) -> bool:
    """Whether threads that share its pages write them, so that lines go from cache to cache."""
    shared = subject.pattern not in (Pattern.SPLIT, Pattern.ONE_THREAD)
    return shared and written_share(subject) > MAX_WRITTEN_SHARE


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    if (
        subject.share < MIN_CACHE_RESIDENT_SHARE
        or subject.row["size"] < MIN_CACHE_RESIDENT_BYTES
        or subject.pattern is Pattern.ONE_THREAD
        or not is_cache_resident(subject)
        or subject.run.sources.holds_descriptors(subject.row["file"], subject.row["line"])
    ):
        return None
    size, again = subject.footprint.size, subject.footprint.reuse
    advice = "No action needed: after the first access its lines are in the caches."
    if is_written_by_several(subject):
        advice = (
            "The nodes of its pages do not matter, because its lines are in caches. Several "
            "threads write it, so lines move between caches. Give each thread a copy (OpenMP: "
            "reduction, private), or pad each part to 64 bytes."
        )
    return Finding(
        kind=Kind.CACHE_RESIDENT,
        structure=subject.structure,
        name=subject.name,
        threads=subject.threads,
        why=(
            f"It has {percent(subject.share)} of the run's accesses. But a thread uses only "
            f"{bytes_text(round(size))} of it, and accesses each 8 bytes about {again:.0f} "
            "times. So this part stays in its cache."
        ),
        fixes=(Fix(advice),),
        evidence=(
            Evidence("bytes that a thread uses", size, "bytes"),
            Evidence("accesses to each 8 bytes", again, "count"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(DEFAULT_CACHE_BYTES / max(size, 1.0), 1.0, 4.0),
        place=subject.used_at,
    )
