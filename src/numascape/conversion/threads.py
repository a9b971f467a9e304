# SPDX-License-Identifier: Apache-2.0
"""The table of a run's threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from numascape.conversion.shard_groups import Member
from numascape.machine.description import cpu_nodes
from numascape.trace.schema import SCHEMAS

if TYPE_CHECKING:
    from numascape.recording.session import Session


def thread_table(members: Sequence[Member], begin: int, session: Session) -> pl.DataFrame:
    """All threads of all processes; `begin` is when the run began, in ns of CLOCK_REALTIME."""
    nodes = cpu_nodes(session.machine)
    sampled = session.ended.cpus if session.ended else {}
    rows: list[tuple[Any, ...]] = []
    cpus_of: list[list[int]] = []
    for member in members:
        shard = member.shard
        last = shard.nanoseconds(shard.header["last_ticks"], begin)
        for number, thread in enumerate(shard.threads, start=member.first_thread):
            key = f"{shard.header['pid']}/{thread.os_tid}"
            # The first CPU does not show where a thread works, because it may bind itself after
            # that.
            cpus_of.append(sorted({*thread.cpus, *sampled.get(key, [])} or thread.first_cpu))
            created = shard.nanoseconds(thread.started, begin)
            # A killed process may have noted its last time before its youngest threads began. And
            # the counters of two CPUs may differ a little.
            ended = shard.nanoseconds(thread.ended, begin) if thread.ended else last
            times = (created, max(created, ended))
            rows.append((number, member.process, thread.os_tid, thread.name, *times))
    names = ("thread", "process", "os_tid", "name", "created_ns", "ended_ns")
    schema = {name: SCHEMAS["threads"][name] for name in names}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    nodes_of = [sorted({nodes[cpu] for cpu in cpus if cpu in nodes}) for cpus in cpus_of]
    return frame.with_columns(_lists(cpus_of, "cpus"), _lists(nodes_of, "nodes"))


def _lists(values: list[list[int]], name: str) -> pl.Series:
    """Make a column of lists; faster than Polars' own conversion of Python lists."""
    rows = [row for row, numbers in enumerate(values) for _ in numbers]
    flat = [number for numbers in values for number in numbers]
    filled = pl.DataFrame(
        {"row": rows, name: flat}, schema={"row": pl.UInt32(), name: pl.UInt32()}
    ).group_by("row", maintain_order=True)
    all_rows = pl.DataFrame({"row": range(len(values))}, schema={"row": pl.UInt32()})
    joined = all_rows.join(filled.agg(name), on="row", how="left", maintain_order="left")
    return joined.select(pl.col(name).fill_null([]))[name]
