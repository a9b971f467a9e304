# SPDX-License-Identifier: Apache-2.0
"""The time of travelling lines: the latency of each line between the nodes of its threads."""

import numpy as np
import polars as pl
import pytest

from numascape.findings.gain import seconds_now
from numascape.findings.line_cost import gain_without
from numascape.prediction.speeds import speeds_of
from synthetic.pattern import Pattern
from unit.findings.run_cases import run_of


def test_the_thread_that_waits_longest_decides() -> None:
    pattern = Pattern("lines", 64)  # 16 threads on each of four nodes
    s = pattern.structure("A", 64)
    pattern.access(s, np.arange(64)[None, :], np.arange(64)[:, None], 20_000, 20_000)
    pattern.touch(s, np.arange(64), 0)
    for page, (source, target, travelling) in enumerate(
        [(0, 48, 50_000), (48, 0, 20_000), (0, 1, 30_000), (0, 16, 1_000)]
    ):
        pattern.take_lines(s, page, (source, target), (travelling, 1000, 1000))
    run = run_of(pattern, nodes=True)
    assert run.nodes is not None
    speeds = speeds_of(run.nodes.machine)
    node = speeds.positions(run.nodes.thread_node)
    waits = np.zeros(64)
    for source, target, travelling in run.trace.transfers.select(
        "from_thread", "thread", "travelling"
    ).iter_rows():
        if node[source] != node[target]:
            waits[target] += travelling * speeds.latency[node[target], node[source]] * 1e-9
    assert np.flatnonzero(waits).tolist() == [0, 16, 48]
    seconds, now = waits.max(), seconds_now(run)
    assert seconds == waits[48]
    assert now is not None
    gain = gain_without(run, run.trace.transfers)
    assert gain is not None
    assert gain.share == pytest.approx(seconds / (now + seconds))
    # Thread 0 waits for the lines that it takes, on the first node, too.
    into = gain_without(run, run.trace.transfers.filter(pl.col("thread") == 0))
    assert into is not None
    assert into.share == pytest.approx(waits[0] / (now + seconds))
    assert gain.low == pytest.approx(0.5 * seconds / (now + seconds))
    assert gain.high == pytest.approx(2 * seconds / (now + 2 * seconds))
