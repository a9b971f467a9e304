# SPDX-License-Identifier: Apache-2.0
"""The numbers in figures add up to the sums of the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numascape.analysis.sharing import shared_accesses
from numascape.figures.page_figures import accesses_per_page, dominant_threads
from numascape.figures.tables import PageMap, page_map, sharing, sizes, thread_sums, traffic
from numascape.figures.visible import make_visible
from numascape.machine import open_machine
from numascape.trace import Trace, TraceInfo, write_trace
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern
from synthetic.patterns import many_threads, seismic, sparse

Written = Callable[[Pattern], Trace]


@pytest.fixture
def written() -> Written:
    return lambda pattern: trace_of(pattern)


@pytest.fixture
def trace(trace_folder: Path) -> Trace:
    return Trace.read(trace_folder)


def expect_sums(pages: PageMap, trace: Trace, structure: int) -> None:
    accesses = trace.accesses.filter(pl.col("structure") == structure)
    touches = trace.first_touch.filter(pl.col("structure") == structure)
    assert int(pages.reads.sum()) == accesses["reads"].sum()
    assert int(pages.writes.sum()) == accesses["writes"].sum()
    assert int(pages.first_touched.sum()) == touches.height
    assert ((pages.place >= 0) == (pages.first_touched > 0)).all()
    assert (np.diff(pages.edges) > 0).all()
    assert (pages.edges[0], pages.edges[-1]) == (0, trace.structures.item(structure, "pages"))


PATTERNS: dict[str, Callable[[], Pattern]] = {
    "seismic": lambda: seismic(200, 8),
    "sparse": sparse,
    "many-threads": lambda: many_threads(70, 3000),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_sums_stay_however_pages_are_folded(written: Written, pattern: str) -> None:
    trace = written(PATTERNS[pattern]())
    for structure in range(2):
        for columns in (1024, 16):
            pages = page_map(trace, structure, columns)
            expect_sums(pages, trace, structure)
            for visible in product((512, 7), (256, 3)):
                expect_sums(make_visible(pages, *visible), trace, structure)


def test_thread_sums_stay_when_columns_are_folded(written: Written) -> None:
    trace = written(seismic(3000, 8))
    reads, writes = thread_sums(trace, 0)
    pages = make_visible(page_map(trace, 0), 100, 8)
    assert (pages.reads.sum(axis=1) == reads).all()
    assert (pages.writes.sum(axis=1) == writes).all()


def test_lone_pages_are_wide_enough_to_be_seen(written: Written) -> None:
    trace = written(sparse())
    pages = make_visible(page_map(trace, 0), 512, 2)
    used = pages.weight > 0
    assert (np.diff(pages.edges)[used] >= (1 << 28) / 512).all()
    assert pages.weight.sum() == 12


def test_pages_that_are_wide_enough_stay_where_they_are(trace: Trace) -> None:
    pages = make_visible(page_map(trace, 0), 512, 256)
    assert pages.edges.tolist() == [0, 1, 2]
    assert pages.accesses.tolist() == [[512, 512], [512, 400]]
    assert accesses_per_page(pages).tolist() == [[512, 512], [512, 400]]
    assert pages.place.tolist() == [[1, 1], [-1, -1]]
    assert pages.places == ("unknown", "fill (sum.c:12)")


def test_the_dominant_thread_has_most_accesses(trace: Trace) -> None:
    thread, share, mean = dominant_threads(page_map(trace, 0))
    assert thread.tolist() == [0, 0]
    assert share.tolist() == [0.5, 512 / 912]
    assert mean.tolist() == [1024, 912]


def test_thread_sums_of_a_structure_and_of_the_run(trace: Trace) -> None:
    assert [part.tolist() for part in thread_sums(trace, 0)] == [[0, 912], [1024, 0]]
    assert [part.tolist() for part in thread_sums(trace, None)] == [[0, 942], [1024, 34]]


def test_sharing_is_the_smaller_of_two_threads_accesses(trace: Trace) -> None:
    assert sharing(trace, 0).tolist() == [[1024, 512 + 400], [512 + 400, 912]]
    assert sharing(trace, 1).tolist() == [[0, 0], [0, 64]]


@settings(deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 4)), st.integers(0, 9)
    )
)
def test_sharing_against_its_definition(counts: dict[tuple[int, int, int], int]) -> None:
    """counts: (instance, page, thread) to accesses."""
    rows = [(0, i, page, thread, 0, n, 0) for (i, page, thread), n in counts.items()]
    expected = [
        [
            sum(
                min(counts.get((i, page, a), 0), counts.get((i, page, b), 0))
                for i in range(2)
                for page in range(4)
            )
            for a in range(5)
        ]
        for b in range(5)
    ]
    assert shared_accesses(_accesses(rows), 5).tolist() == expected


def _accesses(rows: Sequence[tuple[int, ...]]) -> pl.DataFrame:
    names = ("structure", "instance", "page", "thread", "phase", "reads", "writes")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.UInt64), orient="row")


def test_traffic_adds_up_and_knows_what_is_local(written: Written) -> None:
    trace = written(seismic(200, 64))
    moved = traffic(trace, 0)
    reads, writes = thread_sums(trace, 0)
    assert moved.thread_nodes == moved.page_nodes == ("0", "1", "2", "3")
    assert int(moved.accesses.sum()) == int(reads.sum() + writes.sum())
    assert (moved.accesses[:, 1:] == 0).all()  # serial first touch
    assert moved.local == int(moved.accesses[0, 0]) == int((reads + writes)[:16].sum())


def test_traffic_does_not_guess(
    tmp_path: Path, tables: dict[str, pl.DataFrame], info: TraceInfo
) -> None:
    nodes = pl.Series("nodes", [[0, 1], []], pl.List(pl.UInt32))
    changed = {
        **tables,
        "threads": tables["threads"].with_columns(nodes),
        "placement": tables["placement"].head(1),
    }
    several = replace(info, machine=open_machine("xeon-x7550"))
    write_trace(tmp_path / "t.numascape", changed, several)
    moved = traffic(Trace.read(tmp_path / "t.numascape"), None)
    assert moved.thread_nodes == ("0", "1", "2", "3", "several", "unknown")
    assert moved.page_nodes == ("0", "1", "2", "3", "unknown")
    assert (moved.accesses[:4] == 0).all()
    assert (moved.accesses[:, 1:4] == 0).all()
    assert moved.accesses[4:, [0, 4]].tolist() == [[512, 512], [512, 464]]
    assert moved.local == 0


def test_sizes_are_of_the_most_used_and_of_the_chosen(trace: Trace) -> None:
    assert sizes(trace, None, 2)["name"].to_list() == ["A", "B"]
    assert sizes(trace, 2, 2)["name"].to_list() == ["A", "unused"]
    assert sizes(trace, 0, 2)["name"].to_list() == ["A", "B"]
