# SPDX-License-Identifier: Apache-2.0
"""Data that some threads write and others read, stages of a pipeline, and data of one thread."""

from __future__ import annotations

import numpy as np
import pytest

from numascape.findings import Kind, findings_of
from synthetic.pattern import PAGE, Pattern
from unit.findings.run_cases import kinds, run_of
from unit.findings.stream_cases import FILLED, PAGES, handed, unequal


def test_a_ring_belongs_to_its_producer_and_its_consumer() -> None:
    found = findings_of(run_of(handed()))
    (stream,) = (one for one in found if one.kind is Kind.PRODUCER_CONSUMER)
    assert (stream.name, stream.threads, stream.to_do) == ("ring", (1, 2), False)
    assert "filled again and again by thread 1, and read by thread 2. 100 %" in stream.why
    assert "Run these threads on one node" in stream.advice[0]
    assert stream.confidence == 1.0
    # The nodes of these threads matter, so the verdict is not that NUMA does not matter.
    assert {one.kind for one in found} == {Kind.PRODUCER_CONSUMER, Kind.PARTITIONED}


def test_the_words_that_control_a_ring_are_not_its_data() -> None:
    pattern = handed()
    # The head and the tail are on the first page: both threads increment them, and wait for them.
    for thread in (1, 2):
        pattern.access(0, np.array([0]), thread, 200 * FILLED, 20 * FILLED)
    assert Kind.PRODUCER_CONSUMER in kinds(run_of(pattern))


@pytest.mark.parametrize("refilled", [True, False])
def test_a_buffer_that_system_calls_refill_is_not_only_read(refilled: bool) -> None:
    pattern = Pattern("parsers", 5)
    page = np.arange(PAGES)
    buffer = pattern.structure("buffer", PAGES)
    for parser in range(2, 5):
        pattern.access(buffer, page, parser, FILLED, 0)
    pattern.touch(buffer, page, 1)
    times = 20 if refilled else 1  # the bytes of a file that is read once are only read
    pattern.fill_by_kernel(buffer, page.tolist(), 1, times * PAGE)
    (found,) = findings_of(run_of(pattern))
    assert found.kind is (Kind.PRODUCER_CONSUMER if refilled else Kind.SHARED_READ_MOSTLY)
    assert found.threads == ((1, 2, 3, 4) if refilled else (2, 3, 4))


