# SPDX-License-Identifier: Apache-2.0
"""Large files are shown by offset, so that one sees which part is on which node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from numascape.console.structure_table import strip_text
from numascape.live.file_parts import by_offset
from numascape.live.mappings import Mapping
from numascape.live.parts import Part
from numascape.live.positions import PartCells
from numascape.live.snapshot import PartCount, Snapshot
from numascape.live.strips import node_strip
from numascape.live.structures import structures_of
from numascape.live.targets import TargetProcess

PAGE = 4096
MIB = 1 << 20
START = 1 << 40


def mapped(size: int, kind: str, *cells: tuple[int, int, int], offset: int = 0) -> Snapshot:
    """A file of this size in cells of 2 MiB; each of `cells` has a number, a node and bytes."""
    mapping = Mapping(START, START + size, "r--s", offset, "8:1", 6, "/data.bin")
    part = Part(0, START, START + size, PAGE, "/data.bin", kind, "/data.bin")
    numbers = np.array(cells, np.int64).reshape(-1, 3).T
    return Snapshot(
        TargetProcess(1, "reader", 1),
        0.0,
        (mapping,),
        (part,),
        tuple(PartCount(0, node, "file", PAGE, count) for _, node, count in cells),
        (),
        {0: (0,), 1: (1,)},
        1,
        True,
        PartCells(
            np.zeros(len(cells), np.int64), numbers[0], numbers[1], numbers[2], np.array([2 * MIB])
        ),
    )


def parts_of(snapshot: Snapshot) -> dict[str, dict[int, int]]:
    (file,) = structures_of(snapshot)
    return {part.structure.name: part.structure.nodes for part in by_offset(snapshot, file)}


@pytest.mark.parametrize("kind", ["file", "shared memory"])
def test_each_part_has_the_pages_of_its_offsets(kind: str) -> None:
    snapshot = mapped(64 * MIB, kind, *((n, n // 16, 2 * MIB) for n in range(32)))
    parts = parts_of(snapshot)
    assert len(parts) == 16
    assert parts["data.bin [0-4 MiB]"] == {0: 4 * MIB}
    assert parts["data.bin [32-36 MiB]"] == {1: 4 * MIB}
    assert sum(sum(nodes.values()) for nodes in parts.values()) == 64 * MIB


def test_parts_without_pages_are_left_out_and_the_strip_shows_the_rest() -> None:
    snapshot = mapped(64 * MIB, "file", (3, 1, 2 * MIB))
    (file,) = structures_of(snapshot)
    (part,) = by_offset(snapshot, file)
    assert (part.offset, part.structure.name) == (4 * MIB, "data.bin [4-8 MiB]")
    assert strip_text(node_strip(part.placed)) == "·" * 8 + "1" * 8


def test_the_offset_of_the_mapping_counts() -> None:
    snapshot = mapped(2 * MIB, "file", (0, 0, MIB), offset=1024 * MIB)
    assert parts_of(snapshot) == {
        "data.bin [1024-1025 MiB]": {0: MIB // 2},
        "data.bin [1025-1026 MiB]": {0: MIB // 2},
    }


def test_other_structures_and_small_files_are_whole() -> None:
    assert parts_of(mapped(64 * MIB, "tensor", (0, 0, MIB))) == {}
    assert parts_of(mapped(MIB, "file", (0, 0, MIB))) == {}


def test_pages_of_several_sizes_have_no_size_in_the_parts() -> None:
    snapshot = mapped(64 * MIB, "file", (0, 0, 2 * MIB), (1, 0, MIB))
    huge = snapshot.counts[0]._replace(page_bytes=2 * MIB)
    mixed = replace(snapshot, counts=(huge, *snapshot.counts[1:]))
    for one, known in ((snapshot, True), (mixed, False)):
        (file,) = structures_of(one)
        assert all(bool(part.structure.page_sizes) == known for part in by_offset(one, file))
