# SPDX-License-Identifier: Apache-2.0
"""First touches of huge pages, if first touches are known from page faults.

The kernel fills a huge page (2 MiB) when a thread touches any byte of it. There is one fault, but
all pages of 4 KiB have come with it, on the node of this thread. A fault does not tell the size of
the page. It was a huge one if the program uses further pages of the same 2 MiB that never faulted.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from numascape.trace.format import HUGE_PAGE_BYTES, PAGE_BYTES

_HUGE_PAGES: Final = HUGE_PAGE_BYTES // PAGE_BYTES
_BLOCK: Final = ["structure", "instance", "block"]


def with_huge_pages(
    first_touch: pl.DataFrame, accesses: pl.DataFrame, instances: pl.DataFrame
) -> pl.DataFrame:
    """The first touches with those of all pages that came with a huge page.

    The tables are those of a trace. Blocks of 2 MiB count if they lie within one instance, have one
    fault, and have a page that was accessed without a fault.
    """
    large = instances.filter(pl.col("size") >= HUGE_PAGE_BYTES).select(
        "structure",
        "instance",
        first=pl.col("address") // PAGE_BYTES,
        end=(pl.col("address") + pl.col("size")) // PAGE_BYTES,
    )
    touched = _in_blocks(first_touch, large)
    single = touched.filter(pl.len().over(_BLOCK) == 1)
    used = _in_blocks(accesses.select("structure", "instance", "page").unique(), large)
    without = used.join(touched, on=["structure", "instance", "page"], how="anti")
    huge = single.join(without.select(_BLOCK).unique(), on=_BLOCK, how="semi")
    begin = pl.col("block") * _HUGE_PAGES
    inside = (begin >= pl.col("first")) & (begin + _HUGE_PAGES <= pl.col("end"))
    page = pl.int_ranges(begin - pl.col("first"), begin - pl.col("first") + _HUGE_PAGES)
    pages = huge.filter(inside).with_columns(page=page).explode("page")
    others = first_touch.join(pages, on=["structure", "instance", "page"], how="anti")
    filled = pages.select(first_touch.columns).cast(first_touch.schema)
    return (
        pl.concat([others, filled])
        .sort("order", maintain_order=True)
        .with_columns(order=pl.int_range(pl.len(), dtype=pl.UInt64()))
    )


def _in_blocks(rows: pl.DataFrame, large: pl.DataFrame) -> pl.DataFrame:
    """The rows in large instances, with the number of their block of 2 MiB."""
    joined = rows.join(large, on=["structure", "instance"])
    return joined.with_columns(block=(pl.col("first") + pl.col("page")) // _HUGE_PAGES)
