# SPDX-License-Identifier: Apache-2.0
"""All diagnoses together: which apply to what, in which order, and what they gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from numascape.analysis.ownership import Owner, is_remainder
from numascape.analysis.source_files import SourceFiles
from numascape.findings import (
    cache_resident,
    changing_owners,
    displaced_pages,
    foreign_first_touch,
    foreign_stack,
    hot_pages,
    migrated_threads,
    no_problem,
    partitioned,
    parts_in_huge_pages,
    parts_in_pages,
    piled_node,
    serial_first_touch,
    shared_by_groups,
    shared_read,
    shared_written,
    touched_by_one,
    uneven_work,
)
from numascape.findings.finding import Finding, Kind, Remedy
from numascape.findings.gain import with_gains
from numascape.findings.groups import Group, grouped
from numascape.findings.subject import Run, Subject, examine
from numascape.findings.thresholds import SMALL_GAIN
from numascape.machine.description import Machine
from numascape.trace import Trace
from numascape.trace.counting import knows_touches, only_touches

Diagnosis = Callable[[Subject], Finding | None]

# How pages are used and touched: the first that applies says it all.
_ONE_OF: tuple[Diagnosis, ...] = (
    changing_owners.diagnose,
    parts_in_pages.diagnose,
    serial_first_touch.diagnose,
    foreign_first_touch.diagnose,
    displaced_pages.diagnose,
    shared_read.diagnose,
    shared_written.diagnose,
    shared_by_groups.diagnose,
    partitioned.diagnose,
)
# What may be true besides.
_BESIDES: tuple[Diagnosis, ...] = (hot_pages.diagnose, parts_in_huge_pages.diagnose)
# What first touches alone can show: the first that applies.
_OF_TOUCHES: tuple[Diagnosis, ...] = (displaced_pages.diagnose, touched_by_one.diagnose)
# What cannot be told without them.
_KINDS_BY_TOUCH = (
    Kind.SERIAL_FIRST_TOUCH,
    Kind.FOREIGN_FIRST_TOUCH,
    Kind.PARTITIONED,
    Kind.DISPLACED_PAGES,
)
_KINDS_OF_TOUCHES = (Kind.TOUCHED_BY_ONE, Kind.DISPLACED_PAGES, Kind.MIGRATED_THREADS)


def find(
    trace: Trace, machine: Machine | None = None, files: SourceFiles | None = None
) -> list[Finding]:
    """All findings about a trace, those that gain most first, what is well as it is last.

    `machine`: where the gain is predicted for; by default the recorded one. With one node there is
    none to predict, and `nearer` ranks. Loops and schedules are read from `files`, if given.
    """
    return findings_of(examine(trace, machine, files))


def findings_of(run: Run) -> list[Finding]:
    """All findings about a run that was looked at; see `not_judged`."""
    if only_touches(run.trace):
        return _of_touches(run)
    found = [finding for subject in run.subjects for finding in of_structure(subject)]
    found += uneven_work.diagnose(run)
    found += piled_node.diagnose(run)
    found += migrated_threads.diagnose(run)
    found = with_gains(run, found)
    found = _worth_it(run, found)
    return ranked(run, [*found, *no_problem.diagnose(run, found)])


def not_judged(trace: Trace) -> tuple[Kind, ...]:
    """The findings that nothing in the trace can show or rule out; see `left_open`."""
    if only_touches(trace):
        return tuple(kind for kind in Kind if kind not in _KINDS_OF_TOUCHES)
    return () if knows_touches(trace) else _KINDS_BY_TOUCH


def left_open(trace: Trace) -> str:
    """What the trace cannot say, and how to record what can, as a text; empty: nothing."""
    kinds = "; ".join(kind.value for kind in not_judged(trace) if kind is not Kind.NO_PROBLEM)
    if not kinds:
        return ""
    if only_touches(trace):
        return (
            "This trace has first touches only. Without counts of accesses it cannot be judged "
            f"whether NUMA matters to this run, nor: {kinds}. Record the program without "
            "`--recorder faults` for these."
        )
    return (
        "This trace does not have who touched pages first, so these cannot be judged: "
        f"{kinds}. Record page faults beside the samples (`perf record -e page-faults:u -c 1 -d`), "
        "or use `numascape record`."
    )


def _of_touches(run: Run) -> list[Finding]:
    """What a run's first touches show; nothing is predicted from them."""
    found = [
        next((f for f in (diagnose(subject) for diagnose in _OF_TOUCHES) if f is not None), None)
        for subject in run.subjects
    ]
    touched = [*_those(found), *migrated_threads.diagnose(run)]
    return ranked(run, [replace(finding, remedy=Remedy.NONE) for finding in touched])


def of_structure(subject: Subject) -> list[Finding]:
    """The findings about one structure, if its memory is the user's to place."""
    if subject.owner is Owner.RUNTIME or is_remainder(subject.row):
        return []
    if subject.owner is Owner.STACK:
        return _those([foreign_stack.diagnose(subject)])
    resident = cache_resident.diagnose(subject)
    if cache_resident.stays_in_caches(subject):
        return _those([resident])
    first = next((f for f in (diagnose(subject) for diagnose in _ONE_OF) if f is not None), None)
    return _those([first, *(diagnose(subject) for diagnose in _BESIDES)])


def _those(found: Sequence[Finding | None]) -> list[Finding]:
    return [finding for finding in found if finding is not None]


def _worth_it(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """Without those that gain hardly anything, even with the others of their group together."""
    groups = grouped(run, found)
    small = [group for group in groups if group.first.to_do and not _worth(group)]
    left_out = {id(finding) for group in small for finding in group.findings}
    return [finding for finding in found if id(finding) not in left_out]


def _worth(group: Group) -> bool:
    """Whether it may gain something: the model leaves a wide interval where little is known."""
    if group.gain is None:
        return group.share > SMALL_GAIN
    return group.gain.high > SMALL_GAIN and group.gain.share > -SMALL_GAIN


def weight(run: Run, finding: Finding) -> float:
    """What ranks findings: the predicted gain, else the share of accesses that could be nearer."""
    if finding.gain is not None:
        return finding.gain.share
    return finding.nearer / max(1, run.accesses)


def ranked(run: Run, found: Sequence[Finding]) -> list[Finding]:
    """Most gain first, then by what could come nearer, and how sure it is.

    Those without a prediction come after those with one.
    """

    def order(finding: Finding) -> tuple[bool, bool, float, float, float, int]:
        structure = -1 if finding.structure is None else finding.structure
        unknown = run.nodes is not None and finding.gain is None
        gain = round(weight(run, finding), 3)  # what differs less is alike
        return not finding.to_do, unknown, -gain, -finding.nearer, -finding.confidence, structure

    return sorted(found, key=order)
