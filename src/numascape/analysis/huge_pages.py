# SPDX-License-Identifier: Apache-2.0
"""Which memory of a run had transparent huge pages: pages of 2 MiB, which the kernel places whole.

The kernel fills a huge page when a thread touches any byte of it. So its first toucher decides on
the node of all pages of 4 KiB in it.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from numascape.trace import Trace
from numascape.trace.format import HUGE_PAGE_BYTES, PAGE_BYTES
from numascape.trace.once import once_per_trace

_KINDS: Final = ("heap", "mapping", "region", "global")
"""The kinds of structures whose memory can have huge pages. Stacks grow by small pages."""
_PAGES: Final = HUGE_PAGE_BYTES // PAGE_BYTES
_INSTANCE: Final = ["structure", "instance"]


@once_per_trace
def huge_instances(trace: Trace) -> pl.DataFrame | None:
    """structure, instance: those whose whole 2 MiB are huge pages; None if the trace cannot tell.

    Files, memory of several processes, and stacks have small pages.
    """
    mode = trace.info.host.huge_pages
    if not mode:
        return None
    of_file = (pl.col("kind") == "mapping") & (pl.col("module") != "")
    private = trace.structures.filter(pl.col("kind").is_in(_KINDS) & ~of_file & ~_is_shared(trace))
    known = trace.instances.join(private, on="structure", how="semi").select(_INSTANCE)
    advice = trace.huge_page_advice
    if mode == "always":
        return known.join(advice.filter(~pl.col("huge")), on=_INSTANCE, how="anti")
    if mode == "never":
        return known.clear()
    if "huge_page_advice" not in trace.info.tables:
        return None
    return known.join(advice.filter("huge"), on=_INSTANCE, how="semi")


def _is_shared(trace: Trace) -> pl.Expr:
    return pl.col("shared") if "shared" in trace.structures.columns else pl.lit(value=False)


def has_huge_pages(trace: Trace, structure: int) -> bool | None:
    """Whether the kernel gives the structure huge pages; None if the trace cannot tell."""
    found = huge_instances(trace)
    return None if found is None else bool((found["structure"] == structure).any())


def first_touches_of_blocks(trace: Trace, pages: pl.DataFrame) -> pl.DataFrame:
    """The `pages` (structure, instance, page, thread), in the order of their first touches.

    The thread of a page in a whole huge page is the one that touched the huge page first.
    """
    huge = huge_instances(trace)
    if huge is None or huge.is_empty():
        return pages
    first = pl.col("address") // PAGE_BYTES
    places = trace.instances.join(huge, on=_INSTANCE, how="semi").select(
        *_INSTANCE, first=first, end=(pl.col("address") + pl.col("size")) // PAGE_BYTES
    )
    begin = (pl.col("first") + pl.col("page")) // _PAGES * _PAGES
    is_whole = (begin >= pl.col("first")) & (begin + _PAGES <= pl.col("end"))
    toucher = pl.col("thread").first().over(*_INSTANCE, "begin")
    return (
        pages.join(places, on=_INSTANCE, how="left", maintain_order="left")
        .with_columns(begin=begin, whole=is_whole.fill_null(value=False))
        .with_columns(thread=pl.when("whole").then(toucher).otherwise("thread"))
        .select(pages.columns)
    )
