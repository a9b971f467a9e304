# SPDX-License-Identifier: Apache-2.0
"""Counts belong to the structure that owned the address at the time of the access."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

PAGE = 4096
PAGES = 64
WORDS = PAGES * PAGE // 8
HEADER_ACCESSES = 8  # of the allocator to a block's size, beside the block's start


@pytest.fixture(scope="module")
def heap(record: Any) -> Any:
    return record("heap")


@pytest.mark.parametrize(
    ("structure", "page_count"),
    [
        ("aligned", (0, 256)),
        ("posix_aligned", (512, 512)),
        ("mem_aligned", (128, 0)),
        ("mapped", (512, 512)),
        ("retired", (0, 512)),
        ("reused", (256, 0)),
    ],
)
def test_page_aligned_block_counts_exactly(
    heap: Any, structure: str, page_count: tuple[int, int]
) -> None:
    assert heap.pages(structure) == dict.fromkeys(range(PAGES), page_count)


@pytest.mark.parametrize(
    ("structure", "blocks", "kind"),
    [("plain", 1, 1), ("zeroed", 1, 0), ("growing", 1, 1), ("grown", 4, 0)],
)
def test_malloc_block_counts_exactly(heap: Any, structure: str, blocks: int, kind: int) -> None:
    counted = heap.pages(structure)
    last = blocks * PAGES  # a block starts 16 bytes into its first page, so it ends 16 into this
    assert set(counted) == set(range(last + 1))
    assert 510 <= counted[0][kind] <= 510 + HEADER_ACCESSES
    assert counted[0][1 - kind] <= HEADER_ACCESSES
    for page in range(1, last):
        assert (counted[page][kind], counted[page][1 - kind]) == (512, 0), page
    assert (counted[last][kind], counted[last][1 - kind]) == (2, 0)


def test_reused_address_was_the_same(heap: Any) -> None:
    assert json.loads(heap.output)["same_address"]


def test_the_first_block_does_not_share_with_the_unused_reserve_for_exceptions(
    record: Any,
) -> None:
    counted = record("first_block").pages("query")
    assert sum(reads for reads, _ in counted.values()) >= 0.99 * 100_000 * 32


def test_small_blocks_at_one_address_never_mix(record: Any) -> None:
    recording = record("small_reuse")
    printed = json.loads(recording.output)
    rounds = printed["rounds"]
    assert printed["reuses"] >= rounds - 1
    # The first and the last page also hold other blocks, and counts are per page.
    inner = range(1, printed["words"] * 8 // PAGE)
    writer, reader = recording.pages("writer"), recording.pages("reader")
    assert {page: writer[page] for page in inner} == dict.fromkeys(inner, (0, 512 * rounds))
    assert {page: reader[page] for page in inner} == dict.fromkeys(inner, (512 * rounds, 0))
    instances = recording.trace.structures.filter(pl.col("name").is_in(["writer", "reader"]))
    assert instances["instances"].to_list() == [rounds, rounds]


def test_a_page_counts_though_its_share_of_the_accesses_is_none(record: Any) -> None:
    trace = record("crumbs").trace
    places = ["structure", "instance", "page"]
    touched = pl.concat([trace.accesses.select(places), trace.first_touch.select(places)])
    assert trace.info.totals.pages == touched.n_unique()


def test_a_block_whose_page_was_hardly_used_keeps_its_first_touch(record: Any) -> None:
    trace = record("crumbs").trace
    crumb = trace.structures.row(by_predicate=pl.col("name") == "crumb[i]", named=True)
    touched = trace.first_touch.filter(pl.col("structure") == crumb["structure"])
    assert set(touched["page"]) == set(range(crumb["pages"]))


@pytest.mark.parametrize(
    ("structure", "kinds"), [("array", (0, 1)), ("grid->field", (1, 0)), ("values", (1, 1))]
)
def test_new_counts_exactly(record: Any, structure: str, kinds: tuple[int, int]) -> None:
    counted = record("new").pages(structure)
    for page in range(1, PAGES):
        assert counted[page] == (512 * kinds[0], 512 * kinds[1]), page


@pytest.mark.parametrize("program", ["globals_pie", "globals_no_pie"])
def test_globals_count_exactly(record: Any, programs: Path, program: str) -> None:
    recording = record(program, programs / "libplugin.so")
    assert recording.status == 0
    expected = {
        "zeroed_global": (0, 512),
        "initialised_global": (512, 0),
        "file_static": (0, 256),
        "read_only": (512, 0),
        "function_static": (512, 512),
        "shared_library_exported": (0, 512),
        "shared_library_static": (128, 0),
        "plugin_exported": (0, 512),
        "plugin_static": (128, 0),
    }
    for structure, page_count in expected.items():
        assert recording.pages(structure) == dict.fromkeys(range(2), page_count), structure


@pytest.mark.parametrize(
    ("structure", "page_count"),
    [
        ("local", (0, 512)),
        ("module_allocatable", (512, 0)),
        ("grid%component", (0, 256)),
        ("fields::module_array", (0, 512)),
        ("/block/ common_first", (0, 512)),
        ("/block/ common_second", (512, 0)),
        ("saved", (0, 128)),
    ],
)
def test_fortran_arrays_count_exactly(
    record: Any, structure: str, page_count: tuple[int, int]
) -> None:
    # Fortran aligns arrays to 32 bytes at most: the first and last page are shared.
    counted = record("fields").pages(structure)
    for page in range(1, PAGES - 1):
        assert counted[page] == page_count, page


@pytest.mark.parametrize("structure", ["grid", "order", "table", "queue"])
def test_allocators_in_programs_and_libraries_are_known(record: Any, structure: str) -> None:
    assert record("embedded").total(structure) == (0, 64 * 512)


def test_a_small_block_counts_on_both_of_its_pages(record: Any) -> None:
    assert record("page_crossing").total("crossing")[1] >= 100 * 1024 // 8


@pytest.mark.parametrize("structure", ["table", "before", "after", "beside"])
def test_what_shares_a_page_with_the_end_of_a_large_block_counts_by_its_lines(
    record: Any, structure: str
) -> None:
    assert record("block_ends").total(structure)[1] == pytest.approx(100_000, rel=0.05)


@pytest.mark.parametrize("variable", ["counter", "table"])
def test_a_small_variable_that_is_used_often_is_a_structure(record: Any, variable: str) -> None:
    assert record("small_variables").total(variable)[1] == pytest.approx(200_000, rel=0.05)


def test_constants_without_a_symbol_are_not_variables(record: Any) -> None:
    recording = record("small_variables")
    assert recording.total("factors")[0] == pytest.approx(200_000, rel=0.05)
    unnamed = recording.total("small_variables (code and unnamed data)")[0]
    assert unnamed == pytest.approx(200_000, rel=0.05)


def test_a_rare_small_variable_is_a_structure_if_threads_share_its_line(record: Any) -> None:
    """The line may travel between them each time."""
    names = set(record("small_shared").trace.structures["name"])
    assert {"large", "packed"} <= names
    assert "alone" not in names


def test_a_thread_of_a_library_that_only_waits_does_not_work(record: Any) -> None:
    """Main is alone while it fills the array, although the waiting thread reads all the time."""
    recording = record("idle_thread")
    trace = recording.trace
    wanted = trace.structures.filter(pl.col("name") == "array")["structure"]
    seen = trace.seen_lines.filter(pl.col("structure").is_in(wanted.implode()))
    of_main, of_reader = (seen.filter(pl.col("thread") == thread) for thread in (0, 2))
    assert of_main["alone"].sum() > 0.9 * of_main["times"].sum() > 0
    assert of_reader["alone"].sum() == 0 < of_reader["times"].sum()
