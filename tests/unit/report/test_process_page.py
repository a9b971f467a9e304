# SPDX-License-Identifier: Apache-2.0
"""The data of the page of running processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numascape.errors import NumascapeError
from numascape.live.snapshot import Snapshot
from numascape.live.structures import node_uses
from numascape.live.together import together
from numascape.report import process_page
from numascape.report.process_page import processes_data, render_processes
from synthetic.processes import PAGE, TENSORS, model_server, shared_model


def data_of(*snapshots: Snapshot, in_detail: bool = True, rows: int = 1000) -> dict[str, Any]:
    files = shared_model() if len(snapshots) > 1 else {}
    return processes_data(together(snapshots, files, in_detail), in_detail, rows)


def test_all_memory_of_the_snapshot_is_in_the_page() -> None:
    snapshot = model_server("server")
    (process,) = data_of(snapshot)["processes"]
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
    data = data_of(model_server("server"), rows=1)
    (process,) = data["processes"]
    assert len(process["structures"]) == len(process["threads"]) == 1
    assert (process["more_structures"], process["more_threads"]) == (TENSORS + 1, 1)


def test_tensors_are_layers_unless_asked_for() -> None:
    data = data_of(model_server("server"), in_detail=False)
    (process,) = data["processes"]
    assert "layer 3 of model.gguf" in [item["name"] for item in process["structures"]]


def test_strips_show_where_the_pages_of_each_node_are() -> None:
    data = data_of(model_server("server"))
    (process,) = data["processes"]
    assert data["together"] is None
    heap = next(item for item in process["structures"] if item["kind"] == "heap")
    assert heap["strip"] == [0] * 12 + [1] * 4
    on_0, on_1, unknown = heap["positions"]
    assert on_0 == [100] * 24 + [0] * 8
    # The last range has a page in swap and one whose node is unknown, of 64 pages.
    assert on_1 == [0] * 24 + [100] * 7 + [97]
    assert unknown == [0] * 31 + [2]


def test_several_processes_are_together_with_shared_memory_once() -> None:
    small = model_server("small", 5000)
    half = len(small.counts) // 2
    snapshots = [replace(small, counts=small.counts[:half]), model_server("large", 6000)]
    data = data_of(*snapshots)
    assert [process["name"] for process in data["processes"]] == ["large", "small"]
    model_bytes = TENSORS * 8 * PAGE
    large = data["processes"][0]
    for memory in (large, data["together"]):
        assert sum(use["shared"] for use in memory["nodes"]) == model_bytes
    joint = {item["name"]: item for item in data["together"]["structures"]}
    assert joint["blk.3.weight"]["nodes"] == [0, 8 * PAGE, 0]
    assert joint["blk.3.weight"]["users"] == {"pid": None, "count": 2, "shared": True}
    assert joint["blk.3.weight"]["strip"] == [1] * 16
    assert joint["small"]["users"] == {"pid": 5000, "count": 1, "shared": False}
    assert joint["[heap]"]["users"] == {"pid": None, "count": 2, "shared": False}
    total = sum(item["anonymous"] + item["files"] for item in joint.values())
    assert total == sum(use["anonymous"] + use["files"] for use in data["together"]["nodes"])
    assert [use["bound"] for use in data["together"]["nodes"]] == [0, 2, 0]


def test_a_page_that_does_not_fit_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_page, "SIZE", 1000)
    with pytest.raises(NumascapeError, match="name fewer processes"):
        render_processes([model_server("server")], {}, False, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
