# SPDX-License-Identifier: Apache-2.0
"""Writes a comparison as one HTML file, which loads nothing else."""

from __future__ import annotations

import base64
import shlex
from html import escape
from pathlib import Path
from typing import Final

from numascape.atomic import replacing_file
from numascape.comparison.change import Comparison, StructureChange
from numascape.comparison.measures import RunMeasures, StructureMeasures
from numascape.comparison.picture import draw_change
from numascape.comparison.printing import (
    first_text,
    percent,
    points,
    run_measures,
    several_nodes,
)
from numascape.comparison.style import STYLE
from numascape.console.overview import NEGLIGIBLE
from numascape.console.tables import name, place
from numascape.figures.drawing import encode
from numascape.findings import Finding
from numascape.quantities import bytes_text
from numascape.trace import Trace

_PICTURES: Final = 12
"""Number of structures with a picture; each takes some ten thousand bytes."""
# Each column of a picture is then about three pixels wide.
_DOTS_PER_INCH: Final = 200
_ROWS: Final = 200
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title><style>{style}</style></head><body>
<header><p class="kind">Numascape · two runs compared</p><h1>{heading}</h1>{runs}</header>
<main>{tiles}{findings}{structures}{pictures}</main></body></html>
"""


def write_page(comparison: Comparison, file: Path) -> int:
    """Write the page, complete or not at all, and return its size in bytes. Raises OSError."""
    with replacing_file(file) as beside:  # before drawing, which takes seconds
        content = comparison_page(comparison).encode()
        beside.write_bytes(content)
    return len(content)


def comparison_page(comparison: Comparison) -> str:
    """The page; every name in it is escaped."""
    program = _text(Path(comparison.after.program).name)
    return _PAGE.format(
        title=f"{program} · before and after",
        style=STYLE,
        heading=f"{program}: before and after",
        runs=_runs(comparison),
        tiles=_tiles(comparison),
        findings=_findings(comparison),
        structures=_structures(comparison),
        pictures=_pictures(comparison),
    )


def _text(text: str) -> str:
    return escape(name(text))


def _runs(comparison: Comparison) -> str:
    sides = (("Before", comparison.before), ("After", comparison.after))
    sections = (
        _run(which, run, verdict)
        for (which, run), verdict in zip(sides, comparison.verdicts, strict=True)
    )
    return f'<div class="runs">{"".join(sections)}</div>'


def _run(which: str, run: RunMeasures, verdict: str) -> str:
    command = shlex.join([Path(run.program).name, *run.arguments])
    return (
        f"<section><h2>{which}</h2><p><code>{_text(command)}</code></p>"
        f"<p>{_text(run.path.name)} · {run.threads} threads · {_text(run.machine)}<br>"
        f"{_text(run.started)}</p><p>{escape(verdict)}</p></section>"
    )


def _tiles(comparison: Comparison) -> str:
    before, after = comparison.before, comparison.after
    worse = {
        "foreign share": (before.foreign_share, after.foreign_share),
        "remote share": (before.remote_share, after.remote_share),
        "busiest node's share": (before.busiest_node_share, after.busiest_node_share),
    }
    tiles = []
    for what, old, new, change in run_measures(comparison):
        tone = _tone(*worse.get(what, (None, None)))
        tiles.append(
            f'<div class="tile {tone}"><h3>{escape(what)}</h3>'
            f'<p><span class="old">{escape(old)}</span> → <b>{escape(new)}</b></p>'
            f'<p class="change">{escape(change)}</p></div>'
        )
    return (
        f'<section><div class="tiles">{"".join(tiles)}</div><p class="note">Foreign: accesses to '
        "pages that another thread touched first. Remote: to pages on another node than the "
        "thread's; a thread that was seen on several nodes counts on each alike.</p></section>"
    )


def _tone(before: float | None, after: float | None) -> str:
    if before is None or after is None or abs(after - before) < 0.005:
        return ""
    return "worse" if after > before else "better"


def _findings(comparison: Comparison) -> str:
    columns = [
        ("Gone", "better", comparison.gone),
        ("New", "worse", comparison.new),
        ("In both", "", comparison.kept),
    ]
    lists = "".join(_finding_list(*column) for column in columns)
    return f'<section><h2>Findings</h2><div class="findings">{lists}</div></section>'


def _finding_list(title: str, tone: str, findings: tuple[Finding, ...]) -> str:
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.kind.value, []).append(finding)
    items = "".join(_finding_item(kind, alike) for kind, alike in kinds.items())
    shown = f"<ul>{items}</ul>" if findings else '<p class="note">none</p>'
    return f'<div class="{tone}"><h3>{title} <span>{len(findings)}</span></h3>{shown}</div>'


def _finding_item(kind: str, findings: list[Finding]) -> str:
    """A finding and its structures; the reasons can be unfolded."""
    names = ", ".join(_text(finding.name) for finding in findings if finding.name)
    reasons = "".join(
        f"<p>{_text(': '.join(filter(None, (finding.name, finding.why))))}</p>"
        for finding in findings
    )
    return (
        f"<li><b>{escape(kind)}</b>{': ' if names else ''}{names}"
        f"<details><summary>why</summary>{reasons}</details></li>"
    )


def _structures(comparison: Comparison) -> str:
    several = several_nodes(comparison)
    headings = ["Structure", "Size", "Share of accesses", "Foreign", "First touch"]
    headings += ["Remote", "Pages on nodes"] if several else []
    shown = [c for c in comparison.structures if c.share >= NEGLIGIBLE]
    rows = [_row(change, several) for change in shown[:_ROWS]]
    left_out = len(comparison.structures) - len(rows)
    rest = f'<p class="note">{left_out} structures with few accesses are not shown.</p>'
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return (
        f'<section><h2>Structures</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{rest if left_out else ''}</section>"
    )


def _row(change: StructureChange, several: bool) -> str:
    site, sides = change.site, (change.before, change.after)
    where = escape(place(site.file, site.line, site.function))
    size_text = " → ".join(dict.fromkeys(_size(side) for side in sides))
    cells = [
        f"<b>{_text(site.name)}</b><br><small>{where}</small>",
        size_text,
        _bars([None if s is None else s.share for s in sides], "share"),
        _bars([None if s is None else s.foreign_share for s in sides], "foreign"),
        " → ".join(dict.fromkeys("-" if s is None else escape(first_text(s)) for s in sides)),
    ]
    if several:
        cells.append(_bars([None if s is None else s.remote_share for s in sides], "remote"))
        cells.append("".join(_node_bar(side) for side in sides))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _size(side: StructureMeasures | None) -> str:
    if side is None:
        return "-"
    return (
        f"{side.instances} x {bytes_text(side.size)}"
        if side.instances > 1
        else bytes_text(side.size)
    )


def _bars(shares: list[float | None], kind: str) -> str:
    """Two bars with their numbers: the earlier run above the later one."""
    lines = "".join(
        f'<div class="bar {kind} {which}"><i style="width:{100 * (share or 0):.1f}%"></i>'
        f"<span>{escape(percent(share))}</span></div>"
        for which, share in zip(("before", "after"), shares, strict=True)
    )
    change = points(*shares)
    tone = "" if kind == "share" else _tone(*shares)
    return f'<div class="bars {tone}" title="{escape(change)}">{lines}</div>'


def _node_bar(side: StructureMeasures | None) -> str:
    """A bar with one part per node, as long as its share of the structure's pages."""
    pages = {} if side is None else side.nodes
    total = sum(pages.values())
    if not total:
        return '<div class="nodes"><span>unknown</span></div>'
    parts = "".join(
        f'<i class="node{node % 8}" style="width:{100 * count / total:.2f}%" '
        f'title="node {node}: {count} pages">{node if count / total > 0.08 else ""}</i>'
        for node, count in pages.items()
    )
    return f'<div class="nodes">{parts}</div>'


def _pictures(comparison: Comparison) -> str:
    traces = Trace.read(comparison.before.path), Trace.read(comparison.after.path)
    shown = [c for c in comparison.structures if c.share >= NEGLIGIBLE][:_PICTURES]
    figures = []
    for change in shown:
        sides = [
            None if side is None else (trace, side.structure[0])
            for trace, side in zip(traces, (change.before, change.after), strict=True)
        ]
        picture = base64.b64encode(encode(draw_change(*sides), ".svg", _DOTS_PER_INCH)).decode()
        title = f"{_text(change.site.name)}"
        figures.append(
            f'<figure><figcaption>{title}</figcaption><img alt="accesses to {title} by thread and '
            f'page, before and after" src="data:image/svg+xml;base64,{picture}"></figure>'
        )
    return (
        '<section><h2>Who uses which pages</h2><p class="note">Darker: more accesses; both sides '
        "have one scale. Below: the thread that touched each page first"
        f"{', and the node that held it' if several_nodes(comparison) else ''}.</p>"
        f"{''.join(figures)}</section>"
    )
