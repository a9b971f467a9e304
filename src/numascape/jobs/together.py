# SPDX-License-Identifier: Apache-2.0
"""The ranks of a host as one trace: all their threads, and shared memory as one structure.

Predictions, comparisons and figures are about a whole machine, so they need all ranks on it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from numascape.conversion.shared_memory import join_shared
from numascape.errors import NumascapeError
from numascape.quantities import counted
from numascape.trace import Trace
from numascape.trace.info import TraceInfo
from numascape.trace.job import RankPart, list_parts, missing_ranks, read_job, read_part
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS

MAX_ROWS = 100_000_000
"""Maximum number of rows of all tables: they are in memory at once."""
_PHASE = ["name", "file", "line"]


@dataclass(frozen=True)
class TraceOfRanks(Trace):
    """A trace whose tables are in memory."""

    frames: dict[str, pl.DataFrame] = field(default_factory=dict)

    def _read(self, table: str) -> pl.DataFrame:
        return self.frames[table]


def trace_of_job(folder: Path) -> TraceOfRanks:
    """All ranks of a job on one host as one trace.

    Raises NumascapeError if a part cannot be used, if ranks are missing, or if there are several
    hosts.
    """
    job = read_job(folder)
    found, odd = list_parts(folder)
    missing = [*odd, *missing_ranks(folder, job, set(found))]
    one = f"give the trace of one rank, such as {folder / f'rank={min(found, default=0)}'}"
    if missing:
        raise NumascapeError(
            f"{folder} is not complete: {missing[0].part}: {missing[0].reason}; record it again, "
            f"or {one}"
        )
    parts = [read_part(job, rank, path) for rank, path in found.items()]
    hosts = {part.info.host.name for part in parts}
    if len(hosts) > 1:
        raise NumascapeError(
            f"the ranks of {folder} ran on {len(hosts)} hosts, but this command needs one host: "
            f"{one}"
        )
    if len({part.info.recorder.counts for part in parts}) > 1:
        raise NumascapeError(f"the ranks of {folder} count different things: {one}")
    rows = sum(table.rows for part in parts for table in part.info.tables.values())
    if rows > MAX_ROWS:
        raise NumascapeError(
            f"the ranks of {folder} together have {counted(rows, 'row')}, too many for this: {one}"
        )
    return TraceOfRanks(folder, _info([part.info for part in parts]), frames=_tables(parts))


def _info(infos: list[TraceInfo]) -> TraceInfo:
    """The description of all ranks: that of the first one, with sums."""
    first, totals = infos[0], [info.totals for info in infos]
    processes = [process for info in infos for process in info.processes]
    ends = [info.exit_status for info in infos]
    return dataclasses.replace(
        first,
        started=min(info.started for info in infos),
        times=dataclasses.replace(
            first.times,
            wall_s=max(info.times.wall_s for info in infos),
            cpu_s=sum(info.times.cpu_s or 0.0 for info in infos),
            native_cpu_s=None,
        ),
        exit_status=next((end for end in ends if end != 0), 0),
        processes=tuple(
            dataclasses.replace(process, process=number) for number, process in enumerate(processes)
        ),
        totals=dataclasses.replace(
            totals[0],
            reads=sum(one.reads for one in totals),
            writes=sum(one.writes for one in totals),
            pages=sum(one.pages for one in totals),
            threads=sum(one.threads for one in totals),
            counted_reads=None,
            counted_writes=None,
        ),
        unseen=tuple(dict.fromkeys(sentence for info in infos for sentence in info.unseen)),
        part=None,
        tables={},
    )


def _tables(parts: list[RankPart]) -> dict[str, pl.DataFrame]:
    traces = [Trace(part.folder, part.info) for part in parts]
    begin = min(_clock(trace) for trace in traces)
    phases = _phases(traces, begin)
    numbered = phases.select(*_PHASE, number="phase")
    structures = threads = processes = paths = 0
    collected: dict[str, list[pl.DataFrame]] = {name: [] for name in SCHEMAS}
    for trace in traces:
        first = {"structure": structures, "thread": threads, "process": processes}
        first |= {"from_thread": threads, "path": paths}
        later = _clock(trace) - begin
        own = trace.phases.join(numbered, on=_PHASE, how="left").select("phase", "number")
        for name, frames in collected.items():
            frame = _with_objects(trace) if name == "instances" else trace.table(name)
            frames.append(_renumbered(frame, first, later, own))
        structures += trace.structures.height
        threads += trace.threads.height
        processes += len(trace.info.processes)
        paths += trace.call_paths.height
    tables = {name: _together(name, frames) for name, frames in collected.items()}
    tables["phases"] = phases
    tables["structures"] = tables["structures"].with_columns(
        shared=pl.col("shared") if "shared" in tables["structures"].columns else pl.lit(value=False)
    )
    tables["first_touch"] = (
        tables["first_touch"]
        .sort("time_ns", "order", maintain_order=True)
        .with_columns(order=pl.int_range(pl.len(), dtype=pl.UInt64()))
    )
    return join_shared(tables)


def _clock(trace: Trace) -> int:
    part = trace.info.part
    return 0 if part is None else part.clock_ns


def _renumbered(
    frame: pl.DataFrame, first: dict[str, int], later: int, phases: pl.DataFrame
) -> pl.DataFrame:
    """The rows of one rank with the numbers of the whole; `later` is added to times."""
    kinds = frame.schema
    names = [name for name in first if name in kinds]
    times = [name for name in kinds if name.endswith("_ns")]
    moved = frame.with_columns(
        *((pl.col(name) + first[name]).cast(kinds[name]) for name in names),
        *((pl.col(name) + later).cast(kinds[name]) for name in times),
    )
    if "caller" in kinds:
        caller = pl.col("caller")  # negative: none
        moved = moved.with_columns(
            pl.when(caller < 0).then(caller).otherwise(caller + first["path"]).cast(kinds["caller"])
        )
    if "phase" not in kinds:
        return moved
    return (
        moved.join(phases, on="phase", how="left", maintain_order="left")
        .with_columns(phase=pl.col("number").cast(kinds["phase"]))
        .select(frame.columns)
    )


def _phases(traces: Iterable[Trace], begin: int) -> pl.DataFrame:
    """The phases of all ranks; those with the same name and place are one."""
    rows = pl.concat(
        trace.phases.with_columns(pl.col("start_ns", "end_ns") + (_clock(trace) - begin))
        for trace in traces
    )
    return (
        rows.group_by(_PHASE, maintain_order=True)
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max(), pl.col("repetitions").max())
        .with_row_index("phase")
        .select(SCHEMAS["phases"].names())
        .cast(SCHEMAS["phases"])
    )


def _with_objects(trace: Trace) -> pl.DataFrame:
    """The instances. In traces without objects, the path of a file mapped shared is its object."""
    instances = trace.instances
    if "object" in instances.columns:
        return instances
    known = instances.with_columns(object=pl.lit(""), object_page=pl.lit(0, dtype=pl.UInt64()))
    if "shared" not in trace.structures.columns:
        return known
    files = trace.structures.filter(pl.col("shared") & (pl.col("module") != "")).select(
        "structure",
        pl.lit(0, dtype=pl.UInt32()).alias("instance"),
        pl.lit(0, dtype=pl.UInt64()).alias("address"),
        pl.col("pages").cast(pl.UInt64()).alias("size") * trace.info.page_size,
        pl.col("module").alias("object"),
        pl.lit(0, dtype=pl.UInt64()).alias("object_page"),
    )
    others = known.join(files, on=["structure", "instance"], how="anti")
    return pl.concat([others, files.select(known.columns)]).sort("structure", "instance")


def _together(name: str, frames: list[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all ranks; optional columns only if all ranks have them."""
    optional = [
        column
        for column in OPTIONAL_COLUMNS.get(name, ())
        if all(column in frame.columns for frame in frames)
    ]
    columns = [*SCHEMAS[name], *optional]
    return pl.concat([frame.select(columns) for frame in frames])
