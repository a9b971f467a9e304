# SPDX-License-Identifier: Apache-2.0
"""The HTML report: trace -> plain data (`draft`, `from_trace`) -> one file (`render`)."""

from numascape.report.build import Draft, draft, from_trace
from numascape.report.data import Report
from numascape.report.render import render

__all__ = ["Draft", "Report", "draft", "from_trace", "render"]
