# SPDX-License-Identifier: Apache-2.0
"""Fold pages into columns: fine where pages were touched, coarse where nothing happened.

A structure's pages are cut into blocks of ``pages_per_column`` pages, the smallest power of two
that leaves at most ``limit`` blocks with a touched page. Each such block is one column; a run of
untouched blocks between them is one empty column. Folding only adds numbers, so the sums over a
structure never change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from numascape.analysis.page_columns import Cells, Column, Columns, FirstTouches
from numascape.trace.counting import MEMORY_LINES, count_columns, has_memory_lines


@dataclass(frozen=True, eq=False)
class Folded:
    """Tables at page or block resolution; ``block`` is page // width of the structure.

    touched: position, block, touched (pages); accesses: position, block, phase, row, reads,
    writes, and memory_lines and written_lines where the trace has them; first: position, block,
    phase, row, pages, place, place_pages; width: position, width, pages. ``position`` is the
    entry's index in the report, ``phase`` that of the phase shown.
    """

    touched: pl.DataFrame
    accesses: pl.DataFrame
    first: pl.DataFrame
    width: pl.DataFrame

    def cell_count(self) -> int:
        """Cells (accesses and first touches) of all structures."""
        return self.accesses.height + self.first.height

    def cell_counts(self) -> dict[int, int]:
        """Cells (accesses and first touches) per structure position."""
        counts = (
            pl.concat([self.accesses.select("position"), self.first.select("position")])
            .group_by("position")
            .len()
        )
        return dict(counts.iter_rows())


def fold_pages(
    accesses: pl.DataFrame,
    first_touch: pl.DataFrame,
    shown: pl.DataFrame,
    places: pl.DataFrame,
    structures: int,
) -> Folded:
    """Sum up a trace's tables over blocks of pages. The wanted columns decide the blocks' size.

    - `accesses`: structure, page, thread, phase, and what is counted
    - `first_touch`: the trace's table; here and in `accesses`, phase is the phase's position
    - `shown`: structure, position, pages, instances, touched (pages of all instances), and limit
      (the number of columns wanted)
    - `places`: function, file, line, and their place
    - `structures`: the number of structures in the trace
    """
    # Instances may share page numbers, so at least touched / instances page numbers are in use.
    least = pl.col("touched") / pl.col("instances").clip(lower_bound=1) / pl.col("limit")
    width = shown.select(
        "position",
        width=(2 ** least.clip(lower_bound=1).log(2).ceil().clip(upper_bound=31)).cast(pl.UInt32),
        pages="pages",
    )
    place = _Whereabouts(shown["structure"], width["width"], structures)
    counts = count_columns(accesses)
    cells = (
        place.of(accesses, "phase", *counts)
        .lazy()
        .group_by("position", "block", "phase", "row")
        .agg(pl.col(counts).sum())
        .collect(engine="streaming")
    )
    first = (
        place.of(first_touch, "phase", "function", "file", "line")
        .group_by("position", "block", "phase", "row", "function", "file", "line")
        .agg(place_pages=pl.len())
        .join(places, on=["function", "file", "line"], how="left")
        .with_columns(pl.col("place").fill_null(0))
        .sort("place_pages", "place")
        .group_by("position", "block", "phase", "row")
        .agg(
            pages=pl.col("place_pages").sum(),
            place=pl.col("place").last(),
            place_pages=pl.col("place_pages").max(),
        )
    )
    keys = pl.concat([place.keys(accesses), place.keys(first_touch)])
    keys = keys.to_frame().lazy().unique().collect(engine="streaming").to_series()
    position = (keys // (1 << 32)).cast(pl.UInt32).alias("position")
    page = (keys % (1 << 32)).cast(pl.UInt32)
    block = (page // width["width"].gather(position)).alias("block")
    touched = pl.DataFrame([position, block]).group_by("position", "block").agg(touched=pl.len())
    return Folded(touched, cells, first, width)


class _Whereabouts:
    """Looks up positions and widths by structure: ids are row numbers in a trace."""

    def __init__(self, shown: pl.Series, width: pl.Series, structures: int) -> None:
        position = np.full(structures, _NOT_SHOWN, np.uint32)
        position[shown.to_numpy()] = np.arange(len(shown), dtype=np.uint32)
        self._position = pl.Series(position)
        widths = np.ones(structures, np.uint32)
        widths[shown.to_numpy()] = width.to_numpy()
        self._width = pl.Series(widths)

    def of(self, table: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """position, block, row and `columns` of the rows of shown structures."""
        structure = table["structure"]
        return table.select(
            self._position.gather(structure).alias("position"),
            (table["page"] // self._width.gather(structure)).alias("block"),
            pl.col("thread").alias("row"),
            *columns,
        ).filter(pl.col("position") != _NOT_SHOWN)

    def keys(self, table: pl.DataFrame) -> pl.Series:
        """Position << 32 | page of the rows of shown structures."""
        position = self._position.gather(table["structure"]).cast(pl.UInt64)
        keys = position * (1 << 32) + table["page"]
        return keys.filter(position != _NOT_SHOWN).alias("key")


_NOT_SHOWN = 0xFFFF_FFFF


def coarsen(folded: Folded, factors: pl.DataFrame) -> Folded:
    """Make blocks ``factor`` times wider; ``factors`` has position and factor (others stay)."""
    block = pl.col("block") // pl.col("factor").fill_null(1)

    def widened(table: pl.DataFrame) -> pl.LazyFrame:
        joined = table.lazy().join(factors.lazy(), on="position", how="left")
        return joined.with_columns(block.cast(pl.UInt32).alias("block"))

    where = ["position", "block"]
    touched = widened(folded.touched).group_by(where).agg(pl.col("touched").sum())
    accesses = (
        widened(folded.accesses)
        .group_by([*where, "phase", "row"])
        .agg(pl.col(count_columns(folded.accesses)).sum())
    )
    first = (
        widened(folded.first)
        .group_by([*where, "phase", "row"])
        .agg(
            pl.col("pages").sum(),
            pl.col("place").sort_by("place_pages").last(),
            pl.col("place_pages").max(),
        )
    )
    width = (
        folded.width.lazy()
        .join(factors.lazy(), on="position", how="left")
        .with_columns((pl.col("width") * pl.col("factor").fill_null(1)).cast(pl.UInt32))
        .drop("factor")
    )
    tables = pl.collect_all([touched, accesses, first, width])
    return Folded(*tables)


def limit_columns(folded: Folded, limits: pl.DataFrame) -> Folded:
    """Coarsen until every structure has at most ``limit`` columns with a touched page.

    ``limits`` has position and limit.
    """
    while True:
        counts = folded.touched.group_by("position").agg(pl.len().alias("blocks"))
        # Doubling the width can at best halve the blocks, so this never skips the right width.
        excess = pl.col("blocks") / pl.col("limit")
        factors = (
            counts.join(limits, on="position")
            .filter(pl.col("blocks") > pl.col("limit"))
            .select(
                "position",
                (2 ** excess.log(2).ceil().clip(upper_bound=31)).cast(pl.UInt32).alias("factor"),
            )
        )
        if factors.is_empty():
            return folded
        folded = coarsen(folded, factors)


def lay_out_blocks(
    folded: Folded, entries: int, phases: int
) -> tuple[Columns, Cells, FirstTouches]:
    """Turn blocks into the report's columns, with the gaps between them."""
    columns = _columns(folded)
    position = columns["position"].to_numpy()
    begin = np.searchsorted(position, np.arange(entries + 1))
    index = columns.filter(pl.col("touched") > 0).select("position", "block", "column")
    accesses = (
        folded.accesses.join(index, on=["position", "block"])
        .filter(pl.sum_horizontal(count_columns(folded.accesses)) > 0)
        .sort("position", "phase", "row", "column")
    )
    first = folded.first.join(index, on=["position", "block"]).sort(
        "position", "phase", "row", "column"
    )
    return (
        Columns(
            begin=begin.astype(np.uint32),
            start=columns["start"].to_numpy(),
            pages=columns["pages"].to_numpy(),
            touched=columns["touched"].to_numpy(),
        ),
        Cells(
            begin=_begins(accesses, entries, phases),
            row=accesses["row"].to_numpy(),
            column=accesses["column"].to_numpy(),
            reads=accesses["reads"].to_numpy(),
            writes=accesses["writes"].to_numpy(),
            **(
                {name: accesses[name].to_numpy() for name in MEMORY_LINES}
                if has_memory_lines(accesses)
                else {}
            ),
        ),
        FirstTouches(
            begin=_begins(first, entries, phases),
            row=first["row"].to_numpy(),
            column=first["column"].to_numpy(),
            pages=first["pages"].to_numpy(),
            place=first["place"].to_numpy(),
        ),
    )


