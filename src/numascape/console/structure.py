# SPDX-License-Identifier: Apache-2.0
"""Prints one structure in the terminal: its threads, first touches and source lines."""

from __future__ import annotations

import polars as pl
from rich.console import Console
from rich.text import Text

from numascape import terminal
from numascape.analysis.call_paths import (
    accesses_by_path,
    calls_to,
    texts_of_calls,
    touches_by_path,
)
from numascape.analysis.line_transfers import between_places, between_threads
from numascape.console.overview import local_shares, print_strip_legend
from numascape.console.strips import strip_lines, strip_of, users_of
from numascape.console.tables import name, part_text, place, table_of
from numascape.findings import examine, findings_of
from numascape.findings.reading import reading_of
from numascape.quantities import bytes_text, count_text, grouped_digits, percent
from numascape.trace import Trace
from numascape.trace.counting import only_touches
from numascape.trace.phase import TraceOfPhase
from numascape.trace.schema import OPTIONAL_COLUMNS

_ROWS = 16
_FRAMES = 12
_CALLERS = 4
_WIDEST_STRIP = 96


def print_structure(console: Console, trace: Trace, structure: int, *, every: bool) -> None:
    """Print a structure of a run, or of a phase of it; `every`: all rows of the tables."""
    row = trace.structures.row(structure, named=True)
    chosen = pl.col("structure") == structure
    console.print(Text(name(row["name"]), "bold"), soft_wrap=True)
    instances = f"{row['instances']} instances of up to " if row["instances"] > 1 else ""
    where = place(row["file"], row["line"], row["function"])
    console.print(
        f"{row['kind']}, {instances}{bytes_text(row['size'])}, {grouped_digits(row['pages'])} pages"
        + (f", {where}" if where else ""),
        soft_wrap=True,
    )
    for frame in row["call_stack"][:_FRAMES]:
        console.print(f"  from {name(frame)}", soft_wrap=True)
    if isinstance(trace, TraceOfPhase):
        phase = name(trace.phases.item(trace.phase, "name"))
        console.print(f"below: phase {trace.phase}, {phase}, only", soft_wrap=True)
    _print_reading(console, trace, structure)
    seen = not only_touches(trace)
    local = local_shares(trace) if seen and trace.info.host.nodes > 1 else {}
    if structure in local:
        share = percent(local[structure])
        console.print(f"{share} of its accesses are local, as far as nodes are known.")
    _print_strip(console, trace, structure)
    parts = (
        *(_print_threads, _print_first_touch, _print_touching_paths, _print_lines, _print_paths),
        *(_print_transfers, _print_sides, _print_phases),
    )
    for print_part in parts if seen else (_print_first_touch, _print_touching_paths):
        print_part(console, trace, chosen, _ROWS if not every else 1 << 30)


def _print_reading(console: Console, trace: Trace, structure: int) -> None:
    run = examine(trace)
    reading = reading_of(run, structure, findings_of(run))
    console.print()
    for sentence in (*reading.see, *reading.advice):
        console.print(terminal.printable(sentence), soft_wrap=not console.is_terminal)


def _print_strip(console: Console, trace: Trace, structure: int) -> None:
    users = users_of(trace)
    console.print()
    print_strip_legend(console, users, touches=only_touches(trace))
    columns = max(16, min(_WIDEST_STRIP, console.width - 1))
    for line in strip_lines(strip_of(trace, structure, users, columns), users, console):
        console.print(line, no_wrap=True)


def _print_threads(console: Console, trace: Trace, chosen: pl.Expr, most: int) -> None:
    by_thread = (
        trace.accesses.filter(chosen)
        .group_by("thread")
        .agg(pl.col("reads", "writes").sum(), pages=pl.struct("instance", "page").n_unique())
        .join(
            trace.first_touch.filter(chosen).group_by("thread").agg(first=pl.len()),
            on="thread",
            how="full",
            coalesce=True,
        )
        .fill_null(0)
        .sort("thread")
    )
    total = int(by_thread["reads"].sum()) + int(by_thread["writes"].sum())
    accesses = pl.col("reads") + pl.col("writes")
    shown = by_thread.sort(-accesses.cast(pl.Float64), "thread").head(most).sort("thread")
    threads = trace.threads
    rows = [
        [
            str(row["thread"]),
            name(str(threads.item(row["thread"], "name"))),
            " ".join(map(str, threads.item(row["thread"], "nodes").to_list()[:8])),
            count_text(row["reads"]),
            count_text(row["writes"]),
            part_text(row["reads"] + row["writes"], total),
            count_text(row["pages"]),
            count_text(row["first"]),
        ]
        for row in shown.iter_rows(named=True)
    ]
    headings = ("Thread", "Name", "Node", "Reads", "Writes", "Share", "Pages", "First touched")
    _print(console, headings, rows, ("Name",), by_thread.height, "threads with fewer accesses")


def _print_first_touch(console: Console, trace: Trace, chosen: pl.Expr, most: int) -> None:
    by_place = (
        trace.first_touch.filter(chosen)
        .group_by("function", "file", "line")
        .agg(pages=pl.len(), threads=pl.col("thread").n_unique(), thread=pl.col("thread").min())
        .sort("pages", "file", "line", "function", descending=[True, False, False, False])
    )
    total = int(by_place["pages"].sum())
    rows = [
        [
            place(row["file"], row["line"], row["function"]) or "unknown",
            f"thread {row['thread']}" if row["threads"] == 1 else f"{row['threads']} threads",
            count_text(row["pages"]),
            part_text(row["pages"], total),
        ]
        for row in by_place.head(most).iter_rows(named=True)
    ]
    headings = ("First touched by", "Who", "Pages", "Share")
    _print(console, headings, rows, headings[:2], by_place.height, "more places")


