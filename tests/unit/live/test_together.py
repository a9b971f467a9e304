# SPDX-License-Identifier: Apache-2.0
"""Several processes are added up; pages of files that they share are counted once."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from numascape._native import live as native
from numascape.console.pages import drawn, fitted
from numascape.live.shared_files import FileKey, SharedFile
from numascape.live.snapshot import HUGE_PAGE, PartCount, Snapshot
from numascape.live.together import Together, together
from synthetic.processes import PAGE, TENSORS, model_server, shared_model

SERVER: FileKey = ("8:1", 5)
MODEL_PAGES = TENSORS * 8


def backends(number: int) -> list[Snapshot]:
    """Equal processes with one model; the pages of its first layer are only in the first one."""
    found = [model_server("server", 4242 + at) for at in range(number)]
    for at, one in enumerate(found[1:], 1):
        rest = [count for count in one.counts if one.parts[count.part].name != "blk.0.weight"]
        found[at] = replace(one, counts=tuple(rest))
    return found


def shared_files() -> dict[FileKey, SharedFile]:
    """The model, and the executable, of which no page is in memory."""
    none = np.full(8, native.NOT_MAPPED, np.int16)
    return {**shared_model(), SERVER: SharedFile(0, PAGE, none)}


@pytest.fixture
def three() -> Together:
    return together(backends(3), shared_files(), in_detail=False)


def test_shared_pages_are_counted_once(three: Together) -> None:
    one = model_server("server")
    anonymous = sum(c.bytes for c in one.counts if c.memory == "anonymous")
    uses = {use.node: use for use in three.nodes}
    assert sum(use.anonymous for use in uses.values()) == 3 * anonymous
    assert [uses[node].mapped_file for node in (0, 1)] == [MODEL_PAGES // 2 * PAGE] * 2
    assert uses[0].threads == 3
    assert [three.shared_nodes[node] for node in (0, 1)] == [MODEL_PAGES // 2 * PAGE] * 2


def test_structures_of_one_name_are_added(three: Together) -> None:
    heap = next(item for item in three.structures if item.kind == "heap")
    one = next(c for c in model_server("server").counts if c.node == 0 and c.page_bytes > PAGE)
    assert heap.nodes[0] == 3 * one.bytes
    assert heap.page_sizes[HUGE_PAGE] == heap.resident - 3 * PAGE
    assert (heap.is_shared, heap.processes, heap.swapped) == (False, {0, 1, 2}, 3 * PAGE)


def test_shared_files_are_listed_once_with_the_pages_of_all(three: Together) -> None:
    layers = [item for item in three.structures if item.kind == "tensors"]
    assert {item.name for item in layers} == {f"layer {n} of model.gguf" for n in range(TENSORS)}
    for item in layers:
        assert (item.is_shared, item.resident, len(item.nodes)) == (True, 8 * PAGE, 1)
    placed = three.placed(layers[0])
    assert (placed.length, int(placed.bytes.sum())) == (8 * PAGE, 8 * PAGE)


def test_each_process_has_what_it_maps(three: Together) -> None:
    first, second, _ = three.processes
    assert first.shared == MODEL_PAGES * PAGE
    assert second.shared == (MODEL_PAGES - 8) * PAGE
    assert second.shared_nodes[1] == MODEL_PAGES // 2 * PAGE
    assert sum(first.nodes.values()) == first.anonymous + first.files + first.shared


def test_written_copies_of_a_shared_file_are_each_process_own() -> None:
    processes = backends(2)
    copies = [replace(one, counts=(*one.counts, PartCount(2, 1, "anonymous", PAGE, PAGE)))
              for one in processes]  # fmt: skip
    found = together(copies, shared_files(), in_detail=True)
    layer = next(item for item in found.structures if item.name == "blk.0.weight")
    assert (layer.anonymous, layer.mapped_file) == (2 * PAGE, 8 * PAGE)


@pytest.mark.parametrize(("number", "height"), [(1, 23), (2, 23), (100, 23), (100, 40), (3, 5)])
def test_a_live_table_fits_into_the_terminal(number: int, height: int) -> None:
    console = Console(file=io.StringIO(), width=80, height=height)
    files = shared_files() if number > 1 else {}
    console.print(fitted(backends(number), files, console, 20, False, height))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(lines) <= max(height, 16)
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert re.search(r"^\d+ more structures ", text, re.MULTILINE)
    if number > 1:
        assert text.startswith(f"{number} processes: ")
        assert "together" in text
    if number == 100:
        assert "more processes" in text


def test_all_processes_are_one_table_unless_each_is_wanted() -> None:
    for in_detail in (False, True):
        console = Console(file=io.StringIO(), width=120)
        console.print(drawn(backends(3), shared_files(), console, 20, in_detail))
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert "3 processes: " in text
        assert "3 shared" in text
        assert text.count("process 4243 (server): ") == in_detail
        assert text.count("worker") == 3 * in_detail
