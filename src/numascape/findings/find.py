# SPDX-License-Identifier: Apache-2.0
"""All diagnoses together: which apply to what, in which order, and what they gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    uneven_work,
)
from numascape.findings.finding import Finding
from numascape.findings.gain import with_gains
from numascape.findings.groups import Group, grouped
from numascape.findings.subject import Run, Subject, examine
from numascape.findings.thresholds import SMALL_GAIN
from numascape.machine.description import Machine
from numascape.trace import Trace
from numascape.trace.counting import only_touches

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


def find(
    trace: Trace, machine: Machine | None = None, files: SourceFiles | None = None
) -> list[Finding]:
    """All findings about a trace, those that gain most first, what is well as it is last.

    `machine`: where the gain is predicted for; by default the recorded one. With one node there is
    none to predict, and `nearer` ranks. Loops and schedules are read from `files`, if given.
    """
    return findings_of(examine(trace, machine, files))


def findings_of(run: Run) -> list[Finding]:
    """All findings about a run that was looked at; none without counts of accesses."""
    if only_touches(run.trace):
        return []
    found = [finding for subject in run.subjects for finding in of_structure(subject)]
    found += uneven_work.diagnose(run)
    found += piled_node.diagnose(run)
    found += migrated_threads.diagnose(run)
    found = with_gains(run, found)
    found = _worth_it(run, found)
    return ranked(run, [*found, *no_problem.diagnose(run, found)])


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
