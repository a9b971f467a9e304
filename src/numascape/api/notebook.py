# SPDX-License-Identifier: Apache-2.0
"""A trace in a notebook: its findings, its most used structures, and their strips."""

from __future__ import annotations

import base64
from html import escape

from numascape.analysis.run_description import describe_run
from numascape.errors import NumascapeError
from numascape.findings import Finding, find
from numascape.quantities import bytes_text, count_text, percent, share_text
from numascape.terminal import printable
from numascape.trace import Trace
from numascape.trace.summary import structure_summary

_ROWS = 20
_FINDINGS = 3
_LONGEST = 200
_HEADINGS = ("Structure", "Kind", "Size", "Reads", "Writes", "Share", "Threads", "First", "Where")


def trace_as_html(trace: Trace) -> str:
    """Return the view of a notebook as HTML. Every name in it is escaped."""
    sentences = "<br>".join(_text(line) for line in describe_run(trace))
    return f"<p>{sentences}</p>{_findings(trace)}{_structures(trace)}{_strips(trace)}"


def _findings(trace: Trace) -> str:
    found = [finding for finding in find(trace) if finding.to_do]
    items = "".join(f"<li>{_finding(finding)}</li>" for finding in found[:_FINDINGS])
    more = len(found) - _FINDINGS
    rest = f"<p>{more} more findings: <code>.findings()</code></p>" if more > 0 else ""
    return f"<ol>{items}</ol>{rest}" if found else "<p>No finding needs a fix.</p>"


def _finding(finding: Finding) -> str:
    name = f" of <b>{_text(finding.name)}</b>" if finding.name else ""
    gain = f", {percent(finding.gain.share)} of the run time" if finding.gain else ""
    fix = f"<br>Fix: {_text(finding.advice[0])}" if finding.advice else ""
    return f"<b>{_text(finding.kind.value)}</b>{name}{gain}. {_text(finding.why)}{fix}"


def _structures(trace: Trace) -> str:
    summary = structure_summary(trace)
    heading = "".join(f"<th>{name}</th>" for name in _HEADINGS)
    rows = []
    for row in summary.head(_ROWS).iter_rows(named=True):
        first = row["first_touch_thread"]
        line = f":{row['line']}" if row["line"] else ""
        where = f"{row['file'].rpartition('/')[2]}{line} {row['function']}".strip()
        instances = f"{row['instances']} x " if row["instances"] > 1 else ""
        cells = (
            *(row["name"], row["kind"], instances + bytes_text(row["size"])),
            *(count_text(row["reads"]), count_text(row["writes"]), share_text(row["share"])),
            *(str(row["threads"]), "" if first is None else str(first), where),
        )
        rows.append("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>")
    more = summary.height - len(rows)
    rest = f"<p>{more} more structures: <code>.summary()</code></p>" if more > 0 else ""
    return f"<table><thead><tr>{heading}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}"


def _strips(trace: Trace) -> str:
    """The strips of the most used structures as an image; nothing if there are none."""
    from numascape.figures.drawing import draw, encode

    try:
        image = base64.b64encode(encode(draw(trace, "strip"), ".png")).decode()
    except NumascapeError:  # first touches only, or an empty trace
        return ""
    text = "The dominant thread of each page"
    return f'<img width="420" alt="{text}" src="data:image/png;base64,{image}">'


def _text(text: str) -> str:
    shown = printable(text)
    return escape(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…")
