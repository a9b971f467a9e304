# SPDX-License-Identifier: Apache-2.0
"""Writes a benchmark's result to the terminal, as Markdown and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
# None stands for a value that was not measured.
Row = list[str | float | None]


@dataclass(frozen=True)
class ResultTable:
    """Rows of text and numbers under named columns."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]
    note: str = ""


def _cell(value: str | float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def print_table(table: ResultTable) -> None:
    shown = Table(title=table.title, title_justify="left")
    for index, column in enumerate(table.columns):
        shown.add_column(column, justify="left" if index == 0 else "right")
    for row in table.rows:
        shown.add_row(*map(_cell, row))
    console = Console()
    console.print(shown)
    if table.note:
        console.print(table.note, markup=False, highlight=False)


def _markdown(table: ResultTable) -> str:
    lines = [f"## {table.title}", "", "| " + " | ".join(table.columns) + " |"]
    lines.append("|---" + "|---:" * (len(table.columns) - 1) + "|")
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in table.rows]
    return "\n".join([*lines, "", table.note, ""])


def publish(
    name: str, machine: Mapping[str, str | int], tables: Sequence[ResultTable], write: bool
) -> None:
    """Print the tables and, with `write`, write them to results/."""
    for table in tables:
        print_table(table)
    if write:
        for path in write_results(name, machine, tables):
            Console(stderr=True).print(f"wrote {path}")


def write_results(
    name: str, machine: Mapping[str, str | int], tables: Sequence[ResultTable]
) -> list[Path]:
    """Write results/NAME.md and results/NAME.json and return their paths."""
    RESULTS.mkdir(exist_ok=True)
    about = ", ".join(f"{key.replace('_', ' ')}: {value}" for key, value in machine.items())
    text = "\n".join([f"# {name}", "", f"Machine: {about}.", "", *map(_markdown, tables)])
    markdown, data = RESULTS / f"{name}.md", RESULTS / f"{name}.json"
    markdown.write_text(text)
    contents = {"machine": dict(machine), "tables": [asdict(table) for table in tables]}
    data.write_text(json.dumps(contents, indent=1) + "\n")
    return [markdown, data]
