# SPDX-License-Identifier: Apache-2.0
"""The data of the page of running processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape.errors import NumascapeError
from numascape.live.structures import node_uses
from numascape.report import process_page
from numascape.report.process_page import processes_data, render_processes
from synthetic.processes import PAGE, TENSORS, model_server


def test_all_memory_of_the_snapshot_is_in_the_page() -> None:
    snapshot = model_server("server")
    (process,) = processes_data([snapshot], in_detail=True, rows=1000)["processes"]
    assert [use["node"] for use in process["nodes"]] == [0, 1, -1]
    total = sum(use.anonymous + use.mapped_file for use in node_uses(snapshot))
    assert sum(use["anonymous"] + use["files"] for use in process["nodes"]) == total
    for column, use in enumerate(process["nodes"]):
        on_node = sum(item["nodes"][column] for item in process["structures"])
        assert on_node == use["anonymous"] + use["files"]
    heap = next(item for item in process["structures"] if item["kind"] == "heap")
    assert heap["swapped"] == PAGE
    assert process["notes"] == ["4 KiB more are in swap"]
    assert [use["bound"] for use in process["nodes"] if use["node"] >= 0] == [0, 1]


def test_what_is_left_out_is_counted() -> None:
    (process,) = processes_data([model_server("server")], in_detail=True, rows=1)["processes"]
    assert len(process["structures"]) == len(process["threads"]) == 1
    assert (process["more_structures"], process["more_threads"]) == (TENSORS + 1, 1)


def test_tensors_are_layers_unless_asked_for() -> None:
    (process,) = processes_data([model_server("server")], in_detail=False, rows=1000)["processes"]
    assert "layer 3 of model.gguf" in [item["name"] for item in process["structures"]]


def test_a_page_that_does_not_fit_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_page, "SIZE", 1000)
    with pytest.raises(NumascapeError, match="name fewer processes"):
        render_processes([model_server("server")], False, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
