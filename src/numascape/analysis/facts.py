# SPDX-License-Identifier: Apache-2.0
"""Measure each structure: who uses its pages, who touched them first.

Everything here is computed on single pages, before any folding. Two threads that use neighbouring
pages therefore never count as sharing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from numascape.analysis.collecting import collected
from numascape.analysis.page_numbers import Ints, page_numbers, summed_by
from numascape.analysis.sharing import PAGE


@dataclass(frozen=True)
class Facts:
    """One structure in numbers. Shares are 0..1; ``accesses`` = ``reads + writes``."""

    reads: int
    writes: int
    threads: int
    writers: int
    busiest_thread: int
    busiest_share: float
    touched_pages: int
    dominance: float
    """Mean share of a page's busiest thread, weighted by accesses."""
    threads_per_page: float
    """Mean number of threads that use a page, weighted by accesses."""
    first_touched_pages: int
    first_toucher: int | None
    """The thread that touched most pages first."""
    first_toucher_share: float
    """Its share of the first touched pages."""
    first_toucher_accesses: float
    """Its share of the accesses."""
    own_share: float
    """Share of the accesses that are by the thread that touched the page first."""
    place: tuple[str, str, int]
    """function, file and line that touched most pages first; empty and 0 when unknown."""
    others_dominance: float = 0.0
    """Dominance without the busiest thread. It is measured only if there are more than two threads,
    and the busiest one makes at least half of the accesses; otherwise it is 0."""

    @property
    def accesses(self) -> int:
        """Reads and writes."""
        return self.reads + self.writes


def per_thread_pages(accesses: pl.DataFrame, phases: int) -> pl.DataFrame:
    """Sum ``accesses`` over phases: structure, instance, page, thread, reads, writes."""
    keys = [*PAGE, "thread"]
    if phases == 1:  # no copy: the table may have tens of millions of rows
        return accesses.select(*keys, "reads", "writes")
    return summed_by(accesses, keys, ["reads", "writes"])


def structure_facts(
    per_thread: pl.DataFrame, first_touch: pl.DataFrame, *, of_known: bool = False
) -> dict[int, Facts]:
    """Return the facts of every structure that was accessed or touched, by structure id.

    ``per_thread`` is what :func:`per_thread_pages` returns, ``first_touch`` the trace's table.
    ``of_known``: `own_share` is a share of the accesses to pages with a known first touch. If page
    faults show first touches, they are unknown for most pages of a huge page.
    """
    use = per_thread.lazy().with_columns(accesses=pl.col("reads") + pl.col("writes"))
    first = first_touch.lazy()
    rows = per_thread.height + first_touch.height
    every = pl.concat([per_thread.select(PAGE), first_touch.select(PAGE)])
    number, bound = page_numbers(every)
    page, touched = number[: per_thread.height], number[per_thread.height :]
    # These are computed one after the other, so that only one of them uses memory at a time.
    summary = [
        _by_page(per_thread, page, bound),
        collected(_by_thread(use), rows),
        collected(_first_touchers(first), rows),
        _own(per_thread, page, _touchers(first_touch, touched, bound), of_known=of_known),
        collected(_places(first), rows),
        _pages(every["structure"], number, bound),
    ]
    summary.append(_toucher_accesses(use, summary[2], rows))
    summary.append(_others(use, summary[1], rows))
    sums: dict[int, dict[str, Any]] = {}
    for table in summary:
        for row in table.iter_rows(named=True):
            sums.setdefault(row["structure"], {}).update(row)
    return {structure: _facts(sums[structure]) for structure in sorted(sums)}


def _pages(structures: pl.Series, page: Ints, bound: int) -> pl.DataFrame:
    """For each structure, how many of its `pages` were accessed or touched first.

    `structures` and `page` are those of each row, in both tables. If accesses are samples or
    bursts, some pages are in only one of the tables.
    """
    structure, present = np.zeros(bound, np.uint32), np.zeros(bound, np.bool_)
    structure[page] = structures.to_numpy()
    present[page] = True
    return pl.DataFrame({"structure": structure[present]}).group_by("structure").agg(pages=pl.len())


def _by_page(per_thread: pl.DataFrame, page: Ints, bound: int) -> pl.DataFrame:
    """For each structure, sums over the pages that were accessed.

    `total` sums the accesses, `top` the accesses of busiest threads, and `users` the users times
    the accesses. `page` is the number of each row's page, below `bound`.
    """
    accesses = (per_thread["reads"] + per_thread["writes"]).to_numpy()
    total, top = np.zeros(bound, accesses.dtype), np.zeros(bound, accesses.dtype)
    np.add.at(total, page, accesses)
    np.maximum.at(top, page, accesses)
    users = np.bincount(page, minlength=bound)
    structure = np.zeros(bound, np.uint32)
    structure[page] = per_thread["structure"].to_numpy()
    columns = {"structure": structure, "total": total, "top": top, "users": users}
    present = users > 0
    pages = pl.DataFrame({name: values[present] for name, values in columns.items()})
    return pages.group_by("structure").agg(
        pl.col("total", "top").sum(),
        users=(pl.col("total").cast(pl.Float64) * pl.col("users")).sum(),
    )


