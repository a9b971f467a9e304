# SPDX-License-Identifier: Apache-2.0
"""How much threads use the same pages, counted on single pages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

CountArray = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.intp]

PAGE = ["structure", "instance", "page"]
"""The columns that name a page in a trace's tables."""


def shared_accesses(per_thread: pl.DataFrame, threads: int) -> CountArray:
    """Threads x threads, symmetric: the sum over pages of min(accesses of i, accesses of j).

    The diagonal is the accesses of i. `per_thread` has one row per page (structure, instance,
    page) and thread, with reads and writes. Exact up to 2^53.
    """
    used = (
        per_thread.select(*PAGE, "thread", count=pl.col("reads") + pl.col("writes"))
        .filter(pl.col("count") > 0)
        .sort(*PAGE, "thread")
    )
    page = used.select(pl.struct(PAGE).rle_id()).to_series().to_numpy()
    thread = used["thread"].to_numpy().astype(np.intp)
    count = used["count"].to_numpy().astype(np.float64)
    matrix = np.zeros(threads * threads)
    # Pair each row with the row that is `apart` rows below it. A pair counts if both are of one
    # page.
    here: Indices = np.arange(len(page))
    apart = 0
    while len(here):
        least = np.minimum(count[here], count[here + apart])
        matrix += np.bincount(
            thread[here] * threads + thread[here + apart], least, threads * threads
        )
        apart += 1
        here = here[here + apart < len(page)]
        here = here[page[here] == page[here + apart]]
    upper = matrix.reshape(threads, threads)
    return (upper + np.triu(upper, 1).T).astype(np.uint64)
