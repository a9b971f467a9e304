# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import polars as pl

from numascape.balance import flat_target
from numascape.balance.threads import map_threads, thread_graph
from numascape.trace import Trace


def trace_of(accesses: list[tuple[int, int, int]], threads: int) -> Trace:
    """Accesses (page, thread, number) of one structure; half of them are writes."""
    columns = {
        "structure": [0] * len(accesses),
        "instance": [0] * len(accesses),
        "page": [page for page, _, _ in accesses],
        "thread": [thread for _, thread, _ in accesses],
        "reads": [count // 2 for _, _, count in accesses],
        "writes": [count - count // 2 for _, _, count in accesses],
    }
    fake = SimpleNamespace(
        accesses=pl.DataFrame(columns, schema_overrides={"reads": pl.UInt64, "writes": pl.UInt64}),
        threads=SimpleNamespace(height=threads),
    )
    return cast(Trace, fake)


def test_loads_are_accesses_and_messages_what_two_threads_share() -> None:
    graph = thread_graph(trace_of([(0, 0, 512), (0, 1, 400), (1, 1, 64)], 2), 2)
    assert graph.load.tolist() == [512, 464]
    assert list(zip(graph.senders, graph.to, graph.count, strict=True)) == [
        (0, 1, 200), (1, 0, 200),
    ]  # fmt: skip


def test_threads_that_share_pages_run_on_one_node() -> None:
    shared = [(0, 0, 900), (0, 3, 900), (1, 1, 900), (1, 2, 900), (2, 0, 100), (3, 3, 100),
              (4, 1, 100), (5, 2, 100), (6, 0, 1), (6, 1, 1)]  # fmt: skip
    target = flat_target(2, 2, 2.5)
    mapping = map_threads(trace_of(shared, 4), target).mapping
    node = target.core_node[mapping]
    assert node[0] == node[3]
    assert node[1] == node[2]
    assert len(set(mapping.tolist())) == 4
