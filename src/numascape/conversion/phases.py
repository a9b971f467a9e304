# SPDX-License-Identifier: Apache-2.0
"""Names the phases of each process, and joins the phases of all processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from numascape.conversion.names import Names
from numascape.conversion.shards import (
    PHASE_FURTHER,
    PHASE_MARK,
    PHASE_OUTSIDE,
    PHASE_REGION,
    PHASE_TIME_SLICE,
    Shard,
    ShardPhase,
)
from numascape.naming.frames import is_library_frame, outside_marks
from numascape.trace.schema import SCHEMAS

MAX_SPANS = 20_000


@dataclass(frozen=True)
class NamedPhase:
    """A phase of one process; times in ns since the run's start.

    Phases with the same name, file and line are one phase, in all processes.
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
        """Equal for phases that are joined."""
        return self.name, self.file, self.line


@dataclass(frozen=True)
class ProcessPhases:
    """The phases of one process with its own numbers, and `spans` (phase, start_ns, end_ns)."""

    phases: list[NamedPhase]
    spans: pl.DataFrame


def process_phases(shard: Shard, names: Names, begin: int) -> ProcessPhases:
    """The phases of the process; none if it never left its first phase."""
    spans = _spans(shard, begin)
    if not shard.phases:
        return ProcessPhases([], spans)
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
    """Each switch begins a span, which lasts until the next switch or the end of the process."""
    switches = [(0, shard.header["start_ticks"]), *shard.switches]
    starts = [shard.nanoseconds(time, begin) for _, time in switches]
    ends = [*starts[1:], shard.nanoseconds(shard.header["last_ticks"], begin)]
    spans = [
        (phase, start, end)
        for (phase, _), start, end in zip(switches, starts, ends, strict=True)
        if end > start
    ]
    return pl.DataFrame(spans, schema=SCHEMAS["phase_spans"], orient="row")


def _name(phase: ShardPhase, names: Names) -> tuple[str, str, int]:
    if phase.kind == PHASE_REGION:
        return _region_name(phase, names)
    if phase.kind == PHASE_MARK:
        frame = names.mark(phase.place)
        return phase.name, frame.file, frame.line
    if phase.kind == PHASE_TIME_SLICE:
        return time_slice_name(phase.place, phase.caller), "", 0
    if phase.kind == PHASE_FURTHER:
        return "further phases", "", 0
    return "outside all phases", "", 0


def _region_name(phase: ShardPhase, names: Names) -> tuple[str, str, int]:
    """The function that contains the parallel region, and the place of the directive.

    The outlined function begins on the directive's line. Its caller is the function around the
    region. The place of the call is used if there is no debug information about the outlined
    function.
    """
    outlined = names.frames(phase.place)[-1]
    callers = outside_marks(names.frames(phase.caller - 1)) if phase.caller else [outlined]
    # Prefer the innermost inlined function that is not a library's: the programmer wrote it.
    caller = next((frame for frame in callers if not is_library_frame(frame)), callers[0])
    line = outlined.entry_line or outlined.line
    file, line = (outlined.file, line) if line else (caller.file, caller.line)
    if not line:
        return f"{caller.function}, parallel region {outlined.function}", "", 0
    return f"{caller.function}, parallel region at {file.rpartition('/')[2]}:{line}", file, line


def time_slice_name(start_ns: int, end_ns: int) -> str:
    """`0.0–0.5 s`: with as many decimals as the slice's length, at least one."""  # noqa: RUF002
    text = f"{(end_ns - start_ns) / 1e9:.9f}".rstrip("0")
    digits = max(1, len(text.partition(".")[2]))
    return f"{start_ns / 1e9:.{digits}f}–{end_ns / 1e9:.{digits}f} s"  # noqa: RUF001


@dataclass(frozen=True)
class RunPhases:
    """The tables `phases` and `phase_spans`, and the numbers of each process's phases in them."""

    phases: pl.DataFrame
    spans: pl.DataFrame
    numbers: list[dict[int, int]]

    def renumbered(self, rows: pl.DataFrame, process: int) -> pl.DataFrame:
        """Replace the phase numbers of one process by those of the run."""
        numbers = self.numbers[process]
        phase = pl.col("phase")
        if not numbers:
            return rows.with_columns(phase=pl.lit(0, dtype=pl.UInt32()))
        return rows.with_columns(
            phase.replace_strict(numbers, default=0, return_dtype=pl.UInt32()).alias("phase")
        )

    def renumbered_of(self, rows: pl.DataFrame, processes: pl.Series) -> pl.DataFrame:
        """Replace the phase numbers of several processes; `processes` has that of each row."""
        if not any(self.numbers):
            return rows.with_columns(phase=pl.lit(0, dtype=pl.UInt32()))
        return (
            rows.with_columns(processes.cast(pl.UInt32()).alias("_process"))
            .join(self._known, on=["_process", "phase"], how="left", maintain_order="left")
            .with_columns(phase=pl.col("_number").fill_null(0))
            .drop("_process", "_number")
        )

    @cached_property
    def _known(self) -> pl.DataFrame:
        rows = [
            (process, phase, number)
            for process, numbers in enumerate(self.numbers)
            for phase, number in numbers.items()
        ]
        schema = {"_process": pl.UInt32(), "phase": pl.UInt32(), "_number": pl.UInt32()}
        return pl.DataFrame(rows, schema=schema, orient="row")


def run_phases(processes: Sequence[ProcessPhases], end_ns: int) -> RunPhases:
    """Join the phases of all processes; a run without phases has the one phase "run"."""
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
    most = max(1, MAX_SPANS // len(processes))
    spans = pl.concat(
        run.renumbered(merge_spans(process.spans, most), number)
        for number, process in enumerate(processes)
    )
    return RunPhases(phases, spans.sort("start_ns", maintain_order=True), numbers)


def _both(known: NamedPhase | None, phase: NamedPhase, number: int) -> NamedPhase:
    """`phase` joined with `known`, the same phase of other processes; its row is `number`."""
    name, file, line = phase.identity
    if known is None:
        return NamedPhase(number, name, file, line, phase.start_ns, phase.end_ns, phase.repetitions)
    start = min(known.start_ns, phase.start_ns) if known.repetitions else phase.start_ns
    end = max(known.end_ns, phase.end_ns)
    repetitions = min(known.repetitions + phase.repetitions, 0xFFFFFFFF)
    return NamedPhase(known.phase, name, file, line, start, end, repetitions)


def merge_spans(spans: pl.DataFrame, most: int) -> pl.DataFrame:
    """Merge neighbours into at most `most` spans; each has the phase with most of its time."""
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
