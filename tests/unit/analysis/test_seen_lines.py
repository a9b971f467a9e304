# SPDX-License-Identifier: Apache-2.0
"""Two threads in the same cache line: by chance, always, or never, as samples saw them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from numascape.analysis.seen_lines import Overlap, overlap, overlap_of_bytes
from numascape.trace.format import PAGE_LINES
from numascape.trace.schema import SCHEMAS

_PAGES, _THREADS, _SEEN = 200, 4, 12


def seen(masks: dict[tuple[int, int, int], list[int]]) -> pl.DataFrame:
    """A table: the lines by page, thread and phase."""
    schema = SCHEMAS["seen_lines"]
    rows = [
        {
            **dict.fromkeys(schema.names(), 0),
            "page": page,
            "thread": thread,
            "phase": phase,
            "cache_line": -1,
            "lines": sum(1 << line for line in set(lines)),
        }
        for (page, thread, phase), lines in masks.items()
    ]
    return pl.DataFrame(rows, schema=schema)


def test_threads_that_use_any_line_meet_as_often_as_by_chance() -> None:
    random = np.random.default_rng(1)
    lines = {
        (page, thread, 0): random.choice(PAGE_LINES, _SEEN, replace=False).tolist()
        for page in range(_PAGES)
        for thread in range(_THREADS)
    }
    found = overlap(seen(lines))
    pairs = _THREADS * (_THREADS - 1) // 2
    assert found.by_chance == pytest.approx(_PAGES * pairs * _SEEN * _SEEN / PAGE_LINES)
    assert found.ratio == pytest.approx(1, abs=0.1)


def test_threads_with_parts_of_their_own_never_meet() -> None:
    part = PAGE_LINES // _THREADS
    lines = {(0, thread, 0): list(range(thread * part, thread * part + 8)) for thread in range(4)}
    assert overlap(seen(lines)) == Overlap(0, 6 * 8 * 8 / PAGE_LINES)


def test_the_same_lines_are_seen_by_all_threads() -> None:
    found = overlap(seen({(0, thread, 0): [3, 4] for thread in range(3)}))
    assert found == Overlap(6, 3 * 4 / PAGE_LINES)
    assert found.ratio == 32


def test_a_phase_may_be_by_itself_and_rows_of_a_thread_are_one() -> None:
    apart = {(0, 0, 0): [1], (0, 1, 1): [1]}
    assert overlap(seen(apart), in_phases=True) == Overlap(0, 0)
    assert overlap(seen(apart)) == Overlap(1, 1 / PAGE_LINES)
    together = pl.concat([seen({(0, 0, 0): [1], (0, 1, 0): [2]}), seen({(0, 0, 0): [2]})])
    assert overlap(together) == Overlap(1, 2 / PAGE_LINES)


@pytest.mark.parametrize("size", [4, 8, 16])
def test_threads_have_their_own_positions_in_lines(size: int) -> None:
    """Four threads use a few bytes each of any lines: side by side, or the same ones."""

    def at(step: int) -> Overlap:
        masks = [((1 << size) - 1) << (step * thread) for thread in range(4)]
        rows = [
            seen({(page, page % 4, 0): [page]}).with_columns(
                bytes=pl.lit(masks[page % 4], pl.UInt64)
            )
            for page in range(64)
        ]
        return overlap_of_bytes(pl.concat(rows))

    pairs = 6 * 16 * 16
    assert at(size) == Overlap(0, pairs * size / 64)
    assert at(0) == Overlap(pairs, pairs * size / 64)


def test_threads_that_use_any_bytes_have_common_positions() -> None:
    random = np.random.default_rng(1)
    rows = [
        seen({(page, page % 4, 0): [page % 64]}).with_columns(
            bytes=pl.lit(0xFF << (8 * int(random.integers(8))), pl.UInt64)
        )
        for page in range(400)
    ]
    assert overlap_of_bytes(pl.concat(rows)).ratio == pytest.approx(1, abs=0.1)
    assert overlap_of_bytes(seen({})) == Overlap()


def test_nothing_seen_is_no_overlap() -> None:
    assert overlap(seen({})).ratio == 0


def test_close_lines_count_if_the_same_are_too_few() -> None:
    # The parts have eight lines; each thread was seen in two close lines of its part.
    apart = seen({(0, thread, 0): [8 * thread, 8 * thread + 3] for thread in range(8)})
    pairs = 8 * 7 * 2 * 2
    assert overlap(apart).by_chance == pairs / 2 / PAGE_LINES
    wider = overlap(apart, enough=6)
    assert wider.by_chance == pairs * (64 / 2 + 63 + 62) / PAGE_LINES**2
    assert wider.seen == 0
    neighbours = overlap(seen({(0, 0, 0): [1], (0, 1, 0): [2], (0, 2, 0): [3]}), enough=0.1)
    assert (neighbours.seen, neighbours.by_chance) == (2, 6 * (64 / 2 + 63) / PAGE_LINES**2)


def test_threads_that_use_other_bytes_of_the_same_lines_do_not_meet() -> None:
    """Two threads in 32 lines, 8 bytes each: by chance, they use the same bytes in four of them."""

    def of_two(bytes_: tuple[int, int], lines: int) -> pl.DataFrame:
        rows = [
            seen({(0, thread, 0): [line]}).with_columns(
                cache_line=pl.lit(line, pl.Int32), bytes=pl.lit(mask, pl.UInt64)
            )
            for line in range(lines)
            for thread, mask in enumerate(bytes_)
        ]
        return pl.concat(rows)

    assert overlap(of_two((0xFF, 0xFF00), 32), enough_bytes=3) == Overlap(0, 16)
    assert overlap(of_two((0xFF, 0xFF), 32)) == Overlap(32, 16)
    # If the bytes of a thread are not known, nothing is compared.
    assert overlap(of_two((0xFF, 0), 32), enough_bytes=3).seen == 32
    # With too few lines, this is not known.
    assert overlap(of_two((0xFF, 0xFF00), 23), enough_bytes=3).seen == 23
