# SPDX-License-Identifier: Apache-2.0
"""Reads from a trace how much memory a program had on each node."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from numascape.errors import NumascapeError
from numascape.trace import Trace


def traced_bytes(path: Path, known: list[int]) -> dict[int, int]:
    """Bytes by node of the pages in the trace's table `placement`.

    Raises NumascapeError if there are none, or if a node is not in `known`.
    """
    trace = Trace.read(path)
    counts = trace.placement.group_by("node").agg(pl.len()).sort("node")
    size = trace.info.page_size
    found = {node: pages * size for node, pages in counts.iter_rows() if node >= 0}
    if not found:
        raise NumascapeError(f"{path} does not say on which nodes the program's pages were")
    strange = sorted(set(found) - set(known))
    if strange:
        raise NumascapeError(
            f"{path} has pages on node {strange[0]}, which this "
            "machine does not have: give --bytes-per-node"
        )
    return found
