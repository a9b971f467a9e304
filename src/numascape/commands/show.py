# SPDX-License-Identifier: Apache-2.0
"""The verb `show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from numascape import terminal

if TYPE_CHECKING:
    import polars as pl

    from numascape.trace import Trace


def show(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A trace, NAME.numascape.", show_default=False)
    ],
    every: Annotated[
        bool, typer.Option("--all", help="Show the structures below 0.01 % of accesses too.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the same for programs, every structure.")
    ] = False,
) -> None:
    """Print what a trace says: the run, and a line for each structure of the program.

    A structure's share is its part of all accesses. Threads counts those that access it; "1r 4w"
    says that one reads it and four write it. First is the thread that touched most of its pages
    first, which decided the node they lie on. Where is its declaration or allocation.

    Example: `numascape show run.numascape`
    """
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.trace import Trace
    from numascape.trace.summary import structure_summary

    opened = Trace.read(trace)
    summary = structure_summary(opened)
    if as_json:
        print(json.dumps(_as_plain_data(opened, summary), indent=1))
    else:
        _print_tables(opened, summary, every)


# Shares below it are hidden, here and in the report.
_NEGLIGIBLE = 1e-4
# Characters of a name that are worth printing: mangled templates have thousands.
_LONGEST = 200


def _print_tables(trace: Trace, summary: pl.DataFrame, every: bool) -> None:
    from numascape.trace.description import describe_run

    console = terminal.output()
    for line in describe_run(trace):
        console.print(terminal.printable(line), soft_wrap=True)
    visible = summary if every else summary.filter(summary["share"] >= _NEGLIGIBLE)
    console.print()
    console.print(_structures_table(visible, console.width))
    if hidden := summary.height - visible.height:
        console.print(f"{hidden} structures below 0.01 % of accesses are not shown (--all)")


def _structures_table(summary: pl.DataFrame, width: int) -> Table:
    """A table whose names are cut to fit in `width`, but never its numbers."""
    rows = [_cells(row) for row in summary.iter_rows(named=True)]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    for_names = width - sum(widths[1:-1]) - len(widths)
    widths[0] = max(9, min(widths[0], for_names // 2))
    widths[-1] = max(9, min(widths[-1], for_names - widths[0]))
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for heading, columns in zip(_HEADINGS, widths, strict=True):
        table.add_column(
            heading,
            justify="left" if heading in {"Structure", "Kind", "Where"} else "right",
            no_wrap=True,
            min_width=columns,
            max_width=columns,
        )
    for cells, named in zip(rows, summary["named"], strict=True):
        table.add_row(Text(cells[0], "" if named else "dim"), *cells[1:])
    return table


_HEADINGS = ("Structure", "Kind", "Size", "Reads", "Writes", "Share", "Threads", "First", "Where")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    """A structure's line, in the order of _HEADINGS."""
    from numascape.trace.description import count, size

    instances = f"{row['instances']} x " if row["instances"] > 1 else ""
    return (
        terminal.printable(row["name"][:_LONGEST]),
        row["kind"],
        instances + size(row["size"]),
        count(row["reads"]),
        count(row["writes"]),
        f"{row['share']:.2%}",
        _threads(row["threads"], row["readers"], row["writers"]),
        _first_toucher(row["first_touch_thread"], row["first_touch_share"]),
        terminal.printable(_place(row)[:_LONGEST]),
    )


def _threads(threads: int, readers: int, writers: int) -> str:
    return str(threads) if readers == writers == threads else f"{readers}r {writers}w"


def _first_toucher(thread: int | None, share: float | None) -> str:
    if thread is None or share is None:
        return ""
    return f"{thread}" if share == 1 else f"{thread} ({share:.0%})"


def _place(row: dict[str, Any]) -> str:
    line = f":{row['line']}" if row["line"] else ""
    file = Path(str(row["file"])).name
    return " ".join(part for part in (f"{file}{line}", str(row["function"])) if part)


def _as_plain_data(trace: Trace, summary: pl.DataFrame) -> dict[str, object]:
    import dataclasses

    return {"run": dataclasses.asdict(trace.info), "structures": summary.to_dicts()}
