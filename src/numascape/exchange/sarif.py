# SPDX-License-Identifier: Apache-2.0
"""Findings as SARIF 2.1.0, which code hosts and editors show at the source line.

The format is the OASIS standard "Static Analysis Results Interchange Format".
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from numascape.findings import Finding, Kind
from numascape.installation import installed_version
from numascape.terminal import printable
from numascape.trace import Trace

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_WARNING_FROM = 0.02
"""A finding whose fix is predicted to save less of the run's time is a note."""


def sarif_log(trace: Trace, findings: Sequence[Finding], folder: Path) -> dict[str, object]:
    """A log with one result for each finding that has a fix, at its source line.

    Files below `folder`, the root of the sources, are named relative to it, as code hosts need. A
    finding without a known line is at the line of its structure's allocation, or has no location.
    """
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "numascape",
                        "version": installed_version(),
                        "rules": [_rule(kind) for kind in Kind],
                    }
                },
                "originalUriBaseIds": {"SRCROOT": {"uri": _uri(folder.resolve()) + "/"}},
                "results": [_result(trace, f, folder.resolve()) for f in findings if f.to_do],
                "columnKind": "utf16CodeUnits",
            }
        ],
    }


def _rule_id(kind: Kind) -> str:
    return "numa/" + kind.value.replace(",", "").replace(" ", "-")


def _rule(kind: Kind) -> dict[str, Any]:
    return {
        "id": _rule_id(kind),
        "name": "".join(word.capitalize() for word in kind.value.replace(",", "").split()),
        "shortDescription": {"text": kind.value},
    }


def _result(trace: Trace, finding: Finding, folder: Path) -> dict[str, Any]:
    name = printable(finding.name)
    gain = finding.gain
    saved = (
        f" Predicted to save {gain.share:.0%} of the run time on {gain.machine}." if gain else ""
    )
    fixes = " ".join(f"Fix: {printable(text)}" for text in finding.advice)
    subject = f"{name}: " if name else ""
    message = f"{subject}{finding.kind.value}. {printable(finding.why)} {fixes}{saved}"
    result: dict[str, Any] = {
        "ruleId": _rule_id(finding.kind),
        "ruleIndex": list(Kind).index(finding.kind),
        "level": "note" if gain is not None and gain.share < _WARNING_FROM else "warning",
        "message": {"text": message},
        "rank": round(100 * finding.confidence, 1),
        # A code host recognises the same finding of another run by this, even at another line.
        "partialFingerprints": {"finding/v1": _fingerprint(finding)},
    }
    if (location := _location(trace, finding, folder)) is not None:
        result["locations"] = [location]
    return result


def _fingerprint(finding: Finding) -> str:
    return hashlib.sha256(f"{finding.kind.value}\0{finding.name}".encode()).hexdigest()[:32]


def _location(trace: Trace, finding: Finding, folder: Path) -> dict[str, Any] | None:
    if finding.place is not None and finding.place.file and finding.place.line:
        return _at(finding.place.file, finding.place.line, folder)
    if finding.structure is not None:
        row = trace.structures.row(finding.structure, named=True)
        if row["file"] and row["line"]:
            return _at(row["file"], row["line"], folder)
    return None


def _at(file: str, line: int, folder: Path) -> dict[str, Any]:
    path = Path(os.path.normpath(file))
    if not path.is_absolute() or path.is_relative_to(folder):
        inside = path.relative_to(folder) if path.is_absolute() else path
        artifact = {"uri": quote(str(inside)), "uriBaseId": "SRCROOT"}
    else:
        artifact = {"uri": _uri(path)}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line}}}


def _uri(path: Path) -> str:
    return "file://" + quote(str(path))
