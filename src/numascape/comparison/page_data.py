# SPDX-License-Identifier: Apache-2.0
"""The content of a comparison's page as plain data, beside the reports of both runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from numascape.analysis.text import short_printable
from numascape.comparison.change import Comparison, StructureChange
from numascape.comparison.conclusion import cautions, conclusion, several_nodes
from numascape.comparison.measures import RunMeasures, StructureMeasures
from numascape.comparison.printing import run_measures
from numascape.findings import Finding
from numascape.report import Draft
from numascape.report.run import plain

FORMAT: Final = "numascape-comparison"
VERSION: Final = 1
MAX_STRUCTURES: Final = 1000
"""Maximum number of structures of the page, the most used ones first."""
MAX_FINDINGS: Final = 100
"""Maximum number of findings of each list: gone, new, in both."""
_LONGEST_NAME: Final = 400
_LONGEST_SENTENCE: Final = 2000
_SMALLEST_CHANGE: Final = 0.005
"""A smaller change of a share is neither better nor worse."""

Positions = dict[int, int]
"""For each structure of a trace, its position in the report of this trace."""


def page_data(
    comparison: Comparison, reports: tuple[Draft, Draft], addresses: tuple[str, str]
) -> dict[str, Any]:
    """The page's data; `addresses` are those of the two reports."""
    positions = [_positions(report) for report in reports]
    shown = comparison.structures[:MAX_STRUCTURES]
    verdicts = zip(
        (comparison.before, comparison.after), comparison.verdicts, addresses, strict=True
    )
    rows = [_row_of(shown, side) for side in (0, 1)]
    data = {
        "conclusion": conclusion(comparison),
        "cautions": cautions(comparison),
        "several_nodes": several_nodes(comparison),
        "runs": [_run(*each) for each in verdicts],
        "measures": _measures(comparison),
        "structures": [_structure(change, positions) for change in shown],
        "left_out": len(comparison.structures) - len(shown),
        "findings": {
            "gone": _findings(comparison.gone, rows[0]),
            "new": _findings(comparison.new, rows[1]),
            "kept": _findings(comparison.kept, rows[1]),
        },
    }
    return {"format": FORMAT, "version": VERSION, **plain(data)}


def _positions(report: Draft) -> Positions:
    return {
        entry.structure: position
        for position, entry in enumerate(report.structures)
        if entry.instance < 0
    }


def _row_of(shown: Sequence[StructureChange], side: int) -> Positions:
    """For each structure of one of the traces, its row on the page."""
    return {
        number: row
        for row, change in enumerate(shown)
        if (measures := (change.before, change.after)[side]) is not None
        for number in measures.structure
    }


def _run(run: RunMeasures, verdict: str, address: str) -> dict[str, Any]:
    return {
        "file": _name(run.path.name),
        "program": _name(Path(run.program).name),
        "command": short_printable(shlex.join([run.program, *run.arguments]), _LONGEST_SENTENCE),
        "threads": run.threads,
        "machine": _name(run.machine),
        "started": run.started,
        "counts": run.counts,
        "verdict": short_printable(verdict, _LONGEST_SENTENCE),
        "address": address,
    }


def _measures(comparison: Comparison) -> list[dict[str, Any]]:
    """The numbers of the runs as text; `tone`: 1 is better, -1 worse."""
    before, after = comparison.before, comparison.after
    shares = {
        "foreign share": (before.foreign_share, after.foreign_share),
        "remote share": (before.remote_share, after.remote_share),
        "busiest node's share": (before.busiest_node_share, after.busiest_node_share),
    }
    return [
        {
            "name": name,
            "before": old,
            "after": new,
            "change": change,
            "tone": _tone(*shares.get(name, (None, None))),
        }
        for name, old, new, change in run_measures(comparison)
    ]


def _tone(before: float | None, after: float | None) -> int:
    if before is None or after is None or abs(after - before) < _SMALLEST_CHANGE:
        return 0
    return -1 if after > before else 1


def _structure(change: StructureChange, positions: Sequence[Positions]) -> dict[str, Any]:
    site = change.site
    sides = zip((change.before, change.after), positions, strict=True)
    return {
        "name": _name(site.name),
        "kind": _name(site.kind),
        "function": _name(site.function),
        "file": _name(site.file),
        "line": site.line,
        "sides": [_side(measures, of) for measures, of in sides],
    }


def _side(measures: StructureMeasures | None, positions: Positions) -> dict[str, Any] | None:
    """One run's part of a row. Its figure is that of the most used structure at the place."""
    if measures is None:
        return None
    return {
        "position": positions.get(measures.structure[0], -1),
        "alike": len(measures.structure),
        "size": measures.size,
        "instances": measures.instances,
        "accesses": measures.accesses,
        "share": measures.share,
        "foreign": measures.foreign_share,
        "remote": measures.remote_share,
        "first": measures.first_toucher,
        "first_share": measures.first_touch_share,
        "nodes": sorted(measures.nodes.items()),
    }


def _findings(findings: Iterable[Finding], rows: Positions) -> list[dict[str, Any]]:
    return [
        {
            "kind": finding.kind.value,
            "name": _name(finding.name),
            "row": -1 if finding.structure is None else rows.get(finding.structure, -1),
            "why": short_printable(finding.why, _LONGEST_SENTENCE),
            "advice": [short_printable(text, _LONGEST_SENTENCE) for text in finding.advice],
        }
        for finding in list(findings)[:MAX_FINDINGS]
    ]


def _name(text: str) -> str:
    return short_printable(text, _LONGEST_NAME)
