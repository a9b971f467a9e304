# SPDX-License-Identifier: Apache-2.0
"""Predicts what it costs that cache lines travel between the nodes of threads."""

from __future__ import annotations

import numpy as np
import polars as pl

from numascape.findings.finding import Gain
from numascape.findings.gain import seconds_now
from numascape.findings.subject import Run
from numascape.prediction.speeds import speeds_of
from numascape.quantities import share_of

_NS = 1e-9
_LOW_FACTOR = 0.5
"""For the lower bound: a core waits for a read, but not for a write. This assumes that half of the
transfers are reads."""
_HIGH_FACTOR = 2.0
"""For the upper bound: a line that another cache has modified takes up to about twice as long as
one from memory. Measurements are in D. Molka et al., "Cache Coherence Protocol and Memory
Performance of the Intel Haswell-EP Architecture", ICPP 2015."""


def gain_without(run: Run, transfers: pl.DataFrame) -> Gain | None:
    """The predicted gain if these transfers did not happen; None if no nodes are known.

    A transfer between nodes takes the latency between them; one within a node takes no time here.
    """
    now = seconds_now(run)
    if run.nodes is None or now is None:
        return None
    every = _seconds(run, run.trace.transfers.filter(pl.col("travelling") > 0))
    saved = _seconds(run, transfers)
    return Gain(
        share=share_of(saved, now + every),
        low=_LOW_FACTOR * share_of(saved, now + every),
        high=min(1.0, share_of(_HIGH_FACTOR * saved, now + _HIGH_FACTOR * every)),
        limit="lines that travel between nodes",
        machine=run.nodes.machine.name,
        limited="" if saved else "At this layout of the threads, no line travels between nodes.",
    )


def _seconds(run: Run, transfers: pl.DataFrame) -> float:
    """The waiting time of the thread that waits longest for these lines."""
    assert run.nodes is not None
    speeds = speeds_of(run.nodes.machine)
    position = speeds.positions(run.nodes.thread_node)
    sums = transfers.group_by("from_thread", "thread").agg(pl.col("travelling").sum())
    source = position[sums["from_thread"].to_numpy()]
    target = position[sums["thread"].to_numpy()]
    away = (source >= 0) & (target >= 0) & (source != target)
    waits = np.zeros(len(position))
    cost = speeds.latency[target[away], source[away]] * sums["travelling"].to_numpy()[away] * _NS
    np.add.at(waits, sums["thread"].to_numpy()[away], cost)
    return float(waits.max(initial=0.0))
