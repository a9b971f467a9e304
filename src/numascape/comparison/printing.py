# SPDX-License-Identifier: Apache-2.0
"""Prints a comparison in the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from numascape import terminal
from numascape.comparison.change import Comparison, StructureChange
from numascape.comparison.conclusion import cautions, conclusion, several_nodes
from numascape.comparison.measures import RunMeasures, StructureMeasures
from numascape.console.overview import NEGLIGIBLE
from numascape.console.tables import name, natural_width, place, table_of
from numascape.findings import Finding
from numascape.quantities import count_text, grouped_digits, percent, share_text

_NAMES = 6
"""Number of structures that are named for one kind of finding."""
_ROWS = 40
"""Number of structures that are compared in the table; a job of MPI has some hundreds."""
_NODES = 8
"""Number of nodes up to which each node's pages are listed."""


def print_comparison(console: Console, comparison: Comparison, *, every: bool) -> None:
    """Print the conclusion, the runs, the structures, and the findings.

    `every`: also little used structures.
    """
    console.print(Text(conclusion(comparison), "bold"), soft_wrap=True)
    for sentence in cautions(comparison):
        console.print(Text(terminal.printable(sentence)), soft_wrap=True)
    console.print()
    runs = (("before", comparison.before), ("after", comparison.after))
    for (which, run), verdict in zip(runs, comparison.verdicts, strict=True):
        console.print(Text(f"{which:<7}{_run(run)}"), soft_wrap=True)
        console.print(Text(f"{'':<7}{terminal.printable(verdict)}"), soft_wrap=True)
    console.print()
    console.print(_measures(comparison, console.width))
    console.print()
    shown = list(comparison.structures)
    if not every:
        shown = [change for change in shown if change.share >= NEGLIGIBLE][:_ROWS]
    for number, table in enumerate(_structures(comparison, shown, console.width)):
        if number:
            console.print()
        console.print(table)
    if hidden := len(comparison.structures) - len(shown):
        console.print(
            f"{hidden} structures with fewer accesses are not shown (--all)", soft_wrap=True
        )
    changed = (("Gone", comparison.gone), ("New", comparison.new), ("In both", comparison.kept))
    for title, findings in changed:
        if findings:
            console.print()
            console.print(Text(title, "bold"))
            for line in _by_kind(findings, every=every):
                console.print(Text(f"  {line}"), soft_wrap=True)


def _by_kind(findings: Sequence[Finding], *, every: bool) -> Iterator[str]:
    """A line for each kind, with the names of its structures."""
    names: dict[str, list[str]] = {}
    for finding in findings:
        names.setdefault(finding.kind.value, []).append(name(finding.name) if finding.name else "")
    for kind, structures in names.items():
        named = [structure for structure in structures if structure]
        shown = named if every or len(named) <= _NAMES else named[: _NAMES - 1]
        more = f" and {len(named) - len(shown)} more" if len(shown) < len(named) else ""
        yield f"{kind}: {', '.join(shown)}{more}" if named else kind


def _run(run: RunMeasures) -> str:
    command = shlex.join([run.program, *run.arguments])
    return terminal.printable(f"{run.path.name}: {command[:200]}, {run.threads} threads")


