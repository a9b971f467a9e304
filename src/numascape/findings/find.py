# SPDX-License-Identifier: Apache-2.0
"""Applies all diagnoses, in order, and ranks the findings by their gain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import polars as pl

from numascape.analysis.ownership import Owner, is_remainder
from numascape.analysis.source_files import SourceFiles
from numascape.findings.diagnoses import (
    cache_resident,
    changing_users,
    displaced_pages,
    hot_pages,
    huge_page_false_sharing,
    load_imbalance,
    migrated_threads,
    no_problem,
    one_first_toucher,
    one_node_serves_all,
    packed_parts,
    page_false_sharing,
    partitioned,
    producer_consumer,
    remote_first_touch,
    serial_first_touch,
    shared_by_groups,
    shared_read_mostly,
    shared_stack,
    shared_written,
    too_few_samples,
    travelling_lines,
)
from numascape.findings.examination import examine
from numascape.findings.finding import LINES_TRAVEL, Evidence, Finding, Fix, Kind
from numascape.findings.gain import by_cause, with_gains, without_gains
from numascape.findings.own_memory import has_own_instances
from numascape.findings.pattern import Pattern
from numascape.findings.python_advice import is_python
from numascape.findings.sample_sizes import MAX_SAMPLED_CONFIDENCE
from numascape.findings.subject import Run, Subject
from numascape.findings.thresholds import (
    LOOKUP_WEIGHT,
    MIN_GAIN,
    MIN_LOOKUP_BYTES,
    MIN_STRUCTURE_SHARE,
)
from numascape.machine.description import Machine
from numascape.naming.python_statements import TEMPORARY
from numascape.prediction.computing import MEMORY_NS
from numascape.quantities import share_of
from numascape.trace import Trace
from numascape.trace.counting import (
    FEWEST_SAMPLES,
    counted_share,
    estimate_errors,
    knows_threads,
    knows_touches,
    only_touches,
    structure_error,
)
from numascape.trace.info import PERF

Diagnosis = Callable[[Subject], Finding | None]

# Diagnoses of how pages are used and touched. A structure gets the first that applies.
_ONE_OF: tuple[Diagnosis, ...] = (
    page_false_sharing.diagnose_by_lines,
    producer_consumer.diagnose,
    changing_users.diagnose,
    page_false_sharing.diagnose,
    serial_first_touch.diagnose,
    remote_first_touch.diagnose,
    displaced_pages.diagnose,
    shared_read_mostly.diagnose,
    shared_written.diagnose,
    shared_by_groups.diagnose,
    partitioned.diagnose,
)
# Diagnoses from first touches alone. A structure gets the first that applies.
_OF_TOUCHES: tuple[Diagnosis, ...] = (displaced_pages.diagnose, one_first_toucher.diagnose)
# The kinds of findings that need first touches.
_KINDS_BY_TOUCH = (
    Kind.SERIAL_FIRST_TOUCH,
    Kind.REMOTE_FIRST_TOUCH,
    Kind.PARTITIONED,
    Kind.DISPLACED_PAGES,
)
_KINDS_OF_TOUCHES = (Kind.ONE_FIRST_TOUCHER, Kind.DISPLACED_PAGES, Kind.MIGRATED_THREADS)


_SHARE_PAGES = (Kind.SHARED_READ_MOSTLY, Kind.SHARED_WRITTEN, Kind.SHARED_BY_GROUPS)
"""Findings about pages whose threads use the same data, and not each thread its own parts."""

_HAND_PAGES = (Kind.PRODUCER_CONSUMER, Kind.SHARED_BY_GROUPS, Kind.CHANGING_USERS)
"""Findings about pages that go from one thread to another."""


def find(
    trace: Trace, machine: Machine | None = None, files: SourceFiles | None = None
) -> list[Finding]:
    """Return the findings about a trace: largest gain first, those without a fix last.

    The gain is predicted for `machine`, by default the recorded one. With one node, no gain is
    predicted, and findings are ranked by `nearer`. Loops and schedules are read from `files`, if
    given.
    """
    return findings_of(examine(trace, machine, files))


def findings_of(run: Run, *, gains: bool = True) -> list[Finding]:
    """Return the findings about an examined run; see `not_judged`. `gains`: predict them."""
    if not knows_threads(run.trace):
        return []
    if only_touches(run.trace):
        return _of_touches(run)
    if run.sampled and run.accesses < FEWEST_SAMPLES:
        return _present([too_few_samples.of_run(run)])
    found = [finding for subject in run.subjects for finding in of_structure(subject)]
    found += load_imbalance.diagnose(run)
    found += one_node_serves_all.diagnose(run)
    found += migrated_threads.diagnose(run)
    found += travelling_lines.diagnose(
        run, {one.structure for one in found if one.kind is Kind.PAGE_FALSE_SHARING}
    )
    travelling = {one.structure for one in found if one.kind in LINES_TRAVEL}
    found += packed_parts.diagnose(run, travelling)
    found = _without_contradictions(_relevant(run, _without_consequences(found)))
    found = _without_earlier_blocks(run, found)
    if run.computes:
        found = _that_matter_beside_computing(run, found)
    found = with_gains(run, found) if gains else without_gains(found)
    found = [replace(finding, threads=_in_places_of(run, finding.threads)) for finding in found]
    found = [_with_error(run, finding) for finding in found]
    return ranked(run, [*found, *no_problem.diagnose(run, found)])


def _with_error(run: Run, finding: Finding) -> Finding:
    """The finding with the error of its shares, if its structure's accesses were sampled."""
    subject = None if finding.structure is None else run.subject(finding.structure)
    if subject is not None and counted_share(run.trace) < 1.0:
        return _with_error_of_bursts(run, finding, subject.structure)
    if subject is None or subject.judged is None or finding.kind is Kind.TOO_FEW_SAMPLES:
        return finding
    error = max(structure_error(run.trace, subject.structure), subject.judged.error)
    stated = Evidence("largest error of a share, from samples (95 %)", error, "share")
    sure = finding.confidence * MAX_SAMPLED_CONFIDENCE
    return replace(finding, evidence=(*finding.evidence, stated), confidence=sure)


