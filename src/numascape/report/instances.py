# SPDX-License-Identifier: Apache-2.0
"""Single instances of structures, which the page shows in addition to their sum."""

from __future__ import annotations

from typing import Any

import polars as pl

from numascape.analysis.folding import Folded, fold_pages, limit_columns
from numascape.findings.reading import Reading
from numascape.report.data import HUGE_PAGE, StructureEntry
from numascape.trace.format import PAGE_BYTES

INSTANCES = 256
"""Maximum number of shown instances, the most accessed first: in total, and of one structure."""
OF_ONE_STRUCTURE = 32
COLUMNS = 512
"""Maximum number of columns with touched pages of an instance."""

_INSTANCE = ["structure", "instance"]


def chosen_instances(
    accesses: pl.DataFrame, first_touch: pl.DataFrame, shown: pl.DataFrame, extents: pl.DataFrame
) -> pl.DataFrame:
    """The shown instances, by structure in the report's order, then by number.

    `shown` has structure, position, instances, pages and size of the shown structures; `extents` is
    the trace's table of instances. Returns structure, instance, parent, size, pages, address (null
    if unknown), reads, writes, threads, touched.
    """
    several = shown.filter(pl.col("instances") > 1)
    if several.is_empty():
        return _none()
    wanted = several.lazy().select("structure")
    sums = (
        accesses.lazy()
        .join(wanted, on="structure", how="semi")
        .group_by(_INSTANCE)
        .agg(pl.col("reads", "writes").sum(), pl.col("thread").n_unique().alias("threads"))
        .with_columns(uses=pl.col("reads") + pl.col("writes"))
        .sort("uses", *_INSTANCE, descending=[True, False, False])
        .filter(pl.int_range(pl.len()).over("structure") < OF_ONE_STRUCTURE)
        .head(INSTANCES)
        .collect()
    )
    pages = [
        table.lazy().join(sums.lazy(), on=_INSTANCE, how="semi").select(*_INSTANCE, "page")
        for table in (accesses, first_touch)
    ]
    touched = (
        pl.concat(pages)
        .unique()
        .group_by(_INSTANCE)
        .agg(touched=pl.len(), seen=pl.col("page").max() + 1)
        .collect()
    )
    extent = (pl.col("address") % PAGE_BYTES + pl.col("own_size") + PAGE_BYTES - 1) // PAGE_BYTES
    return (
        sums.join(several.select("structure", "pages", "size", parent="position"), on="structure")
        .join(touched, on=_INSTANCE)
        .join(extents.rename({"size": "own_size"}), on=_INSTANCE, how="left")
        .with_columns(
            size=pl.coalesce("own_size", "size"),
            pages=pl.max_horizontal(
                "seen", pl.min_horizontal("pages", pl.coalesce(extent, "pages"))
            ).cast(pl.UInt32),
        )
        .sort("parent", "instance")
        .select(_none().columns)
    )


def _none() -> pl.DataFrame:
    numbers = ["reads", "writes", "threads", "touched"]
    return pl.DataFrame(
        schema={
            **dict.fromkeys(["structure", "instance", "parent"], pl.UInt32),
            "size": pl.UInt64,
            "pages": pl.UInt32,
            "address": pl.UInt64,
            **dict.fromkeys(numbers, pl.UInt64),
        }
    )


def with_instances(
    folded: Folded,
    chosen: pl.DataFrame,
    accesses: pl.DataFrame,
    first_touch: pl.DataFrame,
    places: pl.DataFrame,
) -> Folded:
    """`folded`, which has the whole structures, followed by the pages of `chosen` instances."""
    if chosen.is_empty():
        return folded
    entries = chosen.with_row_index("entry").with_columns(
        structure=pl.col("entry"), number="structure"
    )
    key = entries.select("entry", "instance", structure="number")

    def of_entries(table: pl.DataFrame) -> pl.DataFrame:
        return table.join(key, on=_INSTANCE).with_columns(structure=pl.col("entry"))

    shown = entries.select(
        "structure",
        "pages",
        "touched",
        position="entry",
        instances=pl.lit(1),
        limit=pl.lit(COLUMNS),
    )
    own = fold_pages(of_entries(accesses), of_entries(first_touch), shown, places, shown.height)
    own = limit_columns(own, shown.select("position", "limit"))
    after = folded.width.height

    def together(whole: pl.DataFrame, single: pl.DataFrame) -> pl.DataFrame:
        moved = single.with_columns(pl.col("position") + after)
        return pl.concat([whole, moved.select(whole.columns).cast(whole.schema)])

    return Folded(
        touched=together(folded.touched, own.touched),
        accesses=together(folded.accesses, own.accesses),
        first=together(folded.first, own.first),
        width=together(folded.width, own.width),
    )


def instance_entries(
    chosen: pl.DataFrame, whole: tuple[StructureEntry, ...]
) -> tuple[StructureEntry, ...]:
    """The entries of the `chosen` instances; `whole` are the entries of the structures."""
    return tuple(_entry(row, whole[row["parent"]]) for row in chosen.iter_rows(named=True))


def _entry(row: dict[str, Any], parent: StructureEntry) -> StructureEntry:
    return StructureEntry(
        structure=row["structure"],
        name=parent.name,
        kind=parent.kind,
        owner=parent.owner,
        size=row["size"],
        pages=row["pages"],
        instances=1,
        module="",
        function="",
        file="",
        line=0,
        call_stack=(),
        named=parent.named,
        reads=row["reads"],
        writes=row["writes"],
        threads=row["threads"],
        touched_pages=row["touched"],
        pages_per_column=1,
        reading=Reading((), (), ""),
        instance=row["instance"],
        parent=row["parent"],
        address_offset=-1 if row["address"] is None else row["address"] % HUGE_PAGE,
    )


def address_offsets(extents: pl.DataFrame) -> dict[int, int]:
    """By structure, the offset of its instances in a huge page, if all known ones are equal."""
    offsets = (
        extents.group_by("structure")
        .agg((pl.col("address") % HUGE_PAGE).unique().alias("offsets"))
        .filter(pl.col("offsets").list.len() == 1)
    )
    return {row[0]: row[1][0] for row in offsets.iter_rows()}
