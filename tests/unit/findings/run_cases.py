# SPDX-License-Identifier: Apache-2.0
"""Runs on one node in which one number lies just below or just above a threshold of the findings.

Each function takes that number, makes the smallest run in which nothing else decides, and returns
whether what the threshold decides holds.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.findings import Finding, Kind, examine, findings_of
from numascape.findings.diagnoses import changing_users, hot_pages
from numascape.findings.diagnoses.cache_resident import is_cache_resident
from numascape.findings.diagnoses.no_problem import why_none
from numascape.findings.footprint import Footprint
from numascape.findings.remedies import RemediedRun
from numascape.findings.subject import Run, Subject
from synthetic.in_memory import trace_of
from synthetic.pattern import PAGE, Pattern
from synthetic.write import touches_alone

WORDS = PAGE // 8


def run_of(pattern: Pattern, *, nodes: bool = False) -> Run:
    whole = pattern.info()
    if not nodes:
        whole["machine"]["nodes"] = whole["machine"]["nodes"][:1]
    pattern.info = lambda: whole  # type: ignore[method-assign]
    return examine(trace_of(pattern))


def is_waited_on(share: float) -> bool:
    """This share of the accesses to the structure is in the loop in line 1, which waits."""
    reads = [round(1000 * share) - 90, 910 - round(1000 * share)]
    lines = pl.DataFrame({"structure": [7, 7], "file": ["a.c", "a.c"], "line": [1, 2]})
    lines = lines.with_columns(reads=pl.Series(reads), writes=90)
    sources = SimpleNamespace(waits=lambda _, line: line == 1)
    run = SimpleNamespace(trace=SimpleNamespace(source_lines=lines), sources=sources, _least=10.0)
    return 7 in cast(Any, Run.waited_on).func(run)


def kinds(run: Run, structure: int = 0) -> set[Kind]:
    return {finding.kind for finding in findings_of(run) if finding.structure == structure}


def subject_of(run: Run, structure: int = 0) -> Subject:
    subject = run.subject(structure)
    assert subject is not None
    return subject


def split(threads: int, pages: int, touched_by_main: float) -> Pattern:
    pattern = Pattern("split", threads)
    page = np.arange(pages)
    owner = page * threads // pages
    s = pattern.structure("A", pages)
    pattern.access(s, page, owner, 40_000, 0)
    pattern.touch(s, page, np.where(page < touched_by_main * pages, 0, owner))
    return pattern


def first_touch_is_serial(share: float) -> bool:
    return Kind.SERIAL_FIRST_TOUCH in kinds(run_of(split(16, 1600, share)))


def all_read(pattern: Pattern, pages: int, reads: Any, writes: Any = 0, name: str = "A") -> int:
    """All threads use the pages of a structure; the last thread touched them first."""
    s = pattern.structure(name, pages)
    threads = np.arange(pattern.threads)[:, None]
    pattern.access(s, np.arange(pages)[None, :], threads, reads, writes)
    pattern.touch(s, np.arange(pages), pattern.threads - 1)
    return s


def is_read_mostly(written: float) -> bool:
    pattern = Pattern("shared", 4)
    # Each thread writes each element much more than once, so the initialisation hardly counts.
    all_read(pattern, 256, round(1_000_000 * (1 - written)), round(1_000_000 * written))
    return Kind.SHARED_READ_MOSTLY in kinds(run_of(pattern))


def is_examined(share: float) -> bool:
    pattern = Pattern("two", 4)
    small = all_read(pattern, 100, round(1_000_000 * share))
    all_read(pattern, 100, round(1_000_000 * (1 - share)), name="B")
    return run_of(pattern).subject(small) is not None


def beside_own_memory(share: float, *, split: bool = False) -> Run:
    """A: used by all threads, with `share` of all accesses; each thread has memory of its own."""
    pattern = Pattern("beside", 4)
    page = np.arange(200)
    if split:
        s = pattern.structure("A", 200)
        pattern.access(s, page, page // 50, round(4_000_000 * share), 0)
        pattern.touch(s, page, page // 50)
    else:
        all_read(pattern, 200, round(1_000_000 * share))
    for thread in range(4):
        s = pattern.structure(f"own {thread}", 200)
        pattern.access(s, page, thread, round(1_000_000 * (1 - share)), 0)
        pattern.touch(s, page, thread)
    return run_of(pattern)


def is_compared_with(part: float) -> bool:
    """A structure with a hundredth of this share of the accesses is examined."""
    return beside_own_memory(part / 100).subject(0) is not None


def is_compared_with_small_memory(pages: float) -> bool:
    """A, with 0.5 % of the accesses, is compared with B, which has this number of pages."""
    pattern = Pattern("small", 4)
    small = all_read(pattern, 100, 5_000)
    all_read(pattern, round(pages), round(995_000 * 100 / pages), name="B")
    return run_of(pattern).subject(small) is not None


def used_by_another(touched_by_main: float, share: float = 1.0) -> Run:
    """A: used by thread 1 alone, with `share` of all accesses; B is thread 0's own."""
    pattern = Pattern("handed", 2)
    page = np.arange(1000)
    a, b = pattern.structure("A", 1000), pattern.structure("B", 1000)
    pattern.access(a, page, 1, round(1_000_000 * share), 0)
    pattern.touch(a, page, np.where(page < touched_by_main * 1000, 0, 1))
    if share < 1:
        pattern.access(b, page, 0, round(1_000_000 * (1 - share)), 0)
        pattern.touch(b, page, 0)
    return run_of(pattern)


