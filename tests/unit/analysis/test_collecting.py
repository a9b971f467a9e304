# SPDX-License-Identifier: Apache-2.0
"""The results do not depend on the engine, which is chosen by the number of rows."""

from __future__ import annotations

import polars as pl
import pytest

from numascape.analysis import collecting
from numascape.analysis.facts import per_thread_pages, structure_facts
from numascape.analysis.page_index import page_index
from numascape.analysis.traffic import node_traffic
from numascape.findings import examine, findings_of
from numascape.trace import Trace
from synthetic.in_memory import trace_of
from synthetic.patterns import seismic


def trace() -> Trace:
    pattern = seismic(320, 64)
    pattern.placed_by_first_touch = True
    return trace_of(pattern)


def engines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The list to which later queries add the engine that they use."""
    asked: list[str] = []
    collect = pl.LazyFrame.collect

    def noted(self: pl.LazyFrame, *, engine: str = "auto", **options: object) -> object:
        asked.append(engine)
        return collect(self, engine=engine, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(pl.LazyFrame, "collect", noted)
    return asked


@pytest.mark.parametrize(("more", "engine"), [(0, "streaming"), (1, "in-memory")])
def test_many_rows_are_streamed(monkeypatch: pytest.MonkeyPatch, more: int, engine: str) -> None:
    monkeypatch.setattr(collecting, "MANY_ROWS", 3 + more)
    asked = engines(monkeypatch)
    table = pl.DataFrame({"a": [1, 2, 3]})
    assert collecting.collected(table.lazy().select(pl.col("a").sum()), 3).item() == 6
    assert asked == [engine]


def test_both_engines_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for many in (0, 1 << 40):
        monkeypatch.setattr(collecting, "MANY_ROWS", many)
        run = trace()
        keys = ["structure", "thread_node", "page_node"]
        found.append(
            (
                structure_facts(per_thread_pages(run.accesses, 1), run.first_touch),
                page_index(run).pages.rows(),
                node_traffic(run, run.accesses, ["structure"]).sort(keys).rows(),
                findings_of(examine(run)),
            )
        )
    assert found[0] == found[1]
