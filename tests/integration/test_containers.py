# SPDX-License-Identifier: Apache-2.0
"""In a recorded segmented_vector, each segment is used and first touched by its worker."""

from pathlib import Path
from typing import Any

import polars as pl

THREADS = 4
CELLS = 65536
STEPS = 20
CELL_BYTES = 64
PAGES = CELLS * CELL_BYTES // 4096


def placed(recording: Any, kind: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Accesses and first touches of the cells; the segments' table has their name, too."""
    cells = recording.trace.structures.filter(name="cells", kind=kind)
    assert cells.height == 1, recording.trace.structures
    accesses = recording.trace.accesses.join(cells, on="structure", how="semi")
    first = recording.trace.first_touch.join(cells, on="structure", how="semi")
    return accesses, first


def test_main_touches_every_page_of_a_vector_first(record: Any, examples: Path) -> None:
    recording = record(examples / "containers", "-t", THREADS, "vector")
    assert "correct" in recording.output
    _, first = placed(recording, "heap")
    assert first["thread"].unique().to_list() == [0]
    assert first["page"].n_unique() >= PAGES


def test_each_worker_touches_and_uses_its_segment(record: Any, examples: Path) -> None:
    recording = record(examples / "containers", "-t", THREADS, "segmented")
    assert "correct" in recording.output
    accesses, first = placed(recording, "mapping")
    quarter = PAGES // THREADS
    owners = dict(first.select("page", "thread").iter_rows())
    assert sorted(owners) == list(range(PAGES))
    by_segment = [
        {owners[p] for p in range(k * quarter, (k + 1) * quarter)} for k in range(THREADS)
    ]
    assert all(len(owner) == 1 for owner in by_segment)
    workers = [owner.pop() for owner in by_segment]
    assert sorted(workers) == [1, 2, 3, 4]
    writes = accesses.group_by("thread", "page").agg(pl.col("writes").sum())
    cells_per_page = 4096 // CELL_BYTES
    written = writes.filter(pl.col("writes") > 0)
    assert written.height == PAGES
    for worker, page, count in written.iter_rows():
        assert owners[page] == worker
        # Each cell is constructed once. Each step then writes next, temperature, heat and updates.
        assert count >= cells_per_page * 4 * STEPS


def test_the_segments_are_named_by_their_variable(record: Any, examples: Path) -> None:
    recording = record(examples / "containers", "-t", THREADS, "segmented")
    cells = recording.trace.structures.filter(name="cells", kind="mapping")
    assert cells["file"].item().endswith("containers.cpp")
    assert cells["size"].item() == CELLS * CELL_BYTES
