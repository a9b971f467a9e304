# SPDX-License-Identifier: Apache-2.0
"""The entries of whole structures: the most used ones, with descriptions and advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from numascape.analysis.facts import Facts
from numascape.analysis.ownership import owner_of
from numascape.analysis.text import short_printable
from numascape.findings.reading import Reading
from numascape.quantities import share_text
from numascape.report.data import StructureEntry

STRUCTURES = 2000
"""Maximum number of shown structures, the most used first. The report gives the sums of the
others."""


def ranked_structures(
    structures: pl.DataFrame, facts: Mapping[int, Facts], lines: Mapping[int, int]
) -> pl.DataFrame:
    """The structures, most used first, with accesses, lines, touched, share, position (0, 1, ...).

    `lines` is the number of lines from memory and back to it, by structure, if they were counted.
    ``share`` is the larger one of the shares of all accesses and of all lines, because a structure
    with few accesses may cause most of the memory traffic.
    """
    counts = pl.DataFrame(
        {
            "structure": list(facts),
            "accesses": [f.accesses for f in facts.values()],
            "lines": [lines.get(structure, 0) for structure in facts],
            "touched": [f.touched_pages for f in facts.values()],
        },
        schema={
            "structure": pl.UInt32,
            **dict.fromkeys(["accesses", "lines", "touched"], pl.UInt64),
        },
    )
    return (
        structures.join(counts, on="structure", how="left")
        .with_columns(pl.col("accesses", "lines", "touched").fill_null(0))
        .with_columns(
            share=pl.max_horizontal(
                pl.col(name) / pl.col(name).sum().clip(lower_bound=1)
                for name in ("accesses", "lines")
            )
        )
        .sort("share", "accesses", "size", "structure", descending=[True, True, True, False])
        .with_row_index("position")
    )


def structure_entry(
    row: dict[str, Any],
    facts: Facts | None,
    reading: Reading,
    offsets: Mapping[int, int],
) -> StructureEntry:
    """The entry of a structure; `row` is from ranked_structures."""
    return StructureEntry(
        structure=row["structure"],
        name=short_printable(row["name"]),
        kind=short_printable(row["kind"], 32),
        owner=owner_of(row),
        size=row["size"],
        pages=row["pages"],
        instances=row["instances"],
        module=short_printable(row["module"]),
        function=short_printable(row["function"]),
        file=short_printable(row["file"]),
        line=row["line"],
        call_stack=tuple(short_printable(frame) for frame in (row["call_stack"] or ())[:64]),
        named=row["named"],
        reads=facts.reads if facts else 0,
        writes=facts.writes if facts else 0,
        threads=facts.threads if facts else 0,
        touched_pages=facts.touched_pages if facts else 0,
        pages_per_column=1,
        reading=reading,
        address_offset=offsets.get(row["structure"], -1),
    )


def left_out(ranked: pl.DataFrame, structures: int) -> tuple[str, ...]:
    """The report's sentences about structures without entries."""
    if len(ranked) <= structures:
        return ()
    rest = ranked.slice(structures)
    parts = [f"{share_text(_share(rest['accesses'], ranked['accesses']))} of the accesses"]
    if int(ranked["lines"].sum()) > 0:
        parts.append(f"{share_text(_share(rest['lines'], ranked['lines']))} of the memory lines")
    return (f"{len(rest)} more structures are left out; together they have {' and '.join(parts)}.",)


def _share(part: pl.Series, whole: pl.Series) -> float:
    return int(part.sum()) / max(1, int(whole.sum()))
