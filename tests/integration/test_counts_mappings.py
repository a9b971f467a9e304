# SPDX-License-Identifier: Apache-2.0
"""Owners of accesses and first touches after system calls that change memory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

PAGES = 16
PAGE = 4096
ALL = range(PAGES)
MORE_HUGE_PAGES = Path("/proc/sys/vm/nr_overcommit_hugepages")
BY_KERNEL = "the kernel, in a system call"


@contextmanager
def huge_pages_on_demand() -> Iterator[None]:
    """Let the kernel make two huge pages on demand, if the setting can be changed."""
    if not os.access(MORE_HUGE_PAGES, os.W_OK):
        yield
        return
    before = MORE_HUGE_PAGES.read_text()
    MORE_HUGE_PAGES.write_text(str(int(before) + 2))
    try:
        yield
    finally:
        MORE_HUGE_PAGES.write_text(before)


@pytest.fixture(scope="module", params=["binary", "compiled"])
def memory_calls(request: pytest.FixtureRequest) -> Any:
    recorder = "record" if request.param == "binary" else "compiled"
    with huge_pages_on_demand():
        recording = request.getfixturevalue(recorder)("memory_calls")
    assert recording.status == 0, recording.output
    assert recording.output.endswith("as expected\n")
    return recording


def instances(recording: Any, structure: str) -> list[dict[int, tuple[int, int]]]:
    """Reads and writes of each page of each instance that was accessed."""
    rows = (
        recording.rows(structure).group_by("instance", "page").agg(pl.col("reads", "writes").sum())
    )
    found: dict[int, dict[int, tuple[int, int]]] = {}
    for instance, page, reads, writes in rows.iter_rows():
        found.setdefault(instance, {})[page] = (reads, writes)
    return [found[instance] for instance in sorted(found)]


def first_touches(recording: Any, structure: str) -> pl.DataFrame:
    wanted = recording.trace.structures.filter(pl.col("name") == structure).select("structure")
    touched: pl.DataFrame = recording.trace.first_touch.join(wanted, on="structure", how="semi")
    return touched


@pytest.mark.parametrize("structure", ["kept_by_unmap", "kept_by_remap", "kept_by_fixed"])
def test_a_call_that_fails_changes_nothing(memory_calls: Any, structure: str) -> None:
    assert memory_calls.pages(structure) == dict.fromkeys(ALL, (512, 512))
    touched = first_touches(memory_calls, structure)
    assert sorted(touched["page"]) == list(ALL)
    assert touched["line"].n_unique() == 1


def test_memory_that_moves_stays_the_same_structure(memory_calls: Any) -> None:
    assert instances(memory_calls, "moved") == [
        dict.fromkeys(ALL, (0, 512)),
        dict.fromkeys(ALL, (512, 0)),
    ]
    assert memory_calls.pages("instead_of_moved") == dict.fromkeys(ALL, (512, 512))
    # Each page was touched at its first address, and then moved.
    touched = first_touches(memory_calls, "moved")
    assert touched.group_by("instance").len()["len"].to_list() == [PAGES, PAGES]
    assert touched.group_by("page").agg(pl.col("function").n_unique())["function"].max() == 1


def test_memory_that_moves_may_leave_its_mapping(memory_calls: Any) -> None:
    assert instances(memory_calls, "emptied") == [
        dict.fromkeys(ALL, (0, 1024)),
        dict.fromkeys(ALL, (512, 0)),
    ]


def test_shared_memory_may_be_at_two_addresses(memory_calls: Any) -> None:
    assert instances(memory_calls, "doubled") == [
        dict.fromkeys(ALL, (0, 512)),
        dict.fromkeys(ALL, (512, 0)),
    ]


def test_a_mapping_that_grows_or_shrinks_stays_one(memory_calls: Any) -> None:
    assert instances(memory_calls, "longer") == [dict.fromkeys(range(2 * PAGES), (0, 512))]
    assert instances(memory_calls, "shorter") == [
        dict.fromkeys(ALL, (512, 512)) | dict.fromkeys(range(PAGES, 2 * PAGES), (0, 512))
    ]
    assert memory_calls.pages("after_shorter") == dict.fromkeys(ALL, (512, 0))


def test_attached_segments_end_when_they_are_detached(memory_calls: Any) -> None:
    assert memory_calls.pages("segment") == dict.fromkeys(ALL, (0, 1024))
    assert memory_calls.pages("instead_of_segment") == dict.fromkeys(ALL, (512, 0))


@pytest.mark.parametrize(
    ("structure", "thread"), [("forgotten", 1), ("remembered", 0), ("forgotten_shared", 0)]
)
def test_who_touches_forgotten_pages_touches_first(
    memory_calls: Any, structure: str, thread: int
) -> None:
    touched = first_touches(memory_calls, structure)
    assert sorted(touched["page"]) == list(ALL)
    assert set(touched["thread"]) == {thread}


@pytest.mark.parametrize(
    ("structure", "pages"),
    [
        ("by_read", PAGES),
        ("by_pread", PAGES),
        ("by_readv", PAGES),
        ("by_preadv", PAGES),
        ("by_preadv2", PAGES),
        ("by_syscall", PAGES),
        ("by_copy", PAGES),
        ("by_writev", PAGES),
        ("by_getdents", 1),
        ("by_getdents64", 1),
        ("by_getrandom", PAGES),
        ("by_recv", PAGES // 2 + 1),  # the second datagram was cut off at a page
        ("by_recvmsg", PAGES),
        ("by_recvmmsg", PAGES),
        ("populated", PAGES),
        ("by_registering", PAGES),
    ],
)
def test_the_kernel_touches_what_it_fills(memory_calls: Any, structure: str, pages: int) -> None:
    if structure == "by_registering" and "no io_uring" in memory_calls.output:
        pytest.skip("this kernel has no io_uring, or forbids it")
    touched = first_touches(memory_calls, structure)
    assert sorted(touched["page"]) == list(range(pages))
    assert set(touched["function"]) == {BY_KERNEL}


def bytes_by_kernel(recording: Any, structure: str) -> dict[int, tuple[int, int]]:
    """Bytes of each page that the kernel read and wrote for the main thread."""
    wanted = recording.trace.structures.filter(pl.col("name") == structure).select("structure")
    made = recording.trace.kernel_accesses.join(wanted, on="structure", how="semi")
    assert set(made["thread"]) <= {0}
    return {
        page: (read, written)
        for page, read, written in made.select("page", "read_bytes", "written_bytes").iter_rows()
    }


@pytest.mark.parametrize(
    "structure",
    [
        *("by_pread", "by_readv", "by_preadv", "by_preadv2"),
        *("by_syscall", "by_recvmsg", "by_recvmmsg", "by_writev", "by_getrandom"),
    ],
)
def test_bytes_that_the_kernel_wrote_are_counted(memory_calls: Any, structure: str) -> None:
    assert bytes_by_kernel(memory_calls, structure) == dict.fromkeys(ALL, (0, PAGE))


def test_bytes_of_parts_and_of_both_sides_of_a_copy_are_counted(memory_calls: Any) -> None:
    assert bytes_by_kernel(memory_calls, "in_parts") == dict.fromkeys(ALL, (0, 2 * PAGE))
    for read_again in ("by_read", "by_copy"):
        assert bytes_by_kernel(memory_calls, read_again) == dict.fromkeys(ALL, (PAGE, PAGE))
    received = dict.fromkeys(range(PAGES // 2 + 1), (0, PAGE))
    assert bytes_by_kernel(memory_calls, "by_recv") == received


@pytest.mark.parametrize("structure", ["by_getdents", "by_getdents64"])
def test_bytes_of_listed_files_are_counted(memory_calls: Any, structure: str) -> None:
    lines = dict(line.rsplit(" ", 1) for line in memory_calls.output.splitlines() if "by_" in line)
    written = int(lines[structure])
    assert written > 500
    assert bytes_by_kernel(memory_calls, structure) == {0: (0, written)}


def test_a_mapping_of_huge_pages_is_as_long_as_they_are(memory_calls: Any) -> None:
    if "no huge pages" in memory_calls.output:
        pytest.skip("this kernel has no free huge pages")
    assert memory_calls.pages("of_huge_pages") == dict.fromkeys(range(512), (0, 512))


def test_advice_about_huge_pages_belongs_to_the_memory_that_it_is_about(memory_calls: Any) -> None:
    if "no transparent huge pages" in memory_calls.output:
        pytest.skip("this kernel has no transparent huge pages")
    trace = memory_calls.trace
    named = trace.huge_page_advice.join(trace.structures, on="structure").select("name", "huge")
    wanted = ("asking", "refusing", "without_advice", "allocated")
    advice = dict(named.filter(pl.col("name").is_in(wanted)).iter_rows())
    assert advice == {"asking": True, "refusing": False, "allocated": True}


@pytest.mark.parametrize("structure", ["populated", "by_registering"])
def test_pages_that_are_only_made_present_have_no_bytes(memory_calls: Any, structure: str) -> None:
    assert bytes_by_kernel(memory_calls, structure) == {}


def test_threads_that_unmap_for_each_other_keep_their_counts(memory_calls: Any) -> None:
    rounds, words = 500, 4 * 512
    assert memory_calls.total("of_first") == (0, rounds * words)
    assert memory_calls.total("of_second") == (rounds * words, 0)
    for structure, thread in (("of_first", 2), ("of_second", 3)):
        touched = first_touches(memory_calls, structure)
        assert touched.height == rounds * 4
        assert set(touched["thread"]) == {thread}


def test_mappings_may_be_larger_than_what_is_counted_apart(memory_calls: Any) -> None:
    assert sorted(memory_calls.pages("huge").values()) == [(0, 512)] * PAGES
    assert memory_calls.pages("instead_of_huge") == dict.fromkeys(ALL, (512, 0))


def test_a_mapping_on_a_boundary_of_addresses_keeps_its_counts(memory_calls: Any) -> None:
    assert instances(memory_calls, "across") == [dict.fromkeys(ALL, (0, 512))] * 2


def test_no_access_is_without_owner(memory_calls: Any) -> None:
    assert memory_calls.total("memory outside all mappings seen") == (0, 0)
