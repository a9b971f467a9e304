# SPDX-License-Identifier: Apache-2.0
"""The HTML report: trace -> plain data (`draft`, `from_trace`) -> one file (`render`)."""

from numascape.analysis.source_files import SourceFiles, readable_sources
from numascape.report.build import Draft, draft, from_trace
from numascape.report.data import Report
from numascape.report.machine import on_machine
from numascape.report.machines import shown_and_others
from numascape.report.render import render

__all__ = [
    "Draft",
    "Report",
    "SourceFiles",
    "draft",
    "from_trace",
    "on_machine",
    "readable_sources",
    "render",
    "shown_and_others",
]
