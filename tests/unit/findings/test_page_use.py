# SPDX-License-Identifier: Apache-2.0
"""The matrix of pages and threads: its order, omitted threads, and runs of pages if it is large."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from numascape.findings import page_use as module
from numascape.findings.page_use import RUN, page_use

COLUMNS = dict.fromkeys(("instance", "page", "thread", "reads", "writes"), pl.UInt32)


def rows(*of: tuple[int, int, int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(of, schema=COLUMNS, orient="row")


def test_pages_are_in_order_and_accesses_of_a_thread_are_added() -> None:
    found = page_use(
        rows((1, 0, 5, 1, 0), (0, 3, 9, 2, 1), (0, 3, 5, 4, 0), (0, 3, 9, 0, 1), (0, 1, 5, 0, 7))
    )
    assert found.threads.tolist() == [5, 9]
    assert list(zip(found.instance, found.page, strict=True)) == [(0, 1), (0, 3), (1, 0)]
    assert found.counts.tolist() == [[7.0, 0.0], [4.0, 4.0], [1.0, 0.0]]
    assert found.together.tolist() == [False, False]
    assert found.owner.tolist() == [0, 0, 0]


def test_rows_without_accesses_and_idle_threads_are_left_out() -> None:
    found = page_use(rows((0, 0, 0, 100, 0), (0, 1, 1, 5, 0), (0, 2, 2, 0, 0), (0, 0, 3, 100, 0)))
    # A tenth of the mean of 68 is 6.8: thread 1 has less, so it is left out together with its page.
    assert found.threads.tolist() == [0, 3]
    assert found.page.tolist() == [0]
    nothing = page_use(rows())
    assert (nothing.counts.shape, nothing.page.tolist()) == ((0, 0), [])


@pytest.mark.parametrize(("elements", "every"), [(8 * RUN, 1), (8 * RUN - 1, 2), (2 * RUN, 4)])
def test_of_many_pages_runs_are_kept_evenly(
    monkeypatch: pytest.MonkeyPatch, elements: int, every: int
) -> None:
    monkeypatch.setattr(module, "ELEMENTS", elements)
    pages = 4 * RUN
    table = rows(*((0, page, thread, 1 + page, 0) for page in range(pages) for thread in (0, 1)))
    found = page_use(table)
    kept = [page for page in range(pages) if page // RUN % every == 0]
    assert found.page.tolist() == kept
    assert found.counts.tolist() == [[1.0 + page] * 2 for page in kept]
    assert np.count_nonzero(~found.together) == (0 if every in (1, 4) else 1)
