# SPDX-License-Identifier: Apache-2.0
"""Writes the page of a comparison: the viewer with the reports of both runs inside."""

from __future__ import annotations

import dataclasses
import html
from pathlib import Path

from numascape.analysis.source_files import readable_sources
from numascape.comparison.change import Comparison
from numascape.comparison.page_data import page_data
from numascape.report import Draft, draft
from numascape.report.encode import encode_text
from numascape.report.fitting import encode_within
from numascape.report.render import SIZE, filled, viewer_page, write_page
from numascape.trace import Trace

SIDES = ("a", "b")
"""The names of the two runs in addresses of the page."""
IN_FILE = ("#v=1&run=a", "#v=1&run=b")
"""The addresses of the two reports in the file."""
_SPARE = 20_000
"""Bytes by which the comparison may grow when its reports are folded."""


def render_comparison(
    comparison: Comparison,
    shown: tuple[Trace, Trace],
    path: Path,
    source: bool | None = None,
) -> int:
    """Write the page, at most SIZE bytes, and return its size.

    The reports are made from the traces `shown`. `source` is whether source text is shown; None
    means: if the trace was recorded on this system. Raises NumascapeError if the file cannot be
    written.
    """
    before, after = shown
    drafts = report_of(before, 0, "#v=1", source), report_of(after, 1, "#v=1", source)
    content = fill_comparison(viewer_page(), comparison, drafts, IN_FILE)
    write_page(content, path)
    return len(content)


def report_of(trace: Trace, side: int, address: str, source: bool | None = None) -> Draft:
    """The report of one of the runs, which leads back to the comparison at `address`."""
    started = draft(trace, readable_sources(trace.info, source))
    compared = {"side": SIDES[side], "name": trace.path.name, "url": address}
    return dataclasses.replace(started, run={**started.run, "compared": compared})


def fill_comparison(
    template: str,
    comparison: Comparison,
    drafts: tuple[Draft, Draft],
    addresses: tuple[str, str],
) -> bytes:
    """The viewer page `template` with the comparison and both reports, each in half of the room."""
    title = html.escape(f"{Path(comparison.after.program).name[:200]}: two runs")
    text = encode_text(page_data(comparison, drafts, addresses))
    room = SIZE - len(filled(template, title, text, {})) - _SPARE
    first, before = encode_within(drafts[0], room // 2)
    second, after = encode_within(drafts[1], room - len(first))
    # Folding a report may leave structures out, and so change the positions of the others.
    text = encode_text(page_data(comparison, (before, after), addresses))
    return filled(template, title, text, {"run-a": first, "run-b": second})
