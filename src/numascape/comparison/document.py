# SPDX-License-Identifier: Apache-2.0
"""A comparison as plain data for other programs; docs/compare.md names the fields."""

from __future__ import annotations

import dataclasses
from typing import Any

from numascape.comparison.change import Comparison
from numascape.comparison.conclusion import cautions, conclusion
from numascape.comparison.measures import RunMeasures, StructureMeasures
from numascape.findings import Finding


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """The document that is printed with --json."""
    return {
        "conclusion": conclusion(comparison),
        "cautions": list(cautions(comparison)),
        "before": {**_run(comparison.before), "verdict": comparison.verdicts[0]},
        "after": {**_run(comparison.after), "verdict": comparison.verdicts[1]},
        "structures": [
            {
                **dataclasses.asdict(change.site),
                "before": _structure(change.before),
                "after": _structure(change.after),
            }
            for change in comparison.structures
        ],
        "findings": {
            "gone": [_finding(finding) for finding in comparison.gone],
            "new": [_finding(finding) for finding in comparison.new],
            "kept": [_finding(finding) for finding in comparison.kept],
        },
    }


def _run(run: RunMeasures) -> dict[str, Any]:
    return {**dataclasses.asdict(run), "path": str(run.path), "accesses": run.accesses}


def _structure(side: StructureMeasures | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {**dataclasses.asdict(side), "accesses": side.accesses}


def _finding(finding: Finding) -> dict[str, Any]:
    return {"kind": finding.kind.value, "structure": finding.name, "why": finding.why}
