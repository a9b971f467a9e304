# SPDX-License-Identifier: Apache-2.0
"""Cases that are not judged, and the choice between equal values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.findings.diagnoses import displaced_pages
from numascape.findings.finding import Place
from numascape.findings.subject import Run, Subject


@pytest.mark.parametrize("nodes", [None, SimpleNamespace(observed=False)])
@pytest.mark.parametrize("rows", [pl.DataFrame(), pl.DataFrame({"page": [1]})])
def test_pages_are_displaced_only_on_the_recorded_machine(nodes: Any, rows: pl.DataFrame) -> None:
    subject: Any = SimpleNamespace(run=SimpleNamespace(nodes=nodes), rows=rows)
    assert displaced_pages.diagnose(subject) is None
    subject.run.nodes = SimpleNamespace(observed=True)
    subject.rows = pl.DataFrame()
    assert displaced_pages.diagnose(subject) is None


@pytest.mark.parametrize(
    ("remote", "found"), [(None, False), (0.0, False), (0.09, False), (0.1, True), (1.0, True)]
)
def test_displaced_pages_matter_if_a_tenth_of_the_work_is_remote(
    monkeypatch: pytest.MonkeyPatch, remote: float | None, found: bool
) -> None:
    pages = pl.DataFrame({"node": [1, 0], "thread_node": [0, 0], "thread": [4, 5], "order": [0, 1]})
    monkeypatch.setattr(displaced_pages, "_pages", lambda _: pages)
    monkeypatch.setattr(displaced_pages, "pin", lambda _: "pin")
    subject: Any = SimpleNamespace(
        run=SimpleNamespace(nodes=SimpleNamespace(observed=True)),
        rows=pl.DataFrame({"reads": [1]}),
        remote=remote,
        pattern=None,
        structure=0,
        name="A",
        touched_at=None,
        touched_as=None,
        foreign=3,
    )
    finding = displaced_pages.diagnose(subject)
    assert (finding is not None) is found
    if finding is not None:
        assert (finding.threads, finding.nearer, finding.confidence) == ((4,), 3, 0.7)
        assert finding.why.startswith("50 % of its pages are not on the node of the thread that")
    monkeypatch.setattr(displaced_pages, "_pages", lambda _: pages.clear())
    assert displaced_pages.diagnose(subject) is None


def worked_in(counts: list[tuple[int, int, int]]) -> Place | None:
    """Phase, reads, writes."""
    rows = pl.DataFrame(counts, schema=["phase", "reads", "writes"], orient="row")
    phases = pl.DataFrame(
        {"name": ["outside", "a", "b"], "file": ["", "x.c", "x.c"], "line": [0, 3, 9]}
    )
    run: Any = SimpleNamespace(trace=SimpleNamespace(phases=phases))
    run.region = lambda phase: Run.region(run, phase)
    subject: Any = SimpleNamespace(rows=rows, run=run)
    phase_of, place_of = (getattr(Subject, name).func for name in ("main_phase", "worked_in"))
    subject.main_phase = phase_of(subject)
    place: Place | None = place_of(subject)
    return place


def test_the_phase_with_most_work_and_of_equals_the_first() -> None:
    assert worked_in([(1, 3, 0), (2, 2, 2)]) == Place("b", "x.c", 9)
    assert worked_in([(2, 4, 0), (1, 1, 3)]) == Place("a", "x.c", 3)
    assert worked_in([(0, 9, 0), (1, 1, 3)]) is None  # the code outside has no line
    assert worked_in([]) is None
