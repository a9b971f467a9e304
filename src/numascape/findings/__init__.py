# SPDX-License-Identifier: Apache-2.0
"""Findings: problems of the placement of pages and threads, their causes, and their fixes.

Each diagnosis has its own file. find.py applies all of them, thresholds.py has every number.
"""

from numascape.findings.examination import examine
from numascape.findings.find import describe_not_judged, find, findings_of, not_judged
from numascape.findings.finding import Evidence, Figure, Finding, Gain, Kind, Place

__all__ = [
    "Evidence",
    "Figure",
    "Finding",
    "Gain",
    "Kind",
    "Place",
    "describe_not_judged",
    "examine",
    "find",
    "findings_of",
    "not_judged",
]