def test_a_buffer_that_system_calls_fill_is_placed_on_several_nodes() -> None:
    pattern = Pattern("parsers", 3)
    buffer = pattern.structure("buffer", PAGES)
    for parser in (1, 2):
        pattern.access(buffer, np.arange(PAGES), parser, FILLED, 0)
    # The first touchers of the other pages are not known, as in a running process.
    pattern.touch(buffer, np.arange(PAGES // 2), 1)
    pattern.fill_by_kernel(buffer, range(PAGES), 0, 20 * PAGE)
    assert Kind.PRODUCER_CONSUMER in kinds(run_of(pattern, nodes=True))


def test_the_counts_that_a_run_is_predicted_with_are_those_of_the_program() -> None:
    pattern = handed()
    pattern.fill_by_kernel(0, range(PAGES), 1, 16 * PAGE)
    run = run_of(pattern)
    assert (
        run.recorded.accesses["writes"].sum() + PAGES * 2 * PAGE
        == run.trace.accesses["writes"].sum()
    )
    assert run.accesses == run.trace.accesses.select("reads", "writes").sum_horizontal().sum()


@pytest.mark.parametrize("often", [True, False])
def test_messages_that_all_threads_send_and_receive_are_handed_on(often: bool) -> None:
    pattern = Pattern("exchange", 5)
    boxes = pattern.structure("boxes", 2, instances=16)
    pages = np.arange(2)
    writes = FILLED if often else 512  # otherwise, the threads only build parts that others read
    for sender in range(1, 5):
        for receiver in range(1, 5):
            box = 4 * (sender - 1) + receiver - 1
            pattern.access(boxes, pages, sender, 0, writes, instance=box)
            pattern.access(boxes, pages, receiver, writes, 0, instance=box)
            pattern.touch(boxes, pages, sender, instance=box)
    assert (Kind.PRODUCER_CONSUMER in kinds(run_of(pattern))) == often


@pytest.mark.parametrize(("same_bytes", "kind"), [(1000, None), (0, Kind.LINE_FALSE_SHARING)])
def test_what_is_handed_on_is_no_second_problem_of_its_lines(
    same_bytes: int, kind: Kind | None
) -> None:
    pattern = handed()
    pattern.take_lines(0, 0, (1, 2), (500_000, 1000, same_bytes))
    found = {one.kind for one in findings_of(run_of(pattern)) if one.structure == 0}
    # If the threads use different bytes of the lines, the finding is about the lines.
    assert found == {kind or Kind.PRODUCER_CONSUMER}


@pytest.mark.parametrize(
    ("size", "kind"),
    [(64, None), (8192, Kind.PRODUCER_CONSUMER), (400_000, Kind.PRODUCER_CONSUMER)],
)
def test_a_small_ring_goes_from_cache_to_cache(size: int, kind: Kind | None) -> None:
    pattern = Pattern("small", 3)
    pages = np.arange(-(-size // 4096))
    ring = pattern.structure("ring", len(pages), size=size)
    pattern.access(ring, pages, 1, 0, 100 * FILLED)
    pattern.access(ring, pages, 2, 100 * FILLED, 0)
    pattern.touch(ring, pages, 1)
    assert kinds(run_of(pattern)) == ({kind} if kind else set())


def test_small_blocks_of_one_site_follow_each_other() -> None:
    def found(kind: str) -> set[Kind]:
        pattern = Pattern("batches", 3)
        pages = np.arange(PAGES)
        batches = pattern.structure("batches", PAGES, kind=kind)
        pattern.access(batches, pages, 1, 0, 512)  # a page is filled once
        pattern.access(batches, pages, 2, 512, 0)
        pattern.touch(batches, pages, 1)
        return kinds(run_of(pattern))

    assert found("small") == {Kind.PRODUCER_CONSUMER}
    assert Kind.PRODUCER_CONSUMER not in found("heap")


def test_a_consumer_that_is_the_main_thread_oversees_nothing() -> None:
    """Three threads fill a part of the ring each, and main reads all of them."""
    pattern = Pattern("rings", 4)
    page = np.arange(300)
    ring = pattern.structure("ring", 300)
    pattern.access(ring, page, 1 + page // 100, 0, FILLED)
    pattern.access(ring, page, 0, FILLED, 0)
    pattern.touch(ring, page, 1 + page // 100)
    assert kinds(run_of(pattern)) == {Kind.PRODUCER_CONSUMER}


def test_what_one_thread_wrote_before_others_began_is_not_handed_on() -> None:
    pattern = handed()
    for page in range(PAGES):
        pattern.see(0, page, 1, 0b11, times=4, alone=4)
        pattern.see(0, page, 2, 0b11, times=4)
    assert kinds(run_of(pattern)) == {Kind.REMOTE_FIRST_TOUCH}


def test_in_a_region_all_threads_work_in_turn() -> None:
    pattern = Pattern("region", 4)
    pattern.phase("outside")
    region = pattern.phase("region", line=3)
    page = np.arange(PAGES)
    ring = pattern.structure("ring", PAGES)
    pattern.access(ring, page, 1, 0, FILLED, phase=region)
    pattern.access(ring, page, 2, FILLED, 0, phase=region)
    pattern.touch(ring, page, 1, phase=region)
    assert Kind.PRODUCER_CONSUMER not in kinds(run_of(pattern))


def test_pairs_that_can_have_a_node_each_are_groups() -> None:
    pattern = Pattern("pairs", 5)
    page = np.arange(PAGES)
    ring = pattern.structure("ring", PAGES)
    pair = page // (PAGES // 2)
    pattern.access(ring, page, 1 + pair, 0, FILLED)
    pattern.access(ring, page, 3 + pair, FILLED, 0)
    pattern.touch(ring, page, 1 + pair)
    assert kinds(run_of(pattern)) == {Kind.SHARED_BY_GROUPS}


@pytest.mark.parametrize(("common", "uneven"), [(1.0, True), (0.0, False)])
def test_a_stage_has_no_share_in_the_work_of_others(common: float, uneven: bool) -> None:
    """The first thread makes twice as many accesses as each of the three others."""
    found = {one.kind for one in unequal(common)}
    assert (Kind.LOAD_IMBALANCE in found) == uneven


def test_one_reads_and_the_other_writes_the_same_structure() -> None:
    """The threads do different work on the same structure."""
    pattern = handed(reads_per_write=3.0)
    assert Kind.LOAD_IMBALANCE not in {one.kind for one in findings_of(run_of(pattern))}


@pytest.mark.parametrize(("second_user", "found"), [(False, True), (True, False)])
def test_what_one_thread_uses_alone_is_partitioned(second_user: bool, found: bool) -> None:
    pattern = Pattern("alone", 3)
    page = np.arange(PAGES)
    own = pattern.structure("own", PAGES)
    pattern.access(own, page, 1, FILLED, 0)
    pattern.touch(own, page, 1)
    if second_user:  # too few accesses to be a user, but thread 1 is not alone
        pattern.access(own, page[:1], 2, 1, 0)
    run = run_of(pattern)
    assert (kinds(run) == {Kind.PARTITIONED}) == found
    if found:
        (one,) = (one for one in findings_of(run) if one.kind is Kind.PARTITIONED)
        assert one.why == "Only thread 1 uses it, and it touched the pages first."


def test_what_another_thread_touched_first_is_not_partitioned() -> None:
    pattern = Pattern("filled", 3)
    page = np.arange(PAGES)
    own = pattern.structure("own", PAGES)
    pattern.access(own, page, 1, FILLED, 0)
    pattern.touch(own, page, 2)
    assert kinds(run_of(pattern)) == {Kind.REMOTE_FIRST_TOUCH}


@pytest.mark.parametrize(
    ("name", "file", "told"),
    [
        ("grid", "/src/life.py", True),
        ("step+44", "/src/life.py", False),  # the statement's line
        ("step+45", "/src/life.py", True),
        ("temporary of grid", "/src/life.py", False),
        ("temporary of grid", "/src/life.c", True),
    ],
)
def test_parts_of_a_python_expression_that_are_well_placed_are_not_told(
    name: str, file: str, told: bool
) -> None:
    pattern = Pattern("life", 2)
    page = np.arange(PAGES)
    array = pattern.structure(name, PAGES, file=file, line=44)
    pattern.access(array, page, 1, FILLED, 0)
    pattern.touch(array, page, 1)
    assert bool(kinds(run_of(pattern))) is told


@pytest.mark.parametrize("in_cache", [True, False])
@pytest.mark.parametrize(
    ("file", "other", "told"),
    [("", "/src/life.py", False), ("", "/src/life.c", True), ("/src/life.c", "/src/life.py", True)],
)
def test_memory_that_a_library_of_python_keeps_is_not_told(
    file: str, other: str, told: bool, in_cache: bool
) -> None:
    """Two threads use their own parts of the buffers of a library, such as one of linear algebra.

    If nothing is known of the library, nobody can place them, so it is not told that all is well.
    """
    pattern = Pattern("life", 2)
    pages = 16 if in_cache else PAGES
    buffers = pattern.structure("alloc_mmap+0xc5", pages, file=file)
    array = pattern.structure("grid", PAGES, file=other)
    page, each = np.arange(pages), np.arange(PAGES)
    for s, which in ((buffers, page), (array, each)):
        pattern.access(s, which, which * 2 // len(which), FILLED, 0)
        pattern.touch(s, which, which * 2 // len(which))
    kind = Kind.CACHE_RESIDENT if in_cache else Kind.PARTITIONED
    assert (kind in kinds(run_of(pattern), buffers)) is told


@pytest.mark.parametrize(("other", "told"), [(0.48, False), (0.52, True), (1.0, True)])
def test_buffers_that_each_thread_has_of_its_own_are_not_told(other: float, told: bool) -> None:
    """Two instances, whose memory another thread had before; `other` uses the share of both."""
    pattern = Pattern("buffers", 3)
    page = np.arange(PAGES)
    array = pattern.structure("step+44", PAGES, file="/src/life.py", line=44, instances=2)
    for instance, thread in ((0, 1), (1, 2)):
        mine = round(FILLED * (1 - other / 2))
        pattern.access(array, page, thread, mine, 0, instance=instance)
        pattern.access(array, page, 3 - thread, FILLED - mine, 0, instance=instance)
        pattern.touch(array, page, 0, instance=instance)
    assert bool(kinds(run_of(pattern))) is told
