# SPDX-License-Identifier: Apache-2.0
"""Tables that fit into the terminal: names may be cut, numbers are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from numascape import terminal
from numascape.quantities import share_text

NARROWEST = 9
"""Characters that a cut name keeps at least."""
_LONGEST = 200
"""Maximum number of characters of a name that are printed; mangled templates have thousands."""


def table_of(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    text: Sequence[str] = (),
    faint: Sequence[bool] = (),
) -> Table:
    """A table whose `text` columns are cut so that it fits into `width`.

    The columns named in `text` are aligned left; the others are numbers, aligned right. The first
    text column of a `faint` row is dim.
    """
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    cut = [at for at, heading in enumerate(headings) if heading in text]
    excess = sum(widths) + len(widths) - width
    while excess > 0 and (wide := [at for at in cut if widths[at] > NARROWEST]):
        widest = max(wide, key=lambda at: widths[at])
        widths[widest] -= 1
        excess -= 1
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for heading, columns in zip(headings, widths, strict=True):
        table.add_column(
            heading,
            justify="left" if heading in text else "right",
            no_wrap=True,
            min_width=columns,
            max_width=columns,
        )
    for number, cells in enumerate(rows):
        first = Text(cells[0], "dim" if number < len(faint) and faint[number] else "")
        table.add_row(first, *map(Text, cells[1:]))
    return table


def name(text: str) -> str:
    """A name that is safe to print."""
    return terminal.printable(text[:_LONGEST])


def place(file: str, line: int, function: str) -> str:
    """A place in the source: file:line function, as far as known."""
    at = Path(file).name + (f":{line}" if line else "")
    return name(" ".join(part for part in (at, function) if part))


def part_text(part: float, whole: float) -> str:
    """A part of a whole as a share."""
    return share_text(part / whole if whole > 0 else 0.0)