def _certainty(estimated: int, accesses: int) -> str:
    if estimated == 0:
        return "exactly"
    return "estimated" if estimated == accesses else f"{part_text(estimated, accesses)} estimated"


def _print_lines(console: Console, trace: Trace, chosen: pl.Expr, most: int) -> None:
    labels = [
        name for name in OPTIONAL_COLUMNS["source_lines"] if name in trace.source_lines.columns
    ]
    by_line = (
        trace.source_lines.filter(chosen)
        .group_by("function", "file", "line")
        .agg(pl.col("reads", "writes", *labels).sum())
        .with_columns(accesses=pl.col("reads") + pl.col("writes"))
        .sort("accesses", "file", "line", "function", descending=[True, False, False, False])
    )
    total = int(by_line["accesses"].sum())
    rows = [
        [
            place(row["file"], row["line"], row["function"]) or "unknown",
            count_text(row["reads"]),
            count_text(row["writes"]),
            part_text(row["accesses"], total),
            *(_certainty(row[label], row["accesses"]) for label in labels),
        ]
        for row in by_line.head(most).iter_rows(named=True)
    ]
    headings = ("Source line", "Reads", "Writes", "Share", *("Known" for _ in labels))
    _print(console, headings, rows, headings[:1], by_line.height, "more lines")


def _print_touching_paths(console: Console, trace: Trace, chosen: pl.Expr, most: int) -> None:
    headings = ("First-touching code", "Called by", "Pages", "Share")
    _print_by_path(console, trace, touches_by_path(trace, chosen), headings, most)


def _print_paths(console: Console, trace: Trace, chosen: pl.Expr, most: int) -> None:
    headings = ("Sampled code", "Called by", "Samples", "Share")
    _print_by_path(console, trace, accesses_by_path(trace, chosen), headings, most)


def _print_by_path(
    console: Console, trace: Trace, by_path: pl.DataFrame, headings: tuple[str, ...], most: int
) -> None:
    """Print the rows (path, number), if there are any."""
    if by_path.is_empty():
        return
    number = by_path.columns[1]
    texts = texts_of_calls(trace)
    columns = trace.call_paths.select("file", "line", "function")
    files, lines, functions = (column.to_list() for column in columns)
    total = int(by_path[number].sum())
    shown = by_path.head(most)
    rows = []
    for path, many in zip(calls_to(trace, shown["path"]), shown[number], strict=True):
        *callers, innermost = (
            place(files[call], lines[call], functions[call]) or name(texts[call]) for call in path
        )
        called = ", ".join(reversed(callers[-_CALLERS:])) + (", ..." if callers[_CALLERS:] else "")
        rows.append([innermost, called, count_text(many), part_text(many, total)])
    _print(console, headings, rows, headings[:2], by_path.height, "more call paths")


def _false_sharing(row: dict[str, int]) -> str:
    judged = row["judged"]
    return part_text(judged - row["true_sharing"], judged) if judged else "unknown"


def _print_transfers(console: Console, trace: Trace, chosen: pl.Expr, most: int) -> None:
    pairs = between_threads(trace.transfers.filter(chosen))
    rows = [
        [
            f"{row['from_thread']} to {row['thread']}",
            count_text(row["transfers"]),
            count_text(row["travelling"]),
            _false_sharing(row),
        ]
        for row in pairs.head(most).iter_rows(named=True)
    ]
    headings = ("Cache lines, by thread", "Taken", "Again", "False sharing")
    _print(console, headings, rows, headings[:1], pairs.height, "pairs with fewer lines")


def _print_sides(console: Console, trace: Trace, chosen: pl.Expr, most: int) -> None:
    sides = between_places(trace.transfers.filter(chosen))
    rows = [
        [
            place(row["file"], row["line"], row["function"]) or "unknown",
            place(row["from_file"], row["from_line"], row["from_function"]) or "unknown",
            count_text(row["judged"]),
            _false_sharing(row),
        ]
        for row in sides.head(most).iter_rows(named=True)
    ]
    headings = ("Cache lines taken by", "Written by", "Known", "False sharing")
    _print(console, headings, rows, headings[:2], sides.height, "more pairs of source lines")


def _print_phases(console: Console, trace: Trace, chosen: pl.Expr, most: int) -> None:
    if trace.phases.height < 2 or isinstance(trace, TraceOfPhase):
        return
    by_phase = (
        trace.accesses.filter(chosen)
        .group_by("phase")
        .agg(pl.col("reads", "writes").sum(), threads=pl.col("thread").n_unique())
        .with_columns(accesses=pl.col("reads") + pl.col("writes"))
        .sort("phase")
    )
    total = int(by_phase["accesses"].sum())
    shown = by_phase.sort("accesses", descending=True).head(most).sort("phase")
    rows = [
        [
            name(trace.phases.item(row["phase"], "name")),
            str(row["phase"]),
            count_text(row["reads"]),
            count_text(row["writes"]),
            part_text(row["accesses"], total),
            str(row["threads"]),
        ]
        for row in shown.iter_rows(named=True)
    ]
    headings = ("Phase", "No.", "Reads", "Writes", "Share", "Threads")
    _print(console, headings, rows, headings[:1], by_phase.height, "phases with fewer accesses")


def _print(
    console: Console,
    headings: tuple[str, ...],
    rows: list[list[str]],
    text: tuple[str, ...],
    all_rows: int,
    rest: str,
) -> None:
    if not rows:
        return
    console.print()
    console.print(table_of(headings, rows, console.width, text))
    if all_rows > len(rows):
        console.print(f"{all_rows - len(rows)} {rest} are not shown (--all)", soft_wrap=True)
