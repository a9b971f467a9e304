# SPDX-License-Identifier: Apache-2.0
"""Accesses to other nodes: which ones count, also if a thread was on several nodes."""

from pathlib import Path

import polars as pl

from conftest import Tables
from numascape.analysis.remote import remote_accesses
from numascape.trace import Trace, TraceInfo, write_trace


def remote(path: Path, tables: Tables, info: TraceInfo, nodes: list[list[int]]) -> object:
    """The result for the small trace with its two threads on these nodes."""
    own = pl.Series("nodes", nodes, tables["threads"].schema["nodes"])
    write_trace(path, {**tables, "threads": tables["threads"].with_columns(own)}, info)
    return remote_accesses(Trace.read(path)).sort("structure", "node").rows()


def test_a_thread_on_one_node_is_remote_to_all_others(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    # Thread 0 makes 1024 accesses to A, and thread 1 makes 912 to A and 64 to B, all on node 0.
    assert remote(tmp_path / "0", tables, info, [[0], [1]]) == [
        (0, 0, 1936, 912.0),
        (1, 0, 64, 64.0),
    ]
    assert remote(tmp_path / "1", tables, info, [[1], [0]]) == [
        (0, 0, 1936, 1024.0),
        (1, 0, 64, 0.0),
    ]


def test_the_accesses_of_a_thread_on_several_nodes_are_divided_evenly(
    tmp_path: Path, tables: Tables, info: TraceInfo
) -> None:
    found = remote(tmp_path / "0", tables, info, [[0], [0, 1, 1, 2, 3]])
    assert found == [(0, 0, 1936, 684.0), (1, 0, 64, 48.0)]


def test_only_known_nodes_count(tmp_path: Path, tables: Tables, info: TraceInfo) -> None:
    assert remote(tmp_path / "0", tables, info, [[1], []]) == [(0, 0, 1024, 1024.0)]
    placement = tables["placement"].with_columns(
        node=pl.when(pl.col("structure") == 0).then(-1).otherwise(0).cast(pl.Int32)
    )
    found = remote(tmp_path / "1", {**tables, "placement": placement}, info, [[1], [1]])
    assert found == [(1, 0, 64, 64.0)]