def _begins(table: pl.DataFrame, entries: int, phases: int) -> Column:
    group = table["position"].to_numpy().astype(np.int64) * phases + table["phase"].to_numpy()
    begin = np.searchsorted(group, np.arange(entries * phases + 1))
    return begin.astype(np.uint32)


def _columns(folded: Folded) -> pl.DataFrame:
    """position, block, start, pages, touched, column; gaps have touched 0."""
    blocks = (
        folded.touched.join(folded.width, on="position")
        .sort("position", "block")
        .with_columns(
            start=pl.col("block").cast(pl.Int64) * pl.col("width"),
            pages=pl.col("pages").cast(pl.Int64),
        )
        .with_columns(
            # A page beyond the end of the largest instance is an error of the trace.
            end=pl.max_horizontal(
                pl.min_horizontal(pl.col("start") + pl.col("width"), pl.col("pages")),
                pl.col("start") + 1,
            )
        )
    )
    following = pl.col("start").shift(-1).over("position").fill_null(pl.col("pages"))
    before = blocks.filter(pl.int_range(pl.len()).over("position") == 0).select(
        "position", start=pl.lit(0, dtype=pl.Int64), end="start"
    )
    after = blocks.select("position", start="end", end=following)
    untouched = folded.width.join(folded.touched, on="position", how="anti").select(
        "position", start=pl.lit(0, dtype=pl.Int64), end=pl.col("pages").cast(pl.Int64)
    )
    gaps = (
        pl.concat([before, after, untouched])
        .filter(pl.col("end") > pl.col("start"))
        .with_columns(block=pl.lit(None, dtype=pl.UInt32), touched=pl.lit(0, dtype=pl.UInt32))
    )
    names = ["position", "block", "start", "end", "touched"]
    return (
        pl.concat(
            [
                blocks.select(names).with_columns(pl.col("touched").cast(pl.UInt32)),
                gaps.select(names),
            ]
        )
        .sort("position", "start")
        .with_columns(
            column=pl.int_range(pl.len(), dtype=pl.UInt32).over("position"),
            pages=(pl.col("end") - pl.col("start")).cast(pl.UInt32),
            start=pl.col("start").cast(pl.UInt32),
        )
    )