def _by_thread(use: pl.LazyFrame) -> pl.LazyFrame:
    threads = use.group_by("structure", "thread").agg(
        pl.col("reads").sum(), pl.col("writes").sum(), pl.col("accesses").sum()
    )
    used = pl.col("accesses") > 0
    return threads.group_by("structure").agg(
        pl.col("reads").sum(),
        pl.col("writes").sum(),
        threads=used.sum(),
        writers=(pl.col("writes") > 0).sum(),
        busiest=pl.col("thread").sort_by("accesses", "thread", descending=[True, False]).first(),
        busiest_accesses=pl.col("accesses").max(),
    )


def _first_touchers(first: pl.LazyFrame) -> pl.LazyFrame:
    counts = first.group_by("structure", "thread").agg(pages=pl.len())
    return counts.group_by("structure").agg(
        touched=pl.col("pages").sum(),
        toucher=pl.col("thread").sort_by("pages", "thread", descending=[True, False]).first(),
        toucher_pages=pl.col("pages").max(),
    )


def _touchers(first_touch: pl.DataFrame, page: Ints, bound: int) -> Ints:
    """The thread that touched each page first, or -1."""
    found = np.full(bound, -1, np.int64)
    found[page] = first_touch["thread"].to_numpy()
    return found


def _own(per_thread: pl.DataFrame, page: Ints, touchers: Ints, *, of_known: bool) -> pl.DataFrame:
    """For each structure, the accesses by the thread that touched the page first.

    `of_known`: also `touched_total`, the accesses to pages with a known first touch.
    """
    accesses = (pl.col("reads") + pl.col("writes")).sum()
    own = per_thread.filter(touchers[page] == per_thread["thread"].to_numpy())
    sums = own.group_by("structure").agg(own=accesses)
    if not of_known:
        return sums
    known = per_thread.filter(touchers[page] >= 0).group_by("structure")
    return known.agg(touched_total=accesses).join(sums, on="structure", how="left").fill_null(0)


def _places(first: pl.LazyFrame) -> pl.LazyFrame:
    return (
        first.group_by("structure", "function", "file", "line")
        .agg(pages=pl.len())
        .sort("pages", "function", "file", "line", descending=[True, False, False, False])
        .group_by("structure")
        .first()
        .drop("pages")
    )


def _toucher_accesses(use: pl.LazyFrame, touchers: pl.DataFrame, rows: int) -> pl.DataFrame:
    named = touchers.lazy().select("structure", pl.col("toucher").alias("thread"))
    sums = use.join(named, on=["structure", "thread"], how="semi").group_by("structure")
    return collected(sums.agg(toucher_accesses=pl.col("accesses").sum()), rows)


def _others(use: pl.LazyFrame, by_thread: pl.DataFrame, rows: int) -> pl.DataFrame:
    """For each structure, `dominance` without the accesses of its busiest thread."""
    accesses = pl.col("reads") + pl.col("writes")
    mainly_one = by_thread.filter(pl.col("threads") > 2, 2 * pl.col("busiest_accesses") >= accesses)
    if mainly_one.is_empty():
        return pl.DataFrame()
    rest = use.join(mainly_one.lazy().select("structure", "busiest"), on="structure").filter(
        pl.col("thread") != pl.col("busiest")
    )
    of_others = collected(rest, rows)
    pages = _by_page(of_others, *page_numbers(of_others))
    return pages.select("structure", others_dominance=pl.col("top") / pl.col("total"))


def _facts(sums: Mapping[str, Any]) -> Facts:
    """The facts of one structure; a key that is missing in `sums` counts as 0."""
    total = int(sums.get("total", 0))
    touched = sums.get("touched", 0)

    def share(part: float, whole: int = total) -> float:
        return part / whole if whole else 0.0

    return Facts(
        reads=sums.get("reads", 0),
        writes=sums.get("writes", 0),
        threads=sums.get("threads", 0),
        writers=sums.get("writers", 0),
        busiest_thread=sums.get("busiest", 0),
        busiest_share=share(sums.get("busiest_accesses", 0)),
        touched_pages=sums["pages"],
        dominance=share(sums.get("top", 0)),
        threads_per_page=share(sums.get("users", 0)),
        first_touched_pages=touched,
        first_toucher=sums.get("toucher"),
        first_toucher_share=share(sums.get("toucher_pages", 0), touched),
        first_toucher_accesses=share(sums.get("toucher_accesses", 0)),
        own_share=share(sums.get("own", 0), int(sums.get("touched_total", total))),
        place=(sums.get("function", ""), sums.get("file", ""), sums.get("line", 0)),
        others_dominance=sums.get("others_dominance", 0.0),
    )