def is_used_elsewhere(touched_by_others: float) -> bool:
    return Kind.REMOTE_FIRST_TOUCH in kinds(used_by_another(touched_by_others))


def is_worth_reporting(gain: float) -> bool:
    return Kind.REMOTE_FIRST_TOUCH in kinds(used_by_another(gain / 0.0185, 0.0185))


def region(pattern: Pattern, name: str, line: int) -> int:
    if not pattern.phases:
        pattern.phase("outside")
    return pattern.phase(name, line=line)


def imbalanced(ratio: float, share: float) -> bool:
    """Four threads in a region with `share` of the accesses; one makes `ratio` times the mean."""
    pattern = Pattern("uneven", 4)
    uneven, even = region(pattern, "uneven", 3), region(pattern, "even", 9)
    page = np.arange(400)
    owner = page // 100
    s = pattern.structure("A", 400)
    busiest = 3 * ratio / (4 - ratio)
    weight = np.where(owner == 0, busiest, 1.0) * 1_000_000
    pattern.access(s, page, owner, weight.round().astype(np.int64), 0, phase=uneven)
    rest = weight.sum() * (1 - share) / share / 400
    pattern.access(s, page, owner, round(rest), 0, phase=even)
    pattern.touch(s, page, owner, phase=even)
    found = findings_of(run_of(pattern))
    return any(finding.kind is Kind.LOAD_IMBALANCE for finding in found)


def works_in_parallel(top_share: float) -> bool:
    pattern = Pattern("region", 2)
    phase = region(pattern, "region", 3)
    s = pattern.structure("A", 10)
    for thread, share in enumerate((top_share, 1 - top_share)):
        pattern.access(s, np.arange(10), thread, round(1_000_000 * share), 0, phase=phase)
    pattern.touch(s, np.arange(10), 1, phase=phase)
    return subject_of(run_of(pattern)).rows.height > 0


def initialiser_works(ratio: float) -> bool:
    """Thread 0 touched all pages first, and reads `ratio` times as much as the others' mean."""
    pattern = Pattern("initialised", 4)
    s = pattern.structure("A", 100)
    reads = np.where(np.arange(4) == 0, round(100_000 * ratio), 100_000)[:, None]
    pattern.access(s, np.arange(100)[None, :], np.arange(4)[:, None], reads, 0)
    pattern.touch(s, np.arange(100), 0)
    return 0 in subject_of(run_of(pattern)).threads


def main_works(covered: float, part: float) -> bool:
    """Main uses `covered` of the pages; two other threads use `part` of them each."""
    pattern = Pattern("overseen", 3)
    page = np.arange(1000)
    s = pattern.structure("A", 1000)
    pattern.access(s, page[: round(1000 * covered)], 0, 100_000, 0)
    pattern.access(s, page[: round(1000 * part)], 1, 100_000, 0)
    pattern.access(s, page[1000 - round(1000 * part) :], 2, 100_000, 0)
    pattern.touch(s, page, np.where(page < 500, 1, 2))
    return 0 in subject_of(run_of(pattern)).threads