def run_measures(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """The measures of the whole run: name, before, after, and the change."""
    before, after = comparison.before, comparison.after
    rows = [
        (
            "accesses",
            count_text(before.accesses),
            count_text(after.accesses),
            _ratio(before, after),
        ),
        _share_row("foreign share", before.foreign_share, after.foreign_share),
    ]
    if several_nodes(comparison):
        rows += [
            _share_row("remote share", before.remote_share, after.remote_share),
            (
                "busiest node's share",
                _busiest(before),
                _busiest(after),
                points(before.busiest_node_share, after.busiest_node_share),
            ),
        ]
    rows.append(("pages touched", grouped_digits(before.pages), grouped_digits(after.pages), ""))
    if several_nodes(comparison) and min(before.known_share, after.known_share) < 0.995:
        known = share_cell(before.known_share), share_cell(after.known_share)
        rows.append(("accesses with known nodes", *known, ""))
    return rows


def _share_row(what: str, before: float | None, after: float | None) -> tuple[str, str, str, str]:
    return what, share_cell(before), share_cell(after), points(before, after)


def _ratio(before: RunMeasures, after: RunMeasures) -> str:
    if not before.accesses:
        return ""
    return f"{after.accesses / before.accesses - 1:+.1%}".replace("%", " %")


def _busiest(run: RunMeasures) -> str:
    if run.busiest_node is None:
        return "?"
    return f"{share_cell(run.busiest_node_share)} (node {run.busiest_node})"


def share_cell(share: float | None) -> str:
    """A share with one digit, `?` if unknown."""
    return "?" if share is None else share_text(share)


def points(before: float | None, after: float | None) -> str:
    """The change of a share in percentage points; empty if one share is unknown."""
    if before is None or after is None:
        return ""
    return f"{100 * (after - before):+.1f} points"


def _measures(comparison: Comparison, width: int) -> Table:
    headings = ("The run", "Before", "After", "Change")
    return table_of(headings, run_measures(comparison), width, ("The run",))


_WHERE = "Where"
_ON_NODES = "Pages on nodes"
_CUT = ("Structure", _ON_NODES, _WHERE)


def _structures(comparison: Comparison, shown: list[StructureChange], width: int) -> list[Table]:
    """One table, or two if the columns about nodes do not fit beside the others."""
    used = _columns(shown, {"Share": _share, "Foreign": foreign_text, "First": first_text})
    nodes = {}
    if several_nodes(comparison):
        nodes = _columns(shown, {"Remote": remote_text, _ON_NODES: nodes_text})
    names = {"Structure": [name(change.site.name) for change in shown]}
    sites = [change.site for change in shown]
    where = {_WHERE: [place(site.file, site.line, site.function) for site in sites]}
    one = names | used | nodes | where
    parts = [one]
    if nodes and natural_width(one) > width:
        parts = [names | used | where, names | nodes]
    return [
        table_of(list(part), list(zip(*part.values(), strict=True)), width, _CUT) for part in parts
    ]


def _columns(
    shown: Sequence[StructureChange], measures: dict[str, Callable[[StructureMeasures], str]]
) -> dict[str, list[str]]:
    """A column for each measure: one value, or those before and after if they differ."""
    return {
        heading: [_change(_of(change.before, text), _of(change.after, text)) for change in shown]
        for heading, text in measures.items()
    }


def _change(before: str, after: str) -> str:
    """Both values with their unit once, or the value that did not change."""
    if before == after:
        return before
    number = before.removesuffix(" %") if after.endswith(" %") else before
    return f"{number} → {after}"


def _of(side: StructureMeasures | None, text: Callable[[StructureMeasures], str]) -> str:
    return "-" if side is None else text(side)


def _share(side: StructureMeasures) -> str:
    return share_cell(side.share)


def foreign_text(side: StructureMeasures) -> str:
    """The share of accesses to pages that another thread touched first."""
    return share_cell(side.foreign_share)


def remote_text(side: StructureMeasures) -> str:
    """The remote share of a structure's accesses."""
    return share_cell(side.remote_share)


def first_text(side: StructureMeasures) -> str:
    """The thread that touched most pages first, with its share if that is not all."""
    if side.first_toucher is None or side.first_touch_share is None:
        return "?"
    part = "" if side.first_touch_share == 1 else f" ({percent(side.first_touch_share)})"
    return f"{side.first_toucher}{part}"


def nodes_text(side: StructureMeasures) -> str:
    """The share of a structure's pages on each node, `0:75 1:25` in percent."""
    total = sum(side.nodes.values())
    if not total:
        return "?"
    if len(side.nodes) == 1:
        return f"all on {next(iter(side.nodes))}"
    if len(side.nodes) > _NODES:
        return f"{len(side.nodes)} nodes"
    return " ".join(f"{node}:{round(100 * pages / total)}" for node, pages in side.nodes.items())
