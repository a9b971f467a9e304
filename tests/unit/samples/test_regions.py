# SPDX-License-Identifier: Apache-2.0
"""Regions of addresses become a trace of structures and time slices, without threads."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from numascape.commands.predict import predict
from numascape.errors import NumascapeError
from numascape.findings import describe_not_judged, examine, findings_of
from numascape.findings.reading import reading_of
from numascape.live.parts import Part
from numascape.samples import regions
from numascape.samples.regions import RegionAccesses, first_regions, region_tables
from numascape.trace import Trace
from numascape.trace.counting import structure_error
from numascape.trace.info import Host, Process, Recorder, Times, Totals, TraceInfo
from numascape.trace.schema import SCHEMAS
from numascape.trace.write import write_trace
from unit.samples.test_tables import recording

PAGE = 4096
HEAP, MODEL = 0x1000_0000, 0x7F00_0000_0000
SECOND = 1_000_000_000
PARTS = [
    Part(0, HEAP, HEAP + 8 * PAGE, PAGE, "heap", "heap"),
    Part(1, MODEL, MODEL + 4 * PAGE, PAGE, "blk.0.attn_q.weight", "tensor", "/m.gguf", 0),
    Part(1, MODEL + 4 * PAGE, MODEL + 8 * PAGE, PAGE, "blk.1.attn_q.weight", "tensor", "/m.gguf"),
    Part(2, MODEL + 64 * PAGE, MODEL + 66 * PAGE, PAGE, "table", "global", source="/a/t.c:7"),
]


def accesses_at(time_s: float, *rows: tuple[int, int, int]) -> RegionAccesses:
    """Rows of start, end and accesses."""
    columns = np.array(rows, np.uint64).reshape(-1, 3).T
    return RegionAccesses(round(time_s * SECOND), *columns)


def all_pages(part: Part) -> tuple[regions.Numbers, np.ndarray]:  # type: ignore[type-arg]
    addresses = np.arange(part.start, part.end, PAGE, np.uint64)
    return addresses, (addresses // PAGE % 2).astype(np.int32)


LOOKS = [
    accesses_at(0.5, (HEAP, HEAP + 4 * PAGE, 20), (HEAP + 4 * PAGE, HEAP + 8 * PAGE, 0)),
    accesses_at(1.2, (HEAP, HEAP + 8 * PAGE, 3), (MODEL + 2 * PAGE, MODEL + 6 * PAGE, 5)),
    accesses_at(1.9, (MODEL + 5 * PAGE, MODEL + 65 * PAGE, 1)),
]


def counts(tables: dict[str, pl.DataFrame], name: str) -> dict[tuple[str, int], int]:
    """The reads of a structure by phase and page."""
    rows = (
        tables["accesses"]
        .join(tables["structures"].filter(name=name), on="structure")
        .join(tables["phases"].select("phase", phase_name="name"), on="phase")
    )
    assert rows["writes"].sum() == 0
    return {(phase, page): reads for phase, page, reads in
            rows.select("phase_name", "page", "reads").iter_rows()}  # fmt: skip


def test_accesses_are_those_of_the_regions_in_each_slice() -> None:
    tables = region_tables(LOOKS, PARTS, all_pages, SECOND)
    first, second = "0.0–1.0 s", "1.0–2.0 s"  # noqa: RUF001
    assert counts(tables, "heap") == {
        **{(first, page): 20 for page in range(4)},
        **{(second, page): 3 for page in range(8)},
    }
    assert counts(tables, "blk.0.attn_q.weight") == {(second, 2): 5, (second, 3): 5}
    assert counts(tables, "blk.1.attn_q.weight") == {
        (second, 0): 5, (second, 1): 6, (second, 2): 1, (second, 3): 1
    }  # fmt: skip
    assert counts(tables, "table") == {(second, 0): 1}
    assert tables["structures"].filter(name="table").select("file", "line").row(0) == ("/a/t.c", 7)


def test_pages_that_are_not_in_memory_were_not_accessed() -> None:
    def every_second(part: Part) -> tuple[regions.Numbers, np.ndarray]:  # type: ignore[type-arg]
        addresses, nodes = all_pages(part)
        return addresses[::2], nodes[::2]

    tables = region_tables(LOOKS[:1], PARTS, every_second, None)
    assert counts(tables, "heap") == {("run", 0): 20, ("run", 2): 20}
    assert tables["placement"]["node"].to_list() == [0, 0]


def test_of_very_much_memory_some_pages_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "MAX_ROWS", 4)
    tables = region_tables(LOOKS[:1], PARTS[:1], all_pages, None)
    assert counts(tables, "heap") == {("run", 0): 40, ("run", 2): 40}


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    tables = region_tables(LOOKS, PARTS, all_pages, SECOND)
    machine = recording([]).machine
    info = TraceInfo(
        program="/bin/a",
        arguments=(),
        recorder=Recorder("damon", "0", {}, "samples", 60, by_thread=False),
        host=Host("big", "Linux", 4, 2, 0),
        machine=machine,
        page_size=PAGE,
        started="now",
        times=Times(2.0, 0.0),
        exit_status=None,
        processes=(Process(0, 9, "/bin/a"),),
        totals=Totals(int(tables["accesses"]["reads"].sum()), 0, 17, 1),
        attributed_share=1.0,
        unseen=(),
    )
    write_trace(tmp_path / "t.numascape", tables, info)
    opened = Trace.read(tmp_path / "t.numascape")
    for name in SCHEMAS:
        opened.table(name)  # checks it
    return opened


def test_nothing_is_said_about_threads(trace: Trace) -> None:
    run = examine(trace)
    assert findings_of(run) == []
    assert "does not show which threads" in describe_not_judged(trace)
    heap = trace.structures.filter(name="heap").item(0, "structure")
    reading = reading_of(run, heap, [])
    assert reading.see[-1] == "Which threads use it is not known."
    assert (reading.advice, reading.verdict) == ((), "")


def test_the_error_is_that_of_the_checks(trace: Trace) -> None:
    assert structure_error(trace, 0) == pytest.approx(1.96 * 0.5 / 23**0.5)


def test_what_needs_threads_is_refused(trace: Trace) -> None:
    with pytest.raises(NumascapeError, match="a prediction needs to know which threads"):
        predict(trace.path)


def test_large_parts_are_regions_of_their_own_at_first() -> None:
    parts = [(0, 100), (100, 101), (101, 103), (103, 300), (5000, 5001), (5001, 5003)]
    assert first_regions(parts, 6) == parts
    assert first_regions(parts, 4) == [(0, 100), (100, 103), (103, 300), (5000, 5003)]
    assert first_regions(parts, 1) == [(0, 5003)]
    many = [(2 * number, 2 * number + 1) for number in range(10_000)]
    found = first_regions(many, 100)
    assert len(found) <= 100
    assert (found[0][0], found[-1][1]) == (0, many[-1][1])
    assert all(before[1] <= after[0] for before, after in pairwise(found))
