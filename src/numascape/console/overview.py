# SPDX-License-Identifier: Apache-2.0
"""A whole run in the terminal: structures, strips, phases, traffic, sharing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from rich.console import Console
from rich.text import Text

from numascape import terminal
from numascape.analysis.run_description import describe_run
from numascape.analysis.traffic import node_traffic
from numascape.console.findings import print_conclusions, print_indented
from numascape.console.strips import Users, strip_lines, strip_of, user_colour, users_of
from numascape.console.tables import cut_between_words, name, part_text, place, table_of
from numascape.quantities import bytes_text, count_text, percent, share_text
from numascape.trace import Trace
from numascape.trace.counting import knows_threads, only_touches
from numascape.trace.phase import TraceOfPhase

NEGLIGIBLE = 1e-4
"""Structures with a lower share of the accesses are hidden, here and in the report."""
_STRIPS = 10
_PHASES = 20
_WIDEST_STRIP = 96
_COLOURS_NAMED = 12
_NODES = 16
"""Number of nodes up to which the traffic of each pair is shown."""


def print_overview(
    console: Console,
    trace: Trace,
    summary: pl.DataFrame,
    conclusions: Sequence[str] = (),
    *,
    every: bool,
) -> None:
    """Print the run; `summary` is :func:`structure_summary` of `trace`, a run or a phase of it.

    `conclusions` are lines about its findings, which come first.
    """
    print_conclusions(console, conclusions)
    for line in describe_run(trace):
        print_indented(console, Text(terminal.printable(line)), 0)
    if isinstance(trace, TraceOfPhase):
        print_indented(console, Text(f"below: phase {_phase_name(trace)} only"), 0)
    visible = summary if every else summary.filter(pl.col("share") >= NEGLIGIBLE)
    has_traffic = trace.info.host.nodes > 1 and knows_threads(trace)
    local = local_shares(trace) if has_traffic else None
    console.print()
    if only_touches(trace):
        _print_touched(console, visible)
    elif not knows_threads(trace):
        _print_used(console, visible)
        _print_nodes_used(console, trace)
    else:
        _print_structures(console, visible, local)
    if hidden := summary.height - visible.height:
        things = "structure" if hidden == 1 else "structures"
        are = "is" if hidden == 1 else "are"
        what = "pages" if only_touches(trace) else "accesses"
        console.print(
            f"{hidden} {things} below 0.01 % of {what} {are} not shown (--all)", soft_wrap=True
        )
    used = visible.filter((pl.col("reads") + pl.col("writes")) > 0)
    _print_strips(console, trace, used.head(_STRIPS))
    if only_touches(trace):
        return
    if trace.phases.height > 1 and not isinstance(trace, TraceOfPhase):
        _print_phases(console, trace, every=every)
    if has_traffic:
        _print_traffic(console, trace)
    if knows_threads(trace):
        _print_sharing(console, trace)


def _phase_name(trace: TraceOfPhase) -> str:
    return f"{trace.phase}, {name(trace.phases.item(trace.phase, 'name'))}"


def local_shares(trace: Trace) -> dict[int, float]:
    """For each structure, the share of local accesses, if nodes are known."""
    moved = node_traffic(trace, trace.accesses, ["structure"]).filter(
        (pl.col("thread_node") >= 0) & (pl.col("page_node") >= 0)
    )
    own = pl.col("accesses").filter(pl.col("thread_node") == pl.col("page_node")).sum()
    sums = moved.group_by("structure").agg(share=own / pl.col("accesses").sum())
    return dict(sums.iter_rows())


_HEADINGS = ("Structure", "Kind", "Size", "Reads", "Writes", "Share", "Threads", "First", "Where")


def _print_structures(
    console: Console, summary: pl.DataFrame, local: dict[int, float] | None
) -> None:
    headings = list(_HEADINGS)
    rows = [_cells(row) for row in summary.iter_rows(named=True)]
    if "memory_lines" in summary.columns:
        headings.insert(6, "Lines")
        for lines, row in zip(summary["memory_lines"], rows, strict=True):
            row.insert(6, count_text(lines))
    if local is not None:
        headings.insert(6, "Local")
        for number, row in zip(summary["structure"], rows, strict=True):
            row.insert(6, percent(local[number]) if number in local else "?")
    faint = [not named for named in summary["named"]]
    text = ("Structure", "Kind", "Where")
    console.print(table_of(headings, rows, console.width, text, faint))


def _print_touched(console: Console, summary: pl.DataFrame) -> None:
    """Print the first touches of a trace without counts."""
    rows = []
    for row in summary.iter_rows(named=True):
        what, kind, extent, _, touched, share, threads, first, where = _cells(row)
        rows.append([what, kind, extent, touched, share, threads.split("r ")[-1], first, where])
    headings = ("Structure", "Kind", "Size", "Touched", "Share", "Threads", "First", "Where")
    faint = [not named for named in summary["named"]]
    console.print(table_of(headings, rows, console.width, ("Structure", "Kind", "Where"), faint))


def _print_used(console: Console, summary: pl.DataFrame) -> None:
    """Print the structures of a trace without threads."""
    rows = []
    for row in summary.iter_rows(named=True):
        what, kind, extent, used, _, share, _, _, where = _cells(row)
        rows.append([what, kind, extent, used, share, where])
    headings = ("Structure", "Kind", "Size", "Accesses", "Share", "Where")
    faint = [not named for named in summary["named"]]
    console.print(table_of(headings, rows, console.width, ("Structure", "Kind", "Where"), faint))


def _print_nodes_used(console: Console, trace: Trace) -> None:
    """Print which nodes the accesses go to."""
    keys = ("structure", "instance", "page")
    found = (
        trace.accesses.join(trace.placement, on=keys).group_by("node").agg(pl.col("reads").sum())
    )
    total = int(found["reads"].sum())
    shares = [f"{percent(reads / total)} to node {node}" for node, reads in
              found.sort("node").iter_rows()]  # fmt: skip
    if shares:
        console.print(f"accesses to pages whose node is known: {', '.join(shares)}", soft_wrap=True)


def _cells(row: dict[str, Any]) -> list[str]:
    """The cells of a structure's row, in the order of _HEADINGS."""
    instances = f"{row['instances']} x " if row["instances"] > 1 else ""
    return [
        name(row["name"]),
        row["kind"],
        instances + bytes_text(row["size"]),
        count_text(row["reads"]),
        count_text(row["writes"]),
        share_text(row["share"]),
        _threads(row["threads"], row["readers"], row["writers"]),
        _first_toucher(row["first_touch_thread"], row["first_touch_share"]),
        place(str(row["file"]), row["line"], str(row["function"])),
    ]


