# SPDX-License-Identifier: Apache-2.0
"""The verb `show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

    A structure's share is its part of all accesses. Threads counts those that access it at all;
    "1 r, 4 w" that one reads it and four write it. "First by" is the thread that touched most of
    its pages first, which decided the node they lie on.

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


def _print_tables(trace: Trace, summary: pl.DataFrame, every: bool) -> None:
    from numascape.trace.description import describe_run

    console = terminal.output()
    for line in describe_run(trace):
        console.print(terminal.printable(line), soft_wrap=True)
    visible = summary if every else summary.filter(summary["share"] >= _NEGLIGIBLE)
    console.print()
    console.print(_structures_table(visible))
    if hidden := summary.height - visible.height:
        console.print(f"{hidden} structures below 0.01 % of accesses are not shown (--all)")


def _structures_table(summary: pl.DataFrame) -> Table:
    from numascape.trace.description import count, size

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Structure", overflow="fold", min_width=9)
    table.add_column("Kind")
    for heading in ("Size", "Reads", "Writes", "Share", "Threads"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("First by", no_wrap=True)
    table.add_column("Allocated in", overflow="fold")
    for row in summary.iter_rows(named=True):
        instances = f" (x{row['instances']})" if row["instances"] > 1 else ""
        table.add_row(
            Text(terminal.printable(_shortened(row["name"])), "" if row["named"] else "dim"),
            row["kind"],
            size(row["size"]) + instances,
            count(row["reads"]),
            count(row["writes"]),
            f"{row['share']:.2%}",
            _threads(row["threads"], row["readers"], row["writers"]),
            _first_toucher(row["first_touch_thread"], row["first_touch_share"]),
            Text(terminal.printable(_shortened(_place(row)))),
        )
    return table


def _threads(threads: int, readers: int, writers: int) -> str:
    if readers == writers == threads:
        return str(threads)
    return f"{threads} ({readers} r, {writers} w)"


def _first_toucher(thread: int | None, share: float | None) -> str:
    if thread is None or share is None:
        return ""
    return f"{thread} ({share:.0%})"


def _place(row: dict[str, object]) -> str:
    line = f":{row['line']}" if row["line"] else ""
    file = Path(str(row["file"])).name
    return " ".join(part for part in (str(row["function"]), f"{file}{line}") if part)


def _shortened(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _as_plain_data(trace: Trace, summary: pl.DataFrame) -> dict[str, object]:
    import dataclasses

    return {"run": dataclasses.asdict(trace.info), "structures": summary.to_dicts()}
