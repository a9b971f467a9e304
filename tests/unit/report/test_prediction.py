# SPDX-License-Identifier: Apache-2.0
"""The data of the page of predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from numascape.errors import NumascapeError
from numascape.machine.sources import open_machine
from numascape.prediction.layout import laid_out
from numascape.prediction.scenarios import Scenarios
from numascape.report import prediction
from numascape.report.prediction import Predicted, prediction_data, render_prediction
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern


@pytest.fixture(scope="module")
def predicted() -> Predicted:
    """Thread 0 touches all of `field` first; `hardly` has almost no accesses."""
    pattern = Pattern("solver", 16)
    page = np.arange(640)
    field = pattern.structure("field", 640)
    pattern.access(field, page, page // 40, 3_000_000, 1_000_000)
    pattern.touch(field, page, 0)
    hardly = pattern.structure("hardly", 1)
    pattern.access(hardly, np.arange(1), 0, 1, 0)
    pattern.touch(hardly, np.arange(1), 0)
    trace = trace_of(pattern, "one")
    machine = open_machine("numa16")
    scenarios = Scenarios(trace, machine, laid_out(16, machine), with_pages=True)
    found = scenarios.predict(["observed", "interleave"])
    return Predicted(trace, machine, found, "A <b>conclusion</b>.", ["this"])


def test_pages_are_where_each_policy_puts_them(predicted: Predicted) -> None:
    data = prediction_data(predicted, 10)
    nodes = len(predicted.machine.nodes)
    assert [row["name"] for row in data["structures"]] == ["field"]
    assert data["structures"][0]["pages"] == 640
    observed, interleaved = data["policies"]
    assert observed["pages"] == [[640.0] + [0.0] * (nodes - 1)]
    assert interleaved["pages"] == [[640.0 / nodes] * nodes]


def test_traffic_is_that_of_the_prediction(predicted: Predicted) -> None:
    """Each of the 8 x 8 numbers is rounded to bytes."""
    for policy, one in zip(prediction_data(predicted, 0)["policies"], predicted.found, strict=True):
        assert sum(policy["traffic"]) == pytest.approx(one.traffic.sum(), abs=64)
        assert policy["low"] <= policy["relative"] <= policy["high"]


def test_pages_are_only_counted_if_asked_for(predicted: Predicted) -> None:
    trace, machine = predicted.trace, predicted.machine
    (found,) = Scenarios(trace, machine, laid_out(16, machine)).predict(["observed"])
    assert found.structure_pages is None


def test_a_page_that_does_not_fit_says_what_to_do(
    predicted: Predicted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction, "SIZE", 1000)
    with pytest.raises(NumascapeError, match="name fewer policies with --policy"):
        render_prediction(predicted, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