def _with_error_of_bursts(run: Run, finding: Finding, structure: int) -> Finding:
    """The finding with the error of the structure's accesses, of which only bursts were counted."""
    errors = estimate_errors(run.trace, ["structure"]).filter(pl.col("structure") == structure)
    if errors.is_empty():
        return finding
    error = float(errors["error"][0] / max(1.0, errors["accesses"][0]))
    stated = Evidence("error of its accesses, from bursts (95 %)", error, "share")
    sure = finding.confidence * max(0.0, 1.0 - error)
    return replace(finding, evidence=(*finding.evidence, stated), confidence=sure)


def _in_places_of(run: Run, threads: Iterable[int]) -> tuple[int, ...]:
    """These threads, and all later ones with the same places in repeated teams."""
    wanted = set(threads)
    later = (thread for thread, first in run.first_in_place.items() if first in wanted)
    return tuple(sorted({*wanted, *later}))


def not_judged(trace: Trace) -> tuple[Kind, ...]:
    """The kinds of findings that this trace can neither show nor rule out."""
    if not knows_threads(trace):
        return tuple(Kind)
    if only_touches(trace):
        return tuple(kind for kind in Kind if kind not in _KINDS_OF_TOUCHES)
    return () if knows_touches(trace) else _KINDS_BY_TOUCH


def describe_not_judged(trace: Trace) -> str:
    """Describe these kinds and how to record what they need; empty if there are none."""
    kinds = "; ".join(kind.value for kind in not_judged(trace) if kind is not Kind.NO_PROBLEM)
    if not kinds:
        return ""
    if not knows_threads(trace):
        return (
            "This trace does not show which threads access the memory. So it is unknown where the "
            "memory should be. Record without `--recorder damon` to see the threads."
        )
    if only_touches(trace):
        return (
            "This trace has first touches only. These findings need counts of accesses: "
            f"{kinds}. Record the program without `--recorder faults` to get them."
        )
    how = "Start the program with `numascape record`"
    if trace.info.recorder.name == PERF:
        how = (
            "Record page faults with the samples (`perf record -e page-faults:u -c 1 -d`), "
            "or use `numascape record`"
        )
    return f"This trace has no first touches. These findings need them: {kinds}. {how}."


def _of_touches(run: Run) -> list[Finding]:
    """The findings from first touches alone, without predicted gains."""
    found = [
        next((f for f in (diagnose(subject) for diagnose in _OF_TOUCHES) if f is not None), None)
        for subject in run.subjects
    ]
    touched = [*_present(found), *migrated_threads.diagnose(run)]
    return ranked(run, touched)


def of_structure(subject: Subject) -> list[Finding]:
    """The findings about one structure, if the user can place its memory."""
    if subject.owner is Owner.RUNTIME or is_remainder(subject.row):
        return []
    if subject.structure in subject.run.waited_on:
        return []
    if subject.owner is Owner.STACK:
        return _present([shared_stack.diagnose(subject)])
    if subject.pattern is Pattern.UNKNOWN:
        # Few accesses show already which threads write and which read.
        handed = producer_consumer.diagnose(subject) or cache_resident.diagnose(subject)
        return _present([handed or too_few_samples.diagnose(subject)])
    if cache_resident.is_cache_resident(subject):
        if _is_of_pythons_library(subject):
            return []
        # Small data that passes from one thread to another still goes from cache to cache.
        handed = producer_consumer.diagnose(subject)
        return _present([handed or cache_resident.diagnose(subject)])
    first = next((f for f in (diagnose(subject) for diagnose in _ONE_OF) if f is not None), None)
    if first is not None and first.kind in _SHARE_PAGES:
        first = too_few_samples.of_lines(subject) or first
    rare = subject.share < MIN_STRUCTURE_SHARE
    unnamed = _is_temporary(subject) or _is_of_pythons_library(subject)
    if first is not None and not first.to_do and (rare or unnamed):
        first = None
    if first is not None and _is_temporary(subject) and has_own_instances(subject):
        # The allocator hands their memory on from thread to thread, and nobody can place it.
        first = None
    if first is not None and first.kind is Kind.PRODUCER_CONSUMER:
        return [first]
    huge = huge_page_false_sharing.diagnose(subject)
    if first is not None and first.to_do and huge is not None:
        # Huge pages matter only after the first fix, so they are no finding of their own.
        first, huge = replace(first, fixes=(*first.fixes, Fix(_then(huge)))), None
    # Splitting by accesses helps only threads that keep their parts.
    changes = first is not None and first.kind is Kind.CHANGING_USERS
    return _present([first, None if changes else hot_pages.diagnose(subject), huge])


