# SPDX-License-Identifier: Apache-2.0
"""Each thread's accesses are its own, from 1 to 1024 threads of every kind."""

import platform
from typing import Any

import pytest

PAGE = 4096
N = 64  # a row of N doubles is an eighth of a page
KERNEL = tuple(int(part) for part in platform.release().split(".")[:2])
READ_BY_PROCESS = 1 << 20  # bytes
READ_BY_THREAD = 1 << 10
ROWS_PER_PAGE = PAGE // (8 * N)


def columns_of(thread: int, threads: int) -> int:
    return len(range(thread, N, threads))


@pytest.mark.parametrize(
    ("program", "threads", "first_thread"),
    [("threads_pthread", t, 1) for t in (1, 2, 3, 7, 16, 64)]
    + [("threads_openmp", t, 0) for t in (1, 2, 4, 64)]
    + [("threads_cxx", t, 1) for t in (1, 4, 64)],
)
def test_matrix_product_reads_n_cubed(
    record: Any, program: str, threads: int, first_thread: int
) -> None:
    recording = record(program, N, threads)
    assert recording.total("A") == (N**3, 0)
    assert recording.total("B") == (N**3, 0)
    assert recording.total("C") == (0, N**2)

    pages = range(N // ROWS_PER_PAGE)
    reads, writes = {}, {}
    for t in range(threads):
        elements = columns_of(t, threads) * ROWS_PER_PAGE
        reads[first_thread + t] = dict.fromkeys(pages, (elements * N, 0))
        writes[first_thread + t] = dict.fromkeys(pages, (0, elements))
    assert recording.pages_by_thread("A") == reads
    assert recording.pages_by_thread("B") == reads
    assert recording.pages_by_thread("C") == writes


@pytest.mark.parametrize("threads", [1, 65, 1024])
def test_each_thread_has_its_own_counts(record: Any, threads: int) -> None:
    recording = record("many_threads", threads)
    assert recording.status == 0
    assert recording.trace.threads["thread"].sort().to_list() == list(range(threads + 1))
    assert recording.pages_by_thread("own") == {t + 1: {t: (0, t + 1)} for t in range(threads)}
    assert recording.pages_by_thread("shared") == {t + 1: {0: (1, 0)} for t in range(threads)}
    assert recording.pages_by_thread("boundary") == {
        t + 1: {t * 8 // PAGE: (3, 3)} for t in range(threads)
    }
    if KERNEL >= (6, 11):  # it can report a single mapping: no thread reads the whole list
        assert int(recording.output) < READ_BY_PROCESS + READ_BY_THREAD * threads


@pytest.mark.parametrize(("items", "threads"), [(5000, 3), (65536, 64), (1000, 2), (513, 1)])
def test_neighbours_share_boundary_pages(record: Any, items: int, threads: int) -> None:
    expected: dict[int, dict[int, tuple[int, int]]] = {}
    for t in range(threads):
        first, end = t * items // threads, (t + 1) * items // threads
        pages: dict[int, tuple[int, int]] = {}
        for page in range(first // 512, (end - 1) // 512 + 1):
            pages[page] = (0, min(end, 512 * (page + 1)) - max(first, 512 * page))
        expected[t + 1] = pages
    assert record("shared_boundaries", items, threads).pages_by_thread("items") == expected


def test_a_stack_is_only_its_part_of_a_mapping(record: Any) -> None:
    recording = record("stack_in_pool")
    assert recording.total("pool")[1] >= 64 * 4096 // 8
    assert 0 < recording.total("Stack#1")[1] < 4096


def test_barriers_do_not_count_for_the_blocks_beside_the_runtime(record: Any) -> None:
    recording = record("barriers_openmp")
    reads, writes = recording.total("tiny[i]")
    # The program writes 256 words. Samples show the blocks of the accesses to a shared page.
    runtime = sum(recording.total("OpenMP runtime"))
    assert runtime > 2 * 20000
    assert 0 < reads + writes < 0.01 * runtime
