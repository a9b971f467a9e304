# SPDX-License-Identifier: Apache-2.0
"""The recorded nodes of pages are those of the kernel on a machine with several nodes."""

from vm.conftest import GuestRun

PAGES = 64
QUARTER = 16
NODES = 4
MEMORY_NODE = 4
WORDS = 512  # in a page
QUARTERS = {page: page // QUARTER for page in range(PAGES)}
# The threads that write the quarters; 0 is main, 1 does nothing, and 2 changes its CPU.
FIRST_WORKER = 3
WORKERS = {page: FIRST_WORKER + quarter for page, quarter in QUARTERS.items()}


def everywhere(value: int, pages: int = PAGES) -> dict[int, int]:
    return dict.fromkeys(range(pages), value)


def told_by_kernel(run: GuestRun, array: str) -> dict[int, int]:
    """The nodes of pages that the kernel reported to the program, without errors."""
    return {page: node for page, node in enumerate(run.kernel_nodes[array]) if node >= 0}


def test_each_quarter_is_where_its_thread_runs(guest_run: GuestRun) -> None:
    for array in ("mapped", "global"):
        assert guest_run.nodes(array) == QUARTERS == told_by_kernel(guest_run, array)
        assert guest_run.first_threads(array) == WORKERS


def test_a_heap_block_is_in_quarters_too(guest_run: GuestRun) -> None:
    # It begins 16 bytes into its first page, which the allocator touched; so the first pages of
    # the other quarters are of two threads.
    nodes = guest_run.nodes("allocated")
    assert nodes == told_by_kernel(guest_run, "allocated")
    assert len(nodes) == PAGES + 1
    for page in set(nodes) - {0, QUARTER, 2 * QUARTER, 3 * QUARTER}:
        assert nodes[page] == min(page // QUARTER, NODES - 1)


def test_by_default_a_page_is_on_the_node_of_its_first_touch(guest_run: GuestRun) -> None:
    node_of = dict(guest_run.trace.threads.select("thread", "nodes").iter_rows())
    placed = 0
    for array in ("mapped", "global", "allocated", "read_before", "renewed"):
        nodes = guest_run.nodes(array)
        for page, thread in guest_run.first_threads(array).items():
            if thread != 0:  # main was on every node
                assert [nodes[page]] == node_of[thread], (array, page)
                placed += 1
    assert placed >= 5 * PAGES - 1


def test_serial_first_touch_is_on_the_node_of_main(guest_run: GuestRun) -> None:
    assert guest_run.nodes("serial") == everywhere(2) == told_by_kernel(guest_run, "serial")
    assert guest_run.first_threads("serial") == everywhere(0)


def test_reading_does_not_place_a_private_page(guest_run: GuestRun) -> None:
    assert guest_run.nodes("only_read") == told_by_kernel(guest_run, "only_read") == {}
    assert guest_run.first_threads("only_read") == everywhere(0)


def test_the_first_write_places_a_private_page_that_was_read_before(guest_run: GuestRun) -> None:
    assert guest_run.nodes("read_before") == QUARTERS == told_by_kernel(guest_run, "read_before")
    assert guest_run.first_threads("read_before") == WORKERS


def test_pages_given_back_are_touched_first_again(guest_run: GuestRun) -> None:
    assert guest_run.nodes("renewed") == QUARTERS == told_by_kernel(guest_run, "renewed")
    assert guest_run.first_threads("renewed") == WORKERS
    counts = guest_run.rows("accesses", "renewed").select("page", "thread", "reads", "writes")
    expected = [(page, thread, 0, WORDS) for page in range(PAGES) for thread in (0, WORKERS[page])]
    assert counts.rows() == expected


def test_the_first_read_places_a_shared_page(guest_run: GuestRun) -> None:
    array = "shared_read_before"
    assert guest_run.nodes(array) == everywhere(2) == told_by_kernel(guest_run, array)
    assert guest_run.first_threads(array) == everywhere(0)


def test_interleaved_pages_take_turns(guest_run: GuestRun) -> None:
    nodes = guest_run.nodes("interleaved")
    assert nodes == {page: (nodes[0] + page) % NODES for page in range(PAGES)}
    assert nodes == told_by_kernel(guest_run, "interleaved")


def test_pages_may_be_on_a_node_without_cpus(guest_run: GuestRun) -> None:
    assert guest_run.nodes("bound") == everywhere(MEMORY_NODE) == told_by_kernel(guest_run, "bound")
    assert guest_run.first_threads("bound") == everywhere(0)


def test_migrated_pages_are_where_they_ended(guest_run: GuestRun) -> None:
    turns = {page: page % NODES for page in range(PAGES)}
    assert guest_run.nodes("migrated") == turns == told_by_kernel(guest_run, "migrated")
    assert guest_run.first_threads("migrated") == everywhere(0)


def test_a_huge_page_is_all_on_the_node_of_its_first_touch(guest_run: GuestRun) -> None:
    assert set(told_by_kernel(guest_run, "huge").values()) == {1}
    assert list(guest_run.nodes("huge").values()) == [1] * 512


def test_memory_that_is_gone_was_asked_for_before(guest_run: GuestRun) -> None:
    for array in ("freed", "unmapped", "shrunk"):
        assert guest_run.nodes(array) == everywhere(1) == told_by_kernel(guest_run, array)
    assert guest_run.nodes("follower") == everywhere(3) == told_by_kernel(guest_run, "follower")


def test_counts_are_exact(guest_run: GuestRun) -> None:
    for array in ("serial", "bound", "interleaved", "migrated", "freed", "follower", "shrunk"):
        counts = guest_run.rows("accesses", array).select("page", "thread", "reads", "writes")
        assert counts.rows() == [(page, 0, 0, WORDS) for page in range(PAGES)]
    counts = guest_run.rows("accesses", "mapped").select("page", "thread", "reads", "writes")
    expected = []
    for page, quarter in QUARTERS.items():
        expected.append((page, FIRST_WORKER + quarter, 0, WORDS))
        # Each thread reads the quarter after its own.
        expected.append((page, FIRST_WORKER + (quarter - 1) % NODES, WORDS, 0))
    assert sorted(counts.rows()) == sorted(expected)
