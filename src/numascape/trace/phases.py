# SPDX-License-Identifier: Apache-2.0
"""Phases: those of each process named, and put together over all processes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from numascape._native.symbols import Frame
from numascape.naming.frames import is_library
from numascape.trace.schema import SCHEMAS
from numascape.trace.shards import (
    PHASE_FURTHER,
    PHASE_MARK,
    PHASE_OUTSIDE,
    PHASE_REGION,
    PHASE_TIME_SLICE,
    Shard,
    ShardPhase,
)
from numascape.trace.structures import ProcessNames

MOST_SPANS = 20_000


@dataclass(frozen=True)
class NamedPhase:
    """A phase of one process; times in ns since the run's start.

    Phases of the same name, file and line are the same one, in whatever process.
    """

    phase: int
    name: str
    file: str
    line: int
    start_ns: int
    end_ns: int
    repetitions: int

    @property
    def identity(self) -> tuple[str, str, int]:
        """What makes two phases the same one."""
        return self.name, self.file, self.line


@dataclass(frozen=True)
class ProcessPhases:
    """The phases of one process by its own numbers, and `spans` (phase, start_ns, end_ns)."""

    phases: list[NamedPhase]
    spans: pl.DataFrame


def process_phases(shard: Shard, names: ProcessNames, begin: int) -> ProcessPhases:
    """The phases that the process had; none when it never left the one it began in."""
    spans = _spans(shard, begin)
    ends = dict(spans.group_by("phase").agg(pl.col("end_ns").max()).iter_rows())
    phases = []
    for phase in shard.phases:
        outside = phase.kind == PHASE_OUTSIDE
        started = shard.header["start_ticks"] if outside else phase.started
        start = shard.nanoseconds(started, begin)
        end = max(start, shard.nanoseconds(phase.ended, begin), ends.get(phase.phase, 0))
        name, file, line = _name(phase, names)
        repetitions = max(1, phase.repetitions)
        phases.append(NamedPhase(phase.phase, name, file, line, start, end, repetitions))
    return ProcessPhases(phases, spans)


def _spans(shard: Shard, begin: int) -> pl.DataFrame:
    """Each switch begins a span, which lasts until the next or the process's end."""
    times = [shard.header["start_ticks"], *shard.switches["time"].to_list()]
    starts = [shard.nanoseconds(time, begin) for time in times]
    ends = [*starts[1:], shard.nanoseconds(shard.header["last_ticks"], begin)]
    schema = SCHEMAS["phase_spans"]
    rows = pl.DataFrame(
        {"phase": [0, *shard.switches["phase"].to_list()], "start_ns": starts, "end_ns": ends},
        schema=schema,
    )
    return rows.filter(pl.col("end_ns") > pl.col("start_ns"))


def _name(phase: ShardPhase, names: ProcessNames) -> tuple[str, str, int]:
    if phase.kind == PHASE_REGION:
        return _region_name(phase, names)
    if phase.kind == PHASE_MARK:
        frame = _outside_header(names.frames(phase.place))[0]
        return phase.name, frame.file, frame.line
    if phase.kind == PHASE_TIME_SLICE:
        return time_slice_name(phase.place, phase.caller), "", 0
    if phase.kind == PHASE_FURTHER:
        return "further phases", "", 0
    return "outside all phases", "", 0


def _outside_header(frames: list[Frame]) -> list[Frame]:
    """Without the inline function by which a program sets a mark."""
    return [frame for frame in frames if not frame.file.endswith("numascape/phase.h")] or frames


def _region_name(phase: ShardPhase, names: ProcessNames) -> tuple[str, str, int]:
    """The function that the region lies in, and the place of its directive.

    The outlined function begins on the directive's line; its caller is the function around it, and
    stands in where debug information says nothing of the outlined one.
    """
    outlined = names.frames(phase.place)[-1]
    callers = _outside_header(names.frames(phase.caller - 1)) if phase.caller else [outlined]
    # A function that the compiler inlined is the one that the programmer wrote.
    caller = next((frame for frame in callers if not is_library(frame)), callers[0])
    line = outlined.entry_line or outlined.line
    file, line = (outlined.file, line) if line else (caller.file, caller.line)
    if not line:
        return f"{caller.function}, parallel region {outlined.function}", "", 0
    return f"{caller.function}, parallel region at {file.rpartition('/')[2]}:{line}", file, line


