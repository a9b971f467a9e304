# SPDX-License-Identifier: Apache-2.0
"""Maps a recorded program's threads, as tasks, so that threads that share pages run close."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.analysis.sharing import shared_accesses
from numascape.balance.generators import round_robin
from numascape.balance.graph import TaskGraph, task_graph
from numascape.balance.mapping import OURS, Balanced, Options, Problem
from numascape.balance.target import Target
from numascape.trace import Trace

_PAGE = ["structure", "instance", "page", "thread"]


def thread_graph(trace: Trace, cores: int) -> TaskGraph:
    """A task for each thread, in their order: its load is its accesses.

    The number of messages between two threads is the sum over pages of the smaller of their two
    numbers of accesses. In the first mapping, the threads go to the cores in turn.
    """
    threads = trace.threads.height
    per_thread = trace.accesses.group_by(_PAGE).agg(pl.col("reads", "writes").sum())
    shared = shared_accesses(per_thread, threads).astype(float)
    load = shared.diagonal().copy()
    np.fill_diagonal(shared, 0.0)
    sender, receiver = shared.nonzero()
    return task_graph(
        load,
        round_robin(threads, cores),
        sender,
        receiver,
        # Each direction has half of the pair's messages.
        count=shared[sender, receiver] / 2,
    )


def map_threads(trace: Trace, target: Target, options: Options | None = None) -> Balanced:
    """The core for each thread; moving a thread costs nothing, because it does not run yet."""
    problem = Problem(thread_graph(trace, target.cores), target)
    return problem.run(OURS, options or Options(migration_price=0.0))
