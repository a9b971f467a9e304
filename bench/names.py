# SPDX-License-Identifier: Apache-2.0
"""Compares names of structures with the sources of programs: a sample, judged by a reader.

It takes traces of programs whose sources are here, and chooses names from all of them. It prints
each one with the source text of its place. The reader writes a judgement into the table in
docs/real-programs.md. The next run keeps the judgements of the names that are still chosen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.programs import ROOT
from numascape.analysis.name_shares import Named, named_in
from numascape.analysis.ownership import Owner, owner_of
from numascape.trace.trace import Trace

DOCUMENT = ROOT / "docs" / "real-programs.md"
_BEGIN, _END = "<!-- names: begin -->", "<!-- names: end -->"
_UNJUDGED = "not compared"
_COLUMNS = ("program", "name", "kind", "place", "judgement")
console = Console(width=200, highlight=False, markup=False)


@dataclass(frozen=True, order=True)
class NamedStructure:
    """A name in a program, with the place of its declaration or allocation."""

    program: str
    name: str
    kind: str
    function: str
    file: str
    line: int

    @property
    def place(self) -> str:
        """The place as the table shows it."""
        where = f"{Path(self.file).name}:{self.line}"
        return f"{where} ({self.function})" if self.function else where

    def cells(self) -> tuple[str, ...]:
        """The cells of the table that identify the structure."""
        texts = (self.program, f"`{self.name}`", self.kind, self.place)
        return tuple(text.replace("|", "\\|") for text in texts)

    def rank(self, seed: str) -> bytes:
        """A place in a random order. It does not depend on which other structures there are."""
        return hashlib.sha256("\0".join((seed, *self.cells())).encode()).digest()


def structures_of(trace: Trace) -> Iterable[NamedStructure]:
    """The structures of the program itself that have a name and a line in the source."""
    program = Path(trace.info.program).name
    for row in trace.structures.iter_rows(named=True):
        if row["line"] and named_in(row) is Named.SOURCE and owner_of(row) is Owner.PROGRAM:
            yield NamedStructure(
                program, row["name"], row["kind"], row["function"], row["file"], row["line"]
            )


def chosen(structures: Iterable[NamedStructure], count: int, seed: str) -> list[NamedStructure]:
    """`count` different names, about as many of each program, in alphabetical order."""
    distinct: dict[tuple[str, str], NamedStructure] = {}
    for one in sorted(structures):
        distinct.setdefault((one.program, one.name), one)
    taken: dict[str, int] = {}
    order: list[tuple[int, int, NamedStructure]] = []
    for one in sorted(distinct.values(), key=lambda one: one.rank(seed)):
        order.append((taken.setdefault(one.program, 0), len(order), one))
        taken[one.program] += 1
    return sorted(one for _, _, one in sorted(order)[:count])


def judgements(document: str) -> dict[tuple[str, ...], str]:
    """The judgements in the document's table, by the other cells of their rows."""
    _, _, after = document.partition(_BEGIN)
    rows = [line for line in after.partition(_END)[0].splitlines() if line.startswith("| ")]
    cells = [tuple(row.removeprefix("| ").removesuffix(" |").split(" | ")) for row in rows[1:]]
    return {tuple(row[:-1]): row[-1] for row in cells if len(row) == len(_COLUMNS)}


def renewed(
    document: str, sample: Sequence[NamedStructure], known: Mapping[tuple[str, ...], str]
) -> str:
    """The document with the table of the sample."""
    before, begin, rest = document.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise typer.BadParameter(f"{DOCUMENT} has no {_BEGIN} and {_END}")
    rows = [
        " | ".join(("", *one.cells(), known.get(one.cells(), _UNJUDGED), "")).strip()
        for one in sample
    ]
    table = [" | ".join(("", *_COLUMNS, "")).strip(), "|---" * len(_COLUMNS) + "|", *rows]
    return "\n".join([before + begin, "", *table, "", end + after])


def source_text(structure: NamedStructure, folders: Sequence[Path]) -> list[str]:
    """The line of the structure's place, with the lines beside it; empty without its source."""
    name = Path(structure.file)
    inside = (path for folder in folders for path in sorted(folder.rglob(name.name)))
    path = next((path for path in (name, *inside) if path.is_file()), None)
    if path is None:
        return []
    lines = path.read_text(errors="replace").splitlines()
    first = max(1, structure.line - 1)
    return [
        f"    {number:5}{'>' if number == structure.line else ' '} {lines[number - 1].strip()}"
        for number in range(first, min(structure.line + 2, len(lines)) + 1)
    ]


def main(
    traces: Annotated[list[Path], typer.Argument(help="Traces of programs.")],
    sources: Annotated[
        list[Path] | None, typer.Option(help="A folder with sources of the programs.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of names.")] = 200,
    seed: Annotated[str, typer.Option(help="Chooses the sample.")] = "1",
    every: Annotated[bool, typer.Option(help="Print also names that have a judgement.")] = False,
    write: Annotated[bool, typer.Option(help="Renew the table in docs/real-programs.md.")] = True,
) -> None:
    """Choose names of structures, and print each one with the source text of its place."""
    found = [one for path in traces for one in structures_of(Trace.read(path))]
    sample = chosen(found, count, seed)
    document = DOCUMENT.read_text()
    known = judgements(document)
    for one in sample:
        judged = known.get(one.cells(), _UNJUDGED)
        if every or judged == _UNJUDGED:
            console.print(f"{one.program}: {one.name} ({one.kind}), {one.place}: {judged}")
            console.print("\n".join(source_text(one, sources or [])))
    console.print(f"{len(sample)} of {len({(one.program, one.name) for one in found})} names")
    if write:
        DOCUMENT.write_text(renewed(document, sample, known))


if __name__ == "__main__":
    typer.run(main)
