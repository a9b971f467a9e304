# SPDX-License-Identifier: Apache-2.0
"""Two runs compared: their structures matched, and what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numascape.analysis.source_files import readable_sources
from numascape.comparison.measures import (
    NodeAccesses,
    RunMeasures,
    StructureKey,
    StructureMeasures,
    measure_run,
    measure_structures,
)
from numascape.findings import Finding, examine, findings_of
from numascape.findings.groups import group_findings
from numascape.findings.verdict import verdict
from numascape.machine import Machine
from numascape.quantities import counted
from numascape.trace import Trace

# Two structures match if one of these rules gives the same values for both. The strictest rule is
# first. A change of the program often moves lines, but rarely renames functions.
_SAME: tuple[Callable[[StructureKey], tuple[Any, ...]], ...] = (
    lambda site: (site.name, site.kind, site.function, site.file, site.line),
    lambda site: (site.name, site.kind, site.function, site.file),
    lambda site: (site.name, site.kind, site.file),
    lambda site: (site.name, site.kind),
)


@dataclass(frozen=True)
class StructureChange:
    """A structure in both runs; None if a run does not have it. `site` is that of the later run."""

    site: StructureKey
    before: StructureMeasures | None
    after: StructureMeasures | None

    @property
    def share(self) -> float:
        """The larger of its two shares of the accesses."""
        return max(side.share for side in (self.before, self.after) if side is not None)


@dataclass(frozen=True)
class Comparison:
    """Two runs, their structures (most used first), and the gone, new and common findings.

    `verdicts` are the conclusions about the two runs, as `numascape advise` prints them.
    """

    before: RunMeasures
    after: RunMeasures
    verdicts: tuple[str, str]
    structures: tuple[StructureChange, ...]
    gone: tuple[Finding, ...]
    new: tuple[Finding, ...]
    kept: tuple[Finding, ...]


def compare_traces(
    before: Trace,
    after: Trace,
    machine: Machine | None = None,
    shown: tuple[Trace, Trace] | None = None,
) -> Comparison:
    """Compare two runs, of the same program or of versions of it. Reads both traces.

    Findings and verdicts are for `machine`, by default for the one of each recording. `shown` has
    both traces on another machine. If it is given, the structures are measured on this machine.
    """
    to_do, verdicts = zip(*(_judged(trace, machine) for trace in (before, after)), strict=True)
    before, after = shown or (before, after)
    uses = [NodeAccesses.of(trace) for trace in (before, after)]
    structures = match_structures(
        measure_structures(before, uses[0]), measure_structures(after, uses[1])
    )
    gone, new, kept = _changed(*to_do)
    measured = measure_run(before, uses[0]), measure_run(after, uses[1])
    return Comparison(*measured, verdicts, structures, gone, new, kept)


def match_structures(
    before: dict[StructureKey, StructureMeasures], after: dict[StructureKey, StructureMeasures]
) -> tuple[StructureChange, ...]:
    """Pair structures by name, kind and place, then by looser rules if the match is unique.

    Structures without a partner are returned alone. The most used ones come first.
    """
    left, right = dict(before), dict(after)
    found = []
    for same in _SAME:
        groups: dict[tuple[Any, ...], tuple[list[StructureKey], list[StructureKey]]] = {}
        for side, sites in enumerate((left, right)):
            for site in sites:
                groups.setdefault(same(site), ([], []))[side].append(site)
        for olds, news in groups.values():
            if len(olds) == len(news) == 1:
                found.append(StructureChange(news[0], left.pop(olds[0]), right.pop(news[0])))
    found += [StructureChange(site, side, None) for site, side in left.items()]
    found += [StructureChange(site, None, side) for site, side in right.items()]
    return tuple(sorted(found, key=lambda change: (-change.share, change.site.name)))


def _judged(trace: Trace, machine: Machine | None) -> tuple[list[Finding], str]:
    """The findings that need a fix, and the conclusion, both as `advise` has them.

    Sources that are newer than the run are not read.
    """
    run = examine(trace, machine, readable_sources(trace.info, None))
    found = findings_of(run)
    groups = [group for group in group_findings(run, found) if group.first.to_do]
    count = f"{counted(len(groups), 'finding')}." if groups else ""
    return [finding for finding in found if finding.to_do], f"{count} {verdict(run, found)}".strip()


def _changed(
    before: list[Finding], after: list[Finding]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """Findings that are gone, new, and in both runs; equal findings have the same kind and name."""

    def keys(findings: list[Finding]) -> set[tuple[str, str]]:
        return {(finding.kind.value, finding.name) for finding in findings}

    old, new = keys(before), keys(after)
    return (
        tuple(f for f in before if (f.kind.value, f.name) not in new),
        tuple(f for f in after if (f.kind.value, f.name) not in old),
        tuple(f for f in after if (f.kind.value, f.name) in old),
    )
