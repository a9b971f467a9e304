# SPDX-License-Identifier: Apache-2.0
"""Parts with one name are summed, and shown as a table, as JSON and for Prometheus."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from rich.console import Console

from numascape.console.pages import drawn
from numascape.console.structure_table import pages_text
from numascape.live.document import pages_document, process_prometheus
from numascape.live.mappings import Mapping
from numascape.live.parts import Part
from numascape.live.positions import PartCells
from numascape.live.snapshot import EXACT_BYTES, HUGE_PAGE, PartCount, Snapshot, sampling
from numascape.live.structures import node_uses, structures_of, swapped_bytes
from numascape.live.targets import TargetProcess
from numascape.live.threads import Thread

PAGE = 4096
ESCAPE = 'evil\x1b[2J\n"name\\'


@pytest.fixture
def snapshot() -> Snapshot:
    """A variable in two modules, a model of two layers, data of a library, a strange file."""
    mappings = (
        Mapping(0, 16 * PAGE, "rw-p", 0, "8:1", 5, "/lib/libx.so", policy="default"),
        Mapping(16 * PAGE, 32 * PAGE, "rw-p", 0, "0:0", 0, "", policy="bind:1"),
        Mapping(32 * PAGE, 64 * PAGE, "r--s", 0, "8:1", 6, "/model.gguf"),
        Mapping(64 * PAGE, 80 * PAGE, "r--p", 0, "8:1", 7, f"/{ESCAPE}"),
    )
    parts = (
        Part(0, 0, 8 * PAGE, PAGE, "table", "global", "/lib/libx.so", source="x.c:1"),
        Part(0, 8 * PAGE, 16 * PAGE, PAGE, "data of libx.so", "global", "/lib/libx.so"),
        Part(1, 16 * PAGE, 24 * PAGE, PAGE, "table", "global", source="y.c:7"),
        Part(1, 24 * PAGE, 32 * PAGE, PAGE, "data of libx.so", "global"),
        Part(2, 32 * PAGE, 40 * PAGE, PAGE, "blk.0.a", "tensor", "/model.gguf", 0),
        Part(2, 40 * PAGE, 48 * PAGE, PAGE, "blk.0.b", "tensor", "/model.gguf", 0),
        Part(2, 48 * PAGE, 64 * PAGE, PAGE, "output", "tensor", "/model.gguf"),
        Part(3, 64 * PAGE, 80 * PAGE, PAGE, f"/{ESCAPE}", "file", f"/{ESCAPE}"),
    )
    rows = [
        (0, 0, "anonymous", PAGE, 8 * PAGE),
        (1, 0, "file", PAGE, 2 * PAGE),
        (2, 1, "anonymous", HUGE_PAGE, 8 * PAGE),
        (3, 1, "anonymous", PAGE, 4 * PAGE),
        (3, -1, "swapped", PAGE, 3 * PAGE),
        (4, 0, "file", PAGE, 8 * PAGE),
        (5, 1, "file", PAGE, 6 * PAGE),
        (6, 1, "file", PAGE, 16 * PAGE),
        (7, -1, "anonymous", PAGE, PAGE),
    ]
    counts = tuple(PartCount(*row) for row in rows)
    threads = (Thread(1, "main", 1, 0, 0, (0, 1), 0), Thread(2, ESCAPE, 2, 1, 1, (1,), 0))
    target = TargetProcess(1, ESCAPE, 1)
    in_memory = [row for row in rows if row[2] != "swapped"]
    cells = PartCells(
        np.array([row[0] for row in in_memory]),
        np.zeros(len(in_memory), np.int64),
        np.array([row[1] for row in in_memory]),
        np.array([row[4] for row in in_memory]),
        np.array([part.end - part.start for part in parts]),
    )
    nodes: dict[int, tuple[int, ...]] = {0: (0,), 1: (1,)}
    return Snapshot(target, 0.0, mappings, parts, counts, threads, nodes, 1, True, cells)


def test_variables_of_one_name_are_two_and_data_of_a_module_one(snapshot: Snapshot) -> None:
    found = structures_of(snapshot)
    tables = [item for item in found if item.name == "table"]
    assert {(item.source, tuple(item.nodes.items())) for item in tables} == {
        ("x.c:1", ((0, 8 * PAGE),)),
        ("y.c:7", ((1, 8 * PAGE),)),
    }
    (data,) = [item for item in found if item.name == "data of libx.so"]
    assert data.nodes == {0: 2 * PAGE, 1: 4 * PAGE}
    assert (data.anonymous, data.mapped_file, data.swapped) == (4 * PAGE, 2 * PAGE, 3 * PAGE)
    assert data.policies == {"default", "bind:1"}


def test_tensors_are_layers_unless_in_detail(snapshot: Snapshot) -> None:
    outline = {item.name: item for item in structures_of(snapshot, in_detail=False)}
    assert outline["layer 0 of model.gguf"].nodes == {0: 8 * PAGE, 1: 6 * PAGE}
    assert outline["other tensors of model.gguf"].resident == 16 * PAGE
    assert "blk.0.a" in {item.name for item in structures_of(snapshot)}


def test_nodes_add_up(snapshot: Snapshot) -> None:
    uses = {use.node: use for use in node_uses(snapshot)}
    assert (uses[0].anonymous, uses[0].mapped_file, uses[0].threads) == (8 * PAGE, 10 * PAGE, 1)
    assert (uses[1].huge, uses[1].threads) == (8 * PAGE, 1)
    assert uses[-1].anonymous == PAGE
    assert swapped_bytes(snapshot) == 3 * PAGE


def test_names_do_not_steer_the_terminal(snapshot: Snapshot) -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(drawn([snapshot], {}, console, 20, in_detail=True))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in text
    assert "12 KiB more are in swap" in text
    row = next(line for line in text.splitlines() if "blk.0.a" in line)
    assert "0" * 16 in row


def test_pages_of_each_size_are_named(snapshot: Snapshot) -> None:
    console = Console(file=io.StringIO(), width=80)
    console.print(drawn([snapshot], {}, console, 20, in_detail=True))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 80
    assert sorted("2M" in line for line in lines if line.startswith("table")) == [False, True]
    assert pages_text({PAGE: PAGE, HUGE_PAGE: 3 * PAGE}, huge_told=True) == "2M 75%, 4K"
    assert pages_text({PAGE: PAGE, HUGE_PAGE: 3 * PAGE}, huge_told=False) == "2M 75%, ?"
    assert pages_text({1 << 30: 2 << 30}, huge_told=False) == "1G"


def test_the_largest_are_shown_and_the_rest_summed(snapshot: Snapshot) -> None:
    console = Console(file=io.StringIO(), width=100)
    console.print(drawn([snapshot], {}, console, 1, in_detail=False))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "5 more structures" in text


def test_json_and_prometheus_escape_names(snapshot: Snapshot) -> None:
    document = json.loads(json.dumps(pages_document([snapshot])))
    (process,) = document["processes"]
    assert process["name"] == ESCAPE
    assert process["swapped"] == 3 * PAGE
    for line in process_prometheus([snapshot]).splitlines():
        quoted = r'"(?:[^"\\\n]|\\["\\n])*"'
        labels = rf"\{{[a-z_]+={quoted}(?:,[a-z_]+={quoted})*\}}"
        assert re.fullmatch(rf"# (HELP|TYPE) .*|[a-z_]+{labels} \d+", line), line


def test_only_large_processes_are_sampled() -> None:
    assert sampling(EXACT_BYTES) == 1
    assert sampling(EXACT_BYTES + 1) == 2
    assert sampling(100 << 30) == 8
    assert sampling(1 << 60) == 1 << 10
