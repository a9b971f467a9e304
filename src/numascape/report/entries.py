# SPDX-License-Identifier: Apache-2.0
"""The entries of whole structures: the most used ones, each with what it is and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from numascape.analysis.facts import Facts
from numascape.analysis.ownership import owner_of
from numascape.analysis.text import printable
from numascape.findings.reading import Reading
from numascape.report.data import StructureEntry

STRUCTURES = 2000
"""Structures shown, the most used first; of the rest the report says how much it is."""


def ranked_structures(structures: pl.DataFrame, facts: Mapping[int, Facts]) -> pl.DataFrame:
    """The structures, most accessed first, with accesses, touched and position (0, 1, ...)."""
    counts = pl.DataFrame(
        {
            "structure": list(facts),
            "accesses": [f.accesses for f in facts.values()],
            "touched": [f.touched_pages for f in facts.values()],
        },
        schema={"structure": pl.UInt32, "accesses": pl.UInt64, "touched": pl.UInt64},
    )
    return (
        structures.join(counts, on="structure", how="left")
        .with_columns(pl.col("accesses", "touched").fill_null(0))
        .sort("accesses", "size", "structure", descending=[True, True, False])
        .with_row_index("position")
    )


def structure_entry(
    row: dict[str, Any],
    facts: Facts | None,
    reading: Reading,
    offsets: Mapping[int, int],
) -> StructureEntry:
    """The entry of a structure; `row` is that of ranked_structures."""
    return StructureEntry(
        structure=row["structure"],
        name=printable(row["name"]),
        kind=printable(row["kind"], 32),
        owner=owner_of(row),
        size=row["size"],
        pages=row["pages"],
        instances=row["instances"],
        module=printable(row["module"]),
        function=printable(row["function"]),
        file=printable(row["file"]),
        line=row["line"],
        call_stack=tuple(printable(frame) for frame in (row["call_stack"] or ())[:64]),
        named=row["named"],
        reads=facts.reads if facts else 0,
        writes=facts.writes if facts else 0,
        threads=facts.threads if facts else 0,
        touched_pages=facts.touched_pages if facts else 0,
        pages_per_column=1,
        reading=reading,
        address_offset=offsets.get(row["structure"], -1),
    )


def left_out(ranked: pl.DataFrame, facts: Mapping[int, Facts], structures: int) -> tuple[str, ...]:
    """What the report says about structures that it has no entries for."""
    if len(ranked) <= structures:
        return ()
    rest = ranked.slice(structures)
    total = sum(f.accesses for f in facts.values())
    share = int(rest["accesses"].sum()) / total if total else 0.0
    return (
        f"{len(rest)} more structures are left out; "
        f"together they have {share:.2%} of the accesses.",
    )
