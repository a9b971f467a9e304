# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from numascape.prediction import Speeds, demand_of, first_touch, predict, speeds_of
from numascape.prediction.load import RunPlacement
from numascape.prediction.shared_fetches import fetched_together, last_level_caches
from unit.prediction.made_up import Access, machine_of, nodes, trace_of


def sharing(sharers: int, cpus: int = 4) -> Speeds:
    """Two nodes whose last-level caches serve this number of CPUs."""
    return replace(speeds_of(machine_of(2, cpus)), sharers=sharers, core_ns=0.0)


def parts(rows: list[Access], lines: list[int], *caches: int, repetitions: int = 1) -> list[float]:
    trace = trace_of(rows, len(caches), lines=lines, repetitions=repetitions)
    demand = demand_of(trace, speeds_of(machine_of(2, 4)))
    found = fetched_together(demand, np.array(caches))
    order = np.lexsort((demand.thread, demand.page))
    return [float(part) for part in found[order]]


def test_threads_of_a_node_share_its_caches_in_order() -> None:
    where = np.array([0, 1, 0, 0, -1, 0])
    assert last_level_caches(where, sharing(4)).tolist() == [0, 1, 0, 0, 10, 0]
    assert last_level_caches(where, sharing(2)).tolist() == [0, 1, 0, 3, 10, 3]
    # No shared cache is known: each thread has its own.
    assert last_level_caches(where, sharing(1)).tolist() == [0, 1, 2, 3, 4, 5]


def test_what_a_cache_has_fetched_serves_its_other_threads() -> None:
    rows: list[Access] = [(0, thread, 1000, 0) for thread in range(4)]
    # Threads 0 to 2 share a cache: the lines of the thread that fetches most are enough for all.
    found = parts(rows, [640, 640, 320, 640], 7, 7, 7, 8)
    assert found == pytest.approx([640 / 1600] * 3 + [1.0])


def test_lines_that_the_page_has_for_everybody_are_not_shared() -> None:
    rows: list[Access] = [(0, 0, 100, 0), (0, 1, 100, 0)]
    # Each thread fetches half of the page once: no line twice.
    assert parts(rows, [32, 32], 7, 7) == [1.0, 1.0]
    # In ten rounds, each takes the whole page in half of them: no line twice in a round.
    assert parts(rows, [320, 320], 7, 7, repetitions=10) == [1.0, 1.0]
    assert parts(rows, [320, 320], 7, 7) == [0.5, 0.5]


def test_a_page_that_somebody_writes_is_not_shared() -> None:
    rows: list[Access] = [(0, 0, 640, 0), (0, 1, 640, 1), (1, 0, 640, 0), (1, 1, 640, 0)]
    assert parts(rows, [640] * 4, 7, 7) == [1.0, 1.0, 0.5, 0.5]


def test_who_fills_a_page_does_not_keep_others_from_sharing_it() -> None:
    rows: list[Access] = [(0, 0, 0, 64), (0, 1, 640, 0), (0, 2, 640, 0)]
    assert parts(rows, [64, 640, 640], 7, 7, 7) == [1.0, 0.5, 0.5]
    # A page that is written more than once in a round is not just filled.
    assert parts(rows, [65, 640, 640], 7, 7, 7) == [1.0, 1.0, 1.0]


def test_memory_sends_what_is_shared_less_often_and_threads_wait_all_the_same() -> None:
    """Four threads of a cache read the same lines: each is fetched once to four times, so twice."""
    rows: list[Access] = [(0, thread, 0, 0) for thread in range(4)]
    rows = [(page, thread, 64_000, 0) for page, thread, _, _ in rows]
    trace = trace_of(rows, 4, lines=[64_000] * 4)
    where = nodes(0, 0, 0, 0)
    slow, fast = machine_of(2, 4, memory_gb_s=1.0), machine_of(2, 4, memory_gb_s=1e6)
    found = [
        predict(
            trace,
            replace(speeds_of(machine), sharers=sharers, core_ns=0.0),
            RunPlacement(first_touch(trace, machine, where), where),
        )
        for machine in (slow, fast)
        for sharers in (4, 1)
    ]
    shared, alone, quick, quick_alone = found
    assert alone.seconds == pytest.approx(4 * 64_000 * 64 / 1e9)
    assert shared.seconds == pytest.approx(alone.seconds / 2)
    # The interval of the time is from each line once to once for each thread.
    assert min(shared.variants) == pytest.approx(alone.seconds / 4)
    assert max(shared.variants) == pytest.approx(alone.seconds)
    assert quick.seconds == pytest.approx(64_000 * 100e-9 / 10)
    assert quick.seconds == pytest.approx(quick_alone.seconds)