def _is_temporary(subject: Subject) -> bool:
    """Whether it is an array that no variable of a Python program ever had, as in `a + b + c`.

    It has the name of its statement, of the function that keeps it, or of the variable that gets
    the result. If nothing is wrong with it, it needs no finding.
    """
    row, name = subject.row, subject.name
    unnamed = name.endswith((f"+{row['line']}", "()")) or name.startswith(TEMPORARY)
    return is_python(row["file"]) and unnamed


def _is_of_pythons_library(subject: Subject) -> bool:
    """Whether a library of a Python program keeps it, such as the buffers of a matrix product.

    No statement of the program allocates it, and its library has no debug information.
    """
    return subject.run.has_python and not subject.row["file"]


def _then(huge: Finding) -> str:
    """The fixes for huge pages, after the fix of another finding."""
    return f"{huge.why} {huge.advice[0]}"


def _present(found: Sequence[Finding | None]) -> list[Finding]:
    return [finding for finding in found if finding is not None]


def _relevant(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """Leave out findings whose group as a whole concerns almost no accesses."""
    kept = []
    for members in by_cause(found):
        share = share_of(sum(_weight(run, one) * one.nearer for one in members), run.accesses)
        # A line that travels costs as much as about a hundred other accesses.
        if not members[0].to_do or share > MIN_GAIN or members[0].kind in LINES_TRAVEL:
            kept += [id(finding) for finding in members]
    return [finding for finding in found if id(finding) in set(kept)]


def _weight(run: Run, finding: Finding) -> int:
    """How many other accesses take as long as one access that becomes nearer.

    No second-level cache answers lookups of random threads in much memory.
    """
    subject = None if finding.structure is None else run.subject(finding.structure)
    if subject is None or not subject.looked_up:
        return 1
    return LOOKUP_WEIGHT if subject.touched_bytes >= MIN_LOOKUP_BYTES else 1


def _without_consequences(found: Sequence[Finding]) -> list[Finding]:
    """Leave out true sharing of lines, if pages go from thread to thread anyway.

    The findings about these pages say why, and their fix is the one for the lines, too.
    """
    handed = {finding.structure for finding in found if finding.kind in _HAND_PAGES}
    return [
        finding
        for finding in found
        if finding.kind is not Kind.LINE_TRUE_SHARING or finding.structure not in handed
    ]


def _that_matter_beside_computing(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """Leave out what cannot matter in a run that computes for most of its time.

    Only lines that travel often take a share of the time. Accesses do not show how long its
    threads work, so nothing is said about their balance either, unless instructions are known.
    """
    least = MIN_GAIN * run.cpu_ns / MEMORY_NS

    def matters(finding: Finding) -> bool:
        if finding.kind is Kind.LOAD_IMBALANCE:
            return run.executed > 0
        return finding.kind in LINES_TRAVEL and finding.nearer >= least

    return [finding for finding in found if not finding.to_do or matters(finding)]


def _without_contradictions(found: Sequence[Finding]) -> list[Finding]:
    """Leave out the finding that nothing has to be done, if lines of the structure travel."""
    travelling = {finding.structure for finding in found if finding.kind in LINES_TRAVEL}
    return [f for f in found if f.to_do or f.structure not in travelling]


def _without_earlier_blocks(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """Leave out that nothing has to be done for blocks that one thread used alone, while it grew.

    Another structure of this name, with the block that threads use, has a finding with a fix.
    """
    fixed = {f.name for f in found if f.to_do and f.structure is not None}

    def is_earlier(finding: Finding) -> bool:
        subject = None if finding.structure is None else run.subject(finding.structure)
        alone = subject is not None and subject.whole.threads == 1
        return alone and not finding.to_do and finding.name in fixed

    return [finding for finding in found if not is_earlier(finding)]


def weight(run: Run, finding: Finding) -> float:
    """The rank of a finding: its predicted gain, or else the share that could become local."""
    if finding.gain is not None:
        return finding.gain.share
    return share_of(finding.nearer, run.accesses)


def ranked(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """Sort by gain, largest first, then by what could become local, then by confidence.

    Findings without a prediction come after those with one.
    """

    def order(finding: Finding) -> tuple[bool, bool, float, float, float, int]:
        structure = -1 if finding.structure is None else finding.structure
        unknown = run.nodes is not None and finding.gain is None
        gain = round(weight(run, finding), 3)  # smaller differences do not count
        return not finding.to_do, unknown, -gain, -finding.nearer, -finding.confidence, structure

    return sorted(found, key=order)