def cached(pattern: Pattern, pages: int, reuse: float, name: str = "A") -> int:
    return all_read(pattern, pages, round(reuse * WORDS), name=name)


def fits_the_cache(size: float) -> bool:
    pattern = Pattern("cached", 4)
    cached(pattern, round(size / PAGE), 100)
    return is_cache_resident(subject_of(run_of(pattern)))


def fit_the_cache_together(beside: float) -> bool:
    """A structure of 32 pages, and another one that is used as often, such as swapped arrays."""
    pattern = Pattern("cached", 4)
    cached(pattern, 32, 100)
    cached(pattern, round(beside / PAGE), 100, "B")
    return is_cache_resident(subject_of(run_of(pattern)))


def is_reused(times: float) -> bool:
    pattern = Pattern("cached", 4)
    cached(pattern, 16, times)
    return is_cache_resident(subject_of(run_of(pattern)))


def does_not_compete(ratio: float) -> bool:
    pattern = Pattern("cached", 4)
    cached(pattern, 32, 640)
    cached(pattern, 40, 640 / ratio, "B")
    return is_cache_resident(subject_of(run_of(pattern)))


def is_negligible(size_ratio: float) -> bool:
    pattern = Pattern("cached", 4)
    cached(pattern, 4, 100)
    cached(pattern, round(4 / size_ratio), 100, "B")
    return is_cache_resident(subject_of(run_of(pattern)))


def fetches_few_lines(lines_per_access: float) -> bool:
    rows = pl.DataFrame({"memory_lines": [round(lines_per_access * 1_000_000)]})
    subject = SimpleNamespace(rows=rows, working=1_000_000, footprint=Footprint())
    return is_cache_resident(cast(Subject, subject))


def size_is_reported(size: float) -> bool:
    pattern = Pattern("scalar", 4)
    s = pattern.structure("A", 1, size=int(size))
    pattern.access(s, np.array([0]), np.arange(4), 100_000, 0)
    pattern.touch(s, np.array([0]), 0)
    return Kind.CACHE_RESIDENT in kinds(run_of(pattern))


def cached_is_reported(share: float) -> bool:
    pattern = Pattern("cached", 4)
    cached(pattern, 10, 100)
    # Only its own thread reads it, so it does not compete for a shared cache.
    other = pattern.structure("B", 1000)
    total = 4 * 10 * 100 * WORDS * (1 - share) / share
    pattern.access(other, np.arange(1000), 0, round(total / 1000), 0)
    pattern.touch(other, np.arange(1000), 0)
    return Kind.CACHE_RESIDENT in kinds(run_of(pattern))


def touched(share: float) -> list[Finding]:
    """First touches alone: of four threads, thread 0 touched `share` of all pages, all of A."""
    pattern = Pattern("touched", 4)
    pages = round(3000 * share)
    a, b = pattern.structure("A", pages), pattern.structure("B", 3000 - pages)
    for s, page, thread in (
        (a, np.arange(pages), np.zeros(pages, np.int64)),
        (b, np.arange(3000 - pages), 1 + np.arange(3000 - pages) % 3),
    ):
        pattern.access(s, page, thread, 1, 0)
        pattern.touch(s, page, thread)
    return findings_of(run_of(touches_alone(pattern)))


def touches_more_than_its_part(ratio: float) -> bool:
    return any(finding.kind is Kind.ONE_FIRST_TOUCHER for finding in touched(ratio / 4))


def is_surer_than(confidence: float) -> bool:
    return max(finding.confidence for finding in touched(0.9)) > confidence


def changing(by_phase: dict[str, tuple[int, float]]) -> bool:
    """Phases with a weight, and the share of the 601 pages that have another user in the phase."""
    pattern = Pattern("changing", 4)
    page = np.arange(601)  # a prime number: page * 7 % 601 visits each once
    owner = page // 151
    s = pattern.structure("A", 601)
    for line, (name, (weight, changed)) in enumerate(by_phase.items(), 3):
        phase = region(pattern, name, line)
        user = np.where(page * 7 % 601 < round(601 * changed), (owner + 1) % 4, owner)
        pattern.access(s, page, user, 100_000 * weight, 0, phase=phase)
    pattern.touch(s, page, owner, phase=1)
    return Kind.CHANGING_USERS in kinds(run_of(pattern))