def time_slice_name(start_ns: int, end_ns: int) -> str:
    """`0.0–0.5 s`: as many digits as the slice's length has, at least one."""  # noqa: RUF002
    text = f"{(end_ns - start_ns) / 1e9:.9f}".rstrip("0")
    digits = max(1, len(text.partition(".")[2]))
    return f"{start_ns / 1e9:.{digits}f}–{end_ns / 1e9:.{digits}f} s"  # noqa: RUF001


_SLICE = re.compile(r"[0-9.]+–[0-9.]+ s")  # noqa: RUF001


def is_time_slice(name: str, file: str) -> bool:
    """Whether a phase of this name and file is a time slice."""
    return not file and _SLICE.fullmatch(name) is not None


@dataclass(frozen=True)
class RunPhases:
    """The tables `phases` and `phase_spans`, and for each process its phases' numbers there."""

    phases: pl.DataFrame
    spans: pl.DataFrame
    numbers: list[dict[int, int]]

    def renumbered(self, rows: pl.DataFrame, process: int) -> pl.DataFrame:
        """Rows with one process's own phase numbers as rows with the run's."""
        numbers = self.numbers[process]
        phase = pl.col("phase")
        if not numbers:
            return rows.with_columns(phase=pl.lit(0, dtype=pl.UInt32()))
        return rows.with_columns(
            phase.replace_strict(numbers, default=0, return_dtype=pl.UInt32()).alias("phase")
        )


def run_phases(processes: Sequence[ProcessPhases], end_ns: int) -> RunPhases:
    """The phases of all processes; the one phase "run" when none has any."""
    if not any(process.phases for process in processes):
        row = (0, "run", "", 0, 0, end_ns, 1)
        phases = pl.DataFrame([row], schema=SCHEMAS["phases"], orient="row")
        spans = pl.DataFrame([(0, 0, end_ns)], schema=SCHEMAS["phase_spans"], orient="row")
        return RunPhases(phases, spans, [{} for _ in processes])
    outside = NamedPhase(0, "outside all phases", "", 0, 0, 0, 0)
    known = [phase for process in processes for phase in process.phases]
    rows: dict[tuple[str, str, int], NamedPhase] = {outside.identity: outside}
    for phase in sorted(known, key=lambda phase: phase.start_ns):
        rows[phase.identity] = _both(rows.get(phase.identity), phase, len(rows))
    numbers = [{p.phase: rows[p.identity].phase for p in process.phases} for process in processes]
    columns = list(SCHEMAS["phases"])
    phases = pl.DataFrame(
        [[getattr(row, name) for name in columns] for row in rows.values()],
        schema=SCHEMAS["phases"],
        orient="row",
    )
    run = RunPhases(phases, pl.DataFrame(), numbers)
    most = max(1, MOST_SPANS // len(processes))
    spans = pl.concat(
        run.renumbered(merge_spans(process.spans, most), number)
        for number, process in enumerate(processes)
    )
    return RunPhases(phases, spans.sort("start_ns", maintain_order=True), numbers)


def _both(known: NamedPhase | None, phase: NamedPhase, number: int) -> NamedPhase:
    """`phase`, added to what other processes had of it; the first row of its name is `number`."""
    name, file, line = phase.identity
    if known is None:
        return NamedPhase(number, name, file, line, phase.start_ns, phase.end_ns, phase.repetitions)
    start = min(known.start_ns, phase.start_ns) if known.repetitions else phase.start_ns
    end = max(known.end_ns, phase.end_ns)
    repetitions = min(known.repetitions + phase.repetitions, 0xFFFFFFFF)
    return NamedPhase(known.phase, name, file, line, start, end, repetitions)


def merge_spans(spans: pl.DataFrame, most: int) -> pl.DataFrame:
    """At most `most` rows: neighbours become one span, of the phase that has most of its time."""
    if spans.height <= most:
        return spans
    together = -(-spans.height // most)
    return (
        spans.with_row_index("group")
        .with_columns(pl.col("group") // together)
        .group_by("group", "phase", maintain_order=True)
        .agg(
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            time=(pl.col("end_ns") - pl.col("start_ns")).sum(),
        )
        .sort("group", "time", descending=[False, True], maintain_order=True)
        .group_by("group", maintain_order=True)
        .agg(pl.col("phase").first(), pl.col("start_ns").min(), pl.col("end_ns").max())
        .select("phase", "start_ns", "end_ns")
    )