def _threads(threads: int, readers: int, writers: int) -> str:
    return str(threads) if readers == writers == threads else f"{readers}r {writers}w"


def _first_toucher(thread: int | None, share: float | None) -> str:
    if thread is None or share is None:
        return ""
    return f"{thread}" if share == 1 else f"{thread} ({percent(share)})"


def _print_strips(console: Console, trace: Trace, shown: pl.DataFrame) -> None:
    if shown.is_empty():
        return
    names = [name(text) for text in shown["name"]]
    longest = max(9, min(max(map(len, names)), console.width // 4))
    columns = max(16, min(_WIDEST_STRIP, console.width - longest - 2))
    users = users_of(trace)
    console.print()
    print_strip_legend(console, users, touches=only_touches(trace))
    for structure, text in zip(shown["structure"], names, strict=True):
        label = cut_between_words(text, longest)
        for line in strip_lines(strip_of(trace, structure, users, columns), users, console):
            console.print(Text.assemble(f"{label:<{longest}} ", line), no_wrap=True)
            label = ""


def print_strip_legend(console: Console, users: Users, *, touches: bool = False) -> None:
    """Print the legend of the strips for this console."""
    what = users.what
    if touches:
        console.print(f"Pages, first to last, by the {what} that touched most of them first")
        return
    if console.color_system is None or console.no_color or console.options.ascii_only:
        below = f"; below them the {what} with more than half" if len(users.names) > 1 else ""
        console.print(f"Pages, first to last: accesses, few . to many @{below}", soft_wrap=True)
        return
    legend = Text(f"Pages, first to last; height: accesses; colour: {what} with most")
    shown = range(len(users.names))
    if len(shown) > _COLOURS_NAMED:
        shown = range(0, len(shown), -(-len(shown) // _COLOURS_NAMED))
    legend.append(" ")
    for number in shown:
        legend.append(f" {users.names[number]}", style=user_colour(users, number))
    console.print(legend, soft_wrap=True)


def _print_phases(console: Console, trace: Trace, *, every: bool) -> None:
    sums = trace.accesses.group_by("phase").agg(
        pl.col("reads", "writes").sum(), threads=pl.col("thread").n_unique()
    )
    rows = trace.phases.join(sums, on="phase", how="left").with_columns(
        pl.col("reads", "writes", "threads").fill_null(0)
    )
    seconds = dict(
        trace.phase_spans.group_by("phase")
        .agg((pl.col("end_ns") - pl.col("start_ns")).sum() / 1e9)
        .iter_rows()
    )
    total = int(rows["reads"].sum()) + int(rows["writes"].sum())
    accesses = pl.col("reads") + pl.col("writes")
    shown = (
        rows if every or rows.height <= _PHASES else rows.top_k(_PHASES, by=accesses).sort("phase")
    )
    headings = ("Phase", "No.", "Times", "Seconds", "Reads", "Writes", "Share", "Threads", "Where")
    cells = [
        [
            name(row["name"]),
            str(row["phase"]),
            str(row["repetitions"]),
            f"{seconds[row['phase']]:.3g}" if row["phase"] in seconds else "",
            count_text(row["reads"]),
            count_text(row["writes"]),
            part_text(row["reads"] + row["writes"], total),
            str(row["threads"]),
            place(row["file"], row["line"], ""),
        ]
        for row in shown.iter_rows(named=True)
    ]
    console.print()
    console.print(table_of(headings, cells, console.width, ("Phase", "Where")))
    if rows.height > shown.height:
        rest = rows.height - shown.height
        console.print(f"{rest} phases with fewer accesses are not shown (--all)", soft_wrap=True)


def _print_traffic(console: Console, trace: Trace) -> None:
    moved = node_traffic(trace, trace.accesses, [])
    total = int(moved["accesses"].sum())
    known = moved.filter((pl.col("thread_node") >= 0) & (pl.col("page_node") >= 0))
    local = int(known.filter(pl.col("thread_node") == pl.col("page_node"))["accesses"].sum())
    remote = int(known["accesses"].sum()) - local
    console.print()
    unknown = total - local - remote
    why = f", {part_text(unknown, total)} unknown (threads that moved, pages without a known node)"
    console.print(
        f"Between nodes: {part_text(local, total)} of the accesses are local, "
        f"{part_text(remote, total)} remote{why if unknown else ''}",
        soft_wrap=True,
    )
    pages = sorted(known["page_node"].unique())
    if not pages or len(pages) > _NODES:
        return
    cell = {(row["thread_node"], row["page_node"]): row["accesses"] for row in known.to_dicts()}
    rows = [
        [f"threads on {node}", *(part_text(cell.get((node, page), 0), total) for page in pages)]
        for node in sorted(known["thread_node"].unique())
    ]
    console.print(
        table_of(["", *(f"pages on {page}" for page in pages)], rows, console.width, [""])
    )


def _print_sharing(console: Console, trace: Trace) -> None:
    """Print how many threads use a page; a page with users on several nodes is remote for some."""
    if trace.threads.height < 2 or trace.accesses.is_empty():
        return
    by_page = (
        trace.accesses.lazy()
        .group_by("structure", "instance", "page")
        .agg(accesses=(pl.col("reads") + pl.col("writes")).sum(), users=pl.col("thread").n_unique())
        .group_by(users=_group(pl.col("users"), trace.threads.height))
        .agg(pages=pl.len(), accesses=pl.col("accesses").sum())
        .collect()
    )
    total, pages = int(by_page["accesses"].sum()), int(by_page["pages"].sum())
    found = {row["users"]: row for row in by_page.to_dicts()}
    rows = [
        [label, part_text(found[label]["pages"], pages), part_text(found[label]["accesses"], total)]
        for label in _labels(trace.threads.height)
        if label in found
    ]
    console.print()
    console.print(
        table_of(
            ("Threads per page", "Pages", "Accesses"), rows, console.width, ("Threads per page",)
        )
    )


def _bounds(threads: int) -> list[tuple[int, int]]:
    """The ranges 1, 2, 3-4, 5-8, ... up to the number of threads."""
    bounds, low = [(1, 1)], 2
    while low <= threads:
        high = min(threads, 2 if low == 2 else (low - 1) * 2)
        bounds.append((low, high))
        low = high + 1
    return bounds


def _labels(threads: int) -> list[str]:
    return [f"{low}" if low == high else f"{low} to {high}" for low, high in _bounds(threads)]


def _group(users: pl.Expr, threads: int) -> pl.Expr:
    label = pl.lit("1")
    for (low, _), text in zip(_bounds(threads), _labels(threads), strict=True):
        label = pl.when(users >= low).then(pl.lit(text)).otherwise(label)
    return label