def users_change_enough(share: float) -> bool:
    return changing({"a": (52, 0.0), "b": (48, share)})


def phase_counts(share: float) -> bool:
    small = round(100 * share)
    return changing({"a": (100 - small, 0.0), "b": (small, 1.0)})


def divided_phases_matter(share: float) -> bool:
    """Two phases with different users, and one in which all threads use each page."""
    pattern = Pattern("beside", 4)
    page = np.arange(600)
    s = pattern.structure("A", 600)
    for line, shift in enumerate((0, 1), 3):
        phase = region(pattern, f"phase {shift}", line)
        pattern.access(s, page, (page // 150 + shift) % 4, round(50_000 * share), 0, phase=phase)
    phase = region(pattern, "shared", 9)
    each = round(25_000 * (1 - share))
    pattern.access(s, page[None, :], np.arange(4)[:, None], each, 0, phase=phase)
    pattern.touch(s, page, page // 150, phase=0)
    return changing_users.diagnose(subject_of(run_of(pattern))) is not None


def is_hot(ratio: float) -> bool:
    """In each quarter, some pages have all accesses; the first quarter has `ratio` of the mean."""
    page = np.arange(400)
    reads = np.where(page < 100, ratio, (4 - ratio) / 3) * 300_000
    return _has_hot_pages(np.where(page % 100 < 30, reads, 4))


def is_concentrated(share: float) -> bool:
    """Half of the accesses go to this share of the pages."""
    hot = np.arange(400) < round(400 * share)
    return _has_hot_pages(np.where(hot, 0.5 / share, 0.5 / (1 - share)) * 300_000)


def _has_hot_pages(reads: npt.NDArray[np.float64]) -> bool:
    pattern = Pattern("hot", 4)
    all_read(pattern, 400, reads.round().astype(np.int64)[None, :])
    return hot_pages.diagnose(subject_of(run_of(pattern))) is not None


def has_huge_pages(number: float) -> bool:
    pages = round(512 * number)
    pattern = Pattern("huge", 4)
    page = np.arange(pages)
    s = pattern.structure("A", pages)
    pattern.access(s, page, page % 4, 40_000, 0)
    pattern.touch(s, page, page % 4)
    return Kind.HUGE_PAGE_FALSE_SHARING in kinds(run_of(pattern))


def common_lines_matter(share: float) -> bool:
    """Two threads write the same bytes of a line, with this share of the run's accesses."""
    pattern = Pattern("counter", 2)
    page = np.arange(20)
    counter, own = pattern.structure("counter", 1), pattern.structure("own", 20)
    pattern.access(own, page, page // 10, 49_900, 0)
    pattern.touch(own, page, page // 10)
    pattern.access(counter, page[:1], np.arange(2), 500, 500)
    pattern.touch(counter, page[:1], 0)
    times = round(share * 1_000_000 / 2)
    pattern.seen_lines += [
        (counter, 0, 0, 0, thread, 0, 1, 0xFF, times, 0, times) for thread in (0, 1)
    ]
    return Kind.LINE_TRUE_SHARING in kinds(run_of(pattern))


def why_limited(saved: float, computing: float) -> str:
    """The reason for a small gain of this share, in a run that computes for this share."""
    model = SimpleNamespace(
        _demand=SimpleNamespace(
            number_of_pages=lambda _: 10,
            accesses=np.array([[computing * 1e9 / 4]]),
            computing_ns=3.0,
        ),
        _speeds=SimpleNamespace(shared_cache=PAGE, core_ns=1.0),
        now=SimpleNamespace(seconds=1.0, limit="thread 0"),
    )
    then = SimpleNamespace(relative=1 - saved)
    return RemediedRun._limited(cast(Any, model), [0], cast(Any, then))


def gain_matters(saved: float) -> bool:
    return not why_limited(saved, 0.0)


def computes(share: float) -> bool:
    return "the threads compute for" in why_limited(0.0, share)


def little_is_shared(share: float) -> bool:
    return bool(why_none(4, None, 1 - share, 0.0, 0.25))
