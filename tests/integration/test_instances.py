# SPDX-License-Identifier: Apache-2.0
"""The trace has the start address of each instance."""

from typing import Any

import polars as pl
import pytest

PAGE = 4096


@pytest.fixture(scope="module")
def addresses(record: Any) -> dict[str, list[tuple[int, int]]]:
    """(address, size) of a structure's instances, in their order."""
    trace = record("heap").trace
    named = trace.instances.join(trace.structures.select("structure", "name"), on="structure")
    assert named["structure"].n_unique() > 5
    grouped: dict[str, list[tuple[int, int]]] = {}
    for name, address, size in (
        named.sort("structure", "instance").select("name", "address", "size").iter_rows()
    ):
        grouped.setdefault(name, []).append((address, size))
    return grouped


@pytest.mark.parametrize(("structure", "offset"), [("aligned", 0), ("mapped", 0), ("plain", 16)])
def test_a_block_begins_where_the_allocator_put_it(
    addresses: dict[str, list[tuple[int, int]]], structure: str, offset: int
) -> None:
    [(address, size)] = addresses[structure]
    assert (address % PAGE, size) == (offset, 64 * PAGE)


def test_a_block_in_the_place_of_another_has_its_address(
    addresses: dict[str, list[tuple[int, int]]],
) -> None:
    assert addresses["retired"][0][0] == addresses["reused"][0][0]


def test_scattered_blocks_have_no_address(record: Any) -> None:
    trace = record("small_reuse").trace
    small = trace.structures.filter(pl.col("kind") == "small")
    assert small.height
    assert trace.instances.join(small, on="structure", how="semi").is_empty()
