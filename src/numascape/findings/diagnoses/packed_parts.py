# SPDX-License-Identifier: Apache-2.0
"""Threads use the same cache lines, as samples show: false or true sharing of lines.

If they use separate bytes of a line, it is false sharing. At least one of them writes. Another one
may only read. For example, it reads the pointers in its own element of an array, while another
thread counts in the next element. If several threads write the same bytes, such as a counter, it
is true sharing. The same holds for a small table of which all threads write any entry, such as a
histogram or an array of locks: samples of each line are rare then, but no thread has lines of its
own.

How often a line really travels depends on the times of the accesses, and is counted only with
`record --traffic`. With this count, travelling_lines decides, with one exception: if there were
fewer CPUs than threads, threads that waited for a CPU took no lines, and the count is too small.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from itertools import combinations

import polars as pl

from numascape.analysis.line_transfers import PartsOfLines, part_and_step
from numascape.analysis.ownership import Owner
from numascape.analysis.seen_lines import overlap
from numascape.findings.diagnoses.cache_resident import is_cache_resident, is_written_by_several
from numascape.findings.diagnoses.travelling_lines import separate, share_less
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind
from numascape.findings.page_use import page_use
from numascape.findings.pattern import Pattern
from numascape.findings.python_advice import is_python
from numascape.findings.sample_sizes import MIN_LINE_SAMPLES
from numascape.findings.subject import Run, Subject
from numascape.findings.thresholds import (
    MAX_EVEN_SHARE_RATIO,
    MAX_IDLE_RATIO,
    MIN_BYTE_PAIRS,
    MIN_CACHE_RESIDENT_SHARE,
    MIN_GUEST_SHARE,
    MIN_HOME_SHARE,
    MIN_LINE_OVERLAP,
    MIN_LINE_PAIRS,
    MIN_PACKED_SHARE,
    MIN_SEPARATE_SHARE,
    MIN_WRITTEN_LINES,
    MIN_WRITTEN_SHARE,
    sureness,
)
from numascape.findings.wording import threads_text
from numascape.quantities import counted, percent, share_of
from numascape.trace.counting import has_memory_lines
from numascape.trace.format import LINE_BYTES

_WORD = 8
_OF_THREAD = ["structure", "phase", "thread"]
_LINE = ["structure", "phase", "instance", "page", "cache_line"]
_TO_COUNT = "To count how often, record with `--traffic` on a machine with a CPU for each thread."
_ENDS = (
    "Put data that different threads write, such as the two ends of a queue, on lines of their own "
    f"(`alignas({LINE_BYTES})`). If a thread only needs to know how far the other one is, let it "
    "keep a copy of that number, and read it again only when the copy is not enough."
)
_APART = (
    "Put data that threads only read, such as pointers beside a counter, on other lines than data "
    "that they write."
)


@dataclass(frozen=True)
class _Packed:
    """The lines of a structure that hold separate data of several threads.

    `between` is an upper bound of the accesses to them that follow an access by another thread.
    """

    between: int
    threads: tuple[int, ...]
    writers: tuple[int, ...]
    parts: PartsOfLines


@dataclass(frozen=True)
class _Common:
    """The lines of a structure in which several threads write the same bytes.

    `between` is an upper bound of the accesses to them that follow an access by another thread.
    `ends`: two threads use several words, as those of the two ends of a queue.
    """

    between: int
    threads: tuple[int, ...]
    ends: bool = False


def diagnose(run: Run, travelling: Set[int | None]) -> list[Finding]:
    """Return at most one finding for each structure of the program that is not in `travelling`.

    If its lines have separate data of threads, that is the finding, because padding is the simpler
    fix.
    """
    trace = run.recorded
    counted_lines = has_memory_lines(trace.accesses) or not trace.transfers.is_empty()
    if counted_lines and trace.threads.height <= trace.info.host.cpus:
        return []
    found = [
        _of_table(subject, common)
        for subject in run.subjects
        if subject.structure not in travelling and (common := _written_in_any_order(subject))
    ]
    travelling = {*travelling, *(finding.structure for finding in found)}
    for (structure,), lines in sorted(
        _used_lines(run).partition_by("structure", as_dict=True).items()
    ):
        if structure in travelling or run.owners[structure] is not Owner.PROGRAM:
            continue
        packed = _packed(run, lines.filter(pl.col("home").any().over(_LINE)))
        common = _in_common(run, lines)
        if packed is not None and packed.between >= MIN_PACKED_SHARE * run.accesses:
            found.append(_finding(run, structure, packed))
        elif common is not None and common.between >= MIN_WRITTEN_LINES * run.accesses:
            found += [_truly_shared(run, structure, common)] if _is_own(run, structure) else []
    return found


def _written_in_any_order(subject: Subject) -> _Common | None:
    """The use of a small table of which all threads write any entry; None if it is none."""
    if (
        subject.owner is not Owner.PROGRAM
        or subject.judged is not None
        or subject.pattern is not Pattern.SHARED
        or not is_cache_resident(subject)
        or not is_written_by_several(subject)
        or not _is_own(subject.run, subject.structure)
    ):
        return None
    writes = page_use(subject.rows.with_columns(reads=pl.lit(0, pl.UInt64)))
    if writes.evenness * len(subject.threads) > MAX_EVEN_SHARE_RATIO:
        return None
    lines = overlap(subject.seen.lines.filter(pl.col("writing") > 0), 0.0, MIN_BYTE_PAIRS)
    if lines.by_chance < MIN_LINE_PAIRS or lines.ratio < MIN_LINE_OVERLAP:
        return None
    between = _between(
        subject.rows.group_by("thread").agg(
            times=(pl.col("reads") + pl.col("writes")).sum(), writing=pl.col("writes").sum()
        )
    )
    if between < MIN_CACHE_RESIDENT_SHARE * subject.run.accesses:
        return None
    return _Common(between, subject.threads)


def _is_own(run: Run, structure: int) -> bool:
    """Whether the program decides who writes it; it does not for objects of Python's libraries.

    All threads count the references to such objects, for example to the type of an array.
    """
    file = str(run.trace.structures.item(structure, "file"))
    return not run.has_python or is_python(file)


def written_by_several(run: Run) -> list[str]:
    """The structures with lines in which several threads often write the same bytes, by samples.

    Samples do not show how often these lines travel. `--traffic` counts it.
    """
    least = MIN_WRITTEN_LINES * run.accesses
    by_structure = sorted(_used_lines(run).partition_by("structure", as_dict=True).items())
    return [
        str(run.trace.structures.item(structure, "name"))
        for (structure,), lines in by_structure
        if run.owners[structure] is not Owner.RUNTIME
        and _is_own(run, structure)
        and (common := _in_common(run, lines)) is not None
        and common.between >= least
    ]


def _in_common(run: Run, lines: pl.DataFrame) -> _Common | None:
    """The lines in which several threads write the same bytes; None if there are none."""
    between = 0
    threads: set[int] = set()
    of_ends = 0
    for line in lines.partition_by(_LINE):
        users = line["thread"].to_list()
        written = line.filter("writes").height > 1 and _separate(line) < MIN_SEPARATE_SHARE
        if written and _together(run, users):
            travels = _between(line)
            between += travels
            of_ends += travels if _has_two_ends(line) else 0
            threads.update(users)
    ends = 2 * of_ends > between
    return _Common(between, tuple(sorted(threads)), ends) if threads else None


def _has_two_ends(line: pl.DataFrame) -> bool:
    """Whether two threads use several words of the line in common."""
    masks = line["bytes"].to_list()
    if len(masks) != 2:
        return False
    common = masks[0] & masks[1]
    return sum(bool(common >> byte & 0xFF) for byte in range(0, LINE_BYTES, _WORD)) > 1


def _used_lines(run: Run) -> pl.DataFrame:
    """The lines with a row for each thread that uses the line often.

    `writes` marks threads that often write the line, and `home` those of them that make so many of
    their accesses to the structure there that samples show all bytes they use.
    """
    seen = run.trace.seen_lines
    least = MIN_LINE_SAMPLES if run.sampled else 0
    every = seen.group_by(_OF_THREAD).agg(every=pl.col("times").sum())
    every = every.filter(pl.col("every") >= least)
    return (
        seen.filter(pl.col("cache_line") >= 0, pl.col("bytes") > 0)
        .group_by(*_LINE, "thread")
        .agg(pl.col("times", "writing").sum(), pl.col("bytes").bitwise_or())
        .join(every, on=_OF_THREAD)
        .with_columns(writes=pl.col("writing") >= MIN_WRITTEN_SHARE * pl.col("times"))
        .with_columns(home=pl.col("writes") & (pl.col("times") >= MIN_HOME_SHARE * pl.col("every")))
        .filter(pl.col("times") >= MIN_GUEST_SHARE * pl.col("every"))
        # A thread that only sets and collects the values of others does not disturb them.
        .filter(pl.col("times") >= MAX_IDLE_RATIO * pl.col("times").mean().over(_LINE))
        .sort(*_LINE, "thread")
    )


def _packed(run: Run, lines: pl.DataFrame) -> _Packed | None:
    between = 0
    threads: set[int] = set()
    writers: set[int] = set()
    busiest: tuple[int, list[int]] = (0, [])
    for line in lines.partition_by(_LINE):
        masks = line["bytes"].to_list()
        users = line["thread"].to_list()
        if _separate(line) < MIN_SEPARATE_SHARE or not _together(run, users):
            continue
        others = _between(line)
        between += others
        threads.update(users)
        writers.update(line.filter("writes")["thread"])
        busiest = max(busiest, (others, masks), key=lambda found: found[0])
    if not threads:
        return None
    parts = PartsOfLines(*part_and_step(busiest[1]), len(busiest[1]))
    return _Packed(between, tuple(sorted(threads)), tuple(sorted(writers)), parts)


def _between(line: pl.DataFrame) -> int:
    """An upper bound of the accesses to the line that follow an access by another thread.

    Each write takes the line from the others, and each of them can then fetch it once.
    """
    times, most = int(line["times"].sum()), int(line["times"].max() or 0)  # type: ignore[arg-type]
    return min(2 * (times - most), times, line.height * int(line["writing"].sum()))


def _separate(line: pl.DataFrame) -> float:
    """Share of the pairs of threads without a common byte, weighted by the smaller `times`.

    Two threads that only read do not disturb each other.
    """
    rows = line.select("bytes", "times", "writes").rows()
    pairs = [(one, other) for one, other in combinations(rows, 2) if one[2] or other[2]]
    every = sum(min(one[1], other[1]) for one, other in pairs)
    separate = sum(min(one[1], other[1]) for one, other in pairs if not one[0] & other[0])
    return separate / every if every else 0.0


def _together(run: Run, threads: list[int]) -> bool:
    """Whether two of the threads live at the same time."""
    lives = run.recorded.threads.filter(pl.col("thread").is_in(threads)).sort("created_ns")
    return not bool((lives["created_ns"].shift(-1) >= lives["ended_ns"]).all())


def _finding(run: Run, structure: int, packed: _Packed) -> Finding:
    share = share_of(packed.between, run.accesses)
    parts = packed.parts
    only_read = packed.writers != packed.threads
    use = "use" if only_read else "write"
    who = f" Not all of them write: only {threads_text(packed.writers)}." if only_read else ""
    return Finding(
        kind=Kind.LINE_FALSE_SHARING,
        structure=structure,
        name=str(run.trace.structures.item(structure, "name")),
        threads=packed.threads,
        why=(
            f"{len(packed.threads)} threads {use} the same cache lines. Each of them {use}s its "
            f"own {counted(parts.part, 'byte')} of {LINE_BYTES}.{who} They share no data. But "
            "they take the lines from each other's caches, up to "
            f"{counted(packed.between, 'time')} ({percent(share)} of the accesses of the run). "
            f"{_TO_COUNT}"
        ),
        fixes=tuple(Fix(text) for text in separate(parts)),
        evidence=(
            Evidence("accesses that can take a line from another thread", packed.between, "count"),
            Evidence("of the run's accesses", share, "share"),
            Evidence("bytes of a line that a thread uses", parts.part, "bytes"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=0.8 * sureness(share, MIN_PACKED_SHARE, 10 * MIN_PACKED_SHARE),
        nearer=packed.between,
    )


def _of_table(subject: Subject, common: _Common) -> Finding:
    """The finding about a table of which all threads write any entry."""
    like = "as those of a histogram or an array of locks"
    what = f"any entry of it, {like}"
    apart = f"Pad each entry to {LINE_BYTES} bytes, so that it takes no other entry from a cache."
    if subject.seen.byte_overlap.by_chance < MIN_BYTE_PAIRS:
        what = (
            f"all cache lines of it. Either they write any entry, {like}, or the entries of "
            "several threads lie side by side: samples do not show which"
        )
        apart = "If entries of several threads lie side by side, put those of each thread together."
    found = _truly_shared(subject.run, subject.structure, common, what)
    return replace(found, fixes=(*found.fixes[:1], Fix(apart), *found.fixes[1:]))


def _truly_shared(
    run: Run,
    structure: int,
    common: _Common,
    what: str = "",
) -> Finding:
    like = "the two ends of a queue" if common.ends else "a counter or a lock"
    what = what or f"the same bytes of cache lines, as those of {like}"
    share = share_of(common.between, run.accesses)
    return Finding(
        kind=Kind.LINE_TRUE_SHARING,
        structure=structure,
        name=str(run.trace.structures.item(structure, "name")),
        threads=common.threads,
        why=(
            f"{len(common.threads)} threads write {what}. Each write takes the line from the "
            f"caches of the other threads, up to {counted(common.between, 'time')} "
            f"({percent(share)} of the accesses of the run). {_TO_COUNT}"
        ),
        fixes=tuple(Fix(text) for text in ((_ENDS,) * common.ends + (*share_less(), _APART))),
        evidence=(
            Evidence("accesses that can take a line from another thread", common.between, "count"),
            Evidence("of the run's accesses", share, "share"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=0.8 * sureness(share, MIN_WRITTEN_LINES, 10 * MIN_WRITTEN_LINES),
        nearer=common.between,
    )
