# SPDX-License-Identifier: Apache-2.0
"""Pages are folded into blocks no wider than the limit of columns needs."""

from __future__ import annotations

import polars as pl
import pytest

from numascape.analysis.folding import Folded, fold_pages, limit_columns

U32 = pl.UInt32


def folded(blocks: int) -> Folded:
    """One structure, whose blocks of one page each are all used by thread 0."""
    at = pl.DataFrame({"position": [0] * blocks, "block": range(blocks)}, schema_overrides={
        "position": U32, "block": U32,
    })  # fmt: skip
    cell = at.with_columns(phase=pl.lit(0, U32), row=pl.lit(0, U32))
    return Folded(
        touched=at.with_columns(touched=pl.lit(1, U32)),
        accesses=cell.with_columns(reads=pl.lit(3, pl.UInt64), writes=pl.lit(1, pl.UInt64)),
        first=cell.with_columns(
            pages=pl.lit(1, U32), place=pl.lit(0, U32), place_pages=pl.lit(1, U32)
        ),
        width=pl.DataFrame({"position": [0], "width": [1], "pages": [blocks]}).cast(U32),
    )


@pytest.mark.parametrize(
    ("blocks", "limit", "width", "columns"),
    [(4, 4, 1, 4), (5, 4, 2, 3), (8, 4, 2, 4), (9, 4, 4, 3), (10, 4, 4, 3), (10, 1, 16, 1)],
)
def test_blocks_get_as_wide_as_the_limit_needs(
    blocks: int, limit: int, width: int, columns: int
) -> None:
    limits = pl.DataFrame({"position": [0], "limit": [limit]}).cast(U32)
    found = limit_columns(folded(blocks), limits)
    assert found.width["width"].to_list() == [width]
    assert sorted(found.touched["block"]) == list(range(columns))
    assert found.touched["touched"].sum() == blocks
    assert found.accesses["reads"].sum() == 3 * blocks
    assert (found.cell_count(), found.cell_counts()) == (2 * columns, {0: 2 * columns})


def test_what_is_within_its_limit_stays_as_it_is() -> None:
    """Structure 0 has five blocks, and structure 1 two, which are the third and fourth."""
    five = folded(5)
    two = pl.DataFrame({"position": [1, 1], "block": [2, 3]}).cast(U32)
    tables = {}
    for name in ("touched", "accesses", "first"):
        table = getattr(five, name)
        more = pl.concat([two, table[:2].drop("position", "block")], how="horizontal")
        tables[name] = pl.concat([table, more])
    width = pl.concat([five.width, pl.DataFrame([(1, 4, 16)], five.width.schema, orient="row")])
    both = Folded(**tables, width=width)
    limits = pl.DataFrame({"position": [0, 1], "limit": [4, 2]}).cast(U32)
    found = limit_columns(both, limits)
    assert found.width.sort("position").rows() == [(0, 2, 5), (1, 4, 16)]
    for table in (found.touched, found.accesses, found.first):
        assert sorted(table.select("position", "block").rows()) == [
            *((0, 0), (0, 1), (0, 2)),
            *((1, 2), (1, 3)),
        ]


@pytest.mark.parametrize(
    ("touched", "instances", "limit", "width"),
    [
        (4, 1, 4, 1),
        (5, 1, 4, 2),
        (9, 1, 4, 4),
        (9, 3, 4, 1),
        (0, 0, 4, 1),
        (1 << 40, 1, 1, 1 << 31),
    ],
)
def test_blocks_begin_as_wide_as_the_pages_need(
    touched: int, instances: int, limit: int, width: int
) -> None:
    """Instances may have the same page numbers, so only their mean number of pages is needed."""
    accesses = pl.DataFrame(
        {"structure": [0, 0], "page": [0, 5], "thread": [1, 1], "phase": [0, 0]}
    ).cast(U32)
    accesses = accesses.with_columns(reads=pl.lit(2, pl.UInt64), writes=pl.lit(0, pl.UInt64))
    names = {"function": pl.String, "file": pl.String, "line": U32}
    first = accesses.select("structure", "page", "thread", "phase").clear()
    first = first.with_columns(pl.lit(None, kind).alias(name) for name, kind in names.items())
    shown = pl.DataFrame(
        {"structure": [0], "position": [0], "pages": [10], "touched": [touched]}
        | {"instances": [instances], "limit": [limit]}
    ).with_columns(pl.col("structure", "position", "pages").cast(U32))
    places = pl.DataFrame(schema=names | {"place": U32})
    found = fold_pages(accesses, first, shown, places, 1)
    assert found.width.rows() == [(0, width, 10)]
    blocks = sorted({0, 5 // width})
    assert sorted(found.accesses["block"]) == blocks
    assert sorted(found.touched.select("block", "touched").rows()) == [
        (block, 2 // len(blocks)) for block in blocks
    ]
