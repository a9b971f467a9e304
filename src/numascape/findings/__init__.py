# SPDX-License-Identifier: Apache-2.0
"""Findings: what is wrong with where pages lie and threads run, why, and what to do about it.

Each diagnosis has a file of its own; find.py brings them together, thresholds.py has every number.
"""

from numascape.findings.find import find, findings_of, left_open, not_judged
from numascape.findings.finding import Evidence, Figure, Finding, Gain, Kind, Place
from numascape.findings.subject import examine

__all__ = [
    "Evidence",
    "Figure",
    "Finding",
    "Gain",
    "Kind",
    "Place",
    "examine",
    "find",
    "findings_of",
    "left_open",
    "not_judged",
]
