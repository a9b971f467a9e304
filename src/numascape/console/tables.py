# SPDX-License-Identifier: Apache-2.0
"""Tables that fit into the terminal: names may be cut between words, numbers are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from numascape import terminal
from numascape.quantities import share_text

NARROWEST = 9
"""Characters that a cut name keeps at least."""
_BEGIN = 6
"""Characters that remain of the begin of a name whose last word tells it from another."""
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
    columns = list(zip(headings, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    cut = [at for at, heading in enumerate(headings) if heading in text]
    # First words are cut last, because the first word of a place is its file and line.
    words = {at: max(_room_of_first_word(cell) for cell in columns[at]) for at in cut}
    for least in ({at: max(words[at], NARROWEST) for at in cut}, dict.fromkeys(cut, NARROWEST)):
        while sum(widths) + len(widths) > width and (
            wide := [at for at in cut if widths[at] > least[at]]
        ):
            widths[max(wide, key=lambda at: widths[at])] -= 1
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for heading, room in zip(headings, widths, strict=True):
        table.add_column(
            heading,
            justify="left" if heading in text else "right",
            no_wrap=True,
            min_width=room,
            max_width=room,
        )
    fitted = [cut_apart(column[1:], room) for column, room in zip(columns, widths, strict=True)]
    for number, cells in enumerate(zip(*fitted, strict=True)):
        first = Text(cells[0], "dim" if number < len(faint) and faint[number] else "")
        table.add_row(first, *map(Text, cells[1:]))
    return table


def natural_width(columns: Mapping[str, Sequence[str]]) -> int:
    """The width of a table in which nothing is cut; the keys are its headings."""
    return sum(max(map(len, (heading, *cells))) + 1 for heading, cells in columns.items())


def cut_apart(texts: Sequence[str], width: int) -> list[str]:
    """The texts in this width. If two would look the same, their last words stay, too."""
    shown = [cut_between_words(text, width) for text in texts]
    meanings: dict[str, set[str]] = {}
    for short, text in zip(shown, texts, strict=True):
        meanings.setdefault(short, set()).add(text)
    return [
        short if len(meanings[short]) == 1 else _cut_in_the_middle(text, width)
        for short, text in zip(shown, texts, strict=True)
    ]


def _cut_in_the_middle(text: str, width: int) -> str:
    """The text in this width: its begin, and its last word or the end of it."""
    if len(text) <= width:
        return text
    last = len(text) - 1 - text.rfind(" ")
    end = min(last, width - 1 - min(_BEGIN, width // 4))
    begin = cut_between_words(text, width - end)
    return begin + text[len(text) - end :]


def cut_between_words(text: str, width: int) -> str:
    """The text in this width: without its last words, or the end of its only word."""
    if len(text) <= width:
        return text
    kept = text[: width - 1]
    if text[width - 1] != " " and " " in kept:
        kept = kept.rpartition(" ")[0]
    return f"{kept.rstrip()}…"


def _room_of_first_word(text: str) -> int:
    """The width in which the first word and the sign that more follows are shown."""
    first, _, more = text.partition(" ")
    return len(first) + bool(more)


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
