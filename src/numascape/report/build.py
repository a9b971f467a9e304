# SPDX-License-Identifier: Apache-2.0
"""Makes a report from a trace: measures single pages, then folds them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from numascape.analysis.facts import Facts, per_thread_pages, structure_facts
from numascape.analysis.folding import Folded, fold_pages, lay_out_blocks, limit_columns
from numascape.analysis.loops import Loop
from numascape.analysis.source_files import SourceFiles
from numascape.analysis.source_places import source_places
from numascape.analysis.text import short_printable
from numascape.findings import examine, findings_of
from numascape.findings.reading import reading_of
from numascape.findings.verdict import verdict
from numascape.machine.description import Machine
from numascape.report.access_paths import MeasuredPaths, measure_paths, touches_with_paths
from numascape.report.data import (
    AccessPaths,
    FindingCard,
    Lines,
    MemoryLines,
    OnMachine,
    Phase,
    Places,
    Report,
    Sharing,
    SourceWindow,
    Spans,
    StructureEntry,
    Traffic,
)
from numascape.report.entries import (
    STRUCTURES,
    left_out,
    ranked_structures,
    structure_entry,
)
from numascape.report.findings import finding_cards
from numascape.report.instances import (
    address_offsets,
    chosen_instances,
    instance_entries,
    with_instances,
)
from numascape.report.laid_out import describe_layout, recorded_and_machine
from numascape.report.machine import on_machine, shown_machine
from numascape.report.memory_lines import line_traffic, lines_of_structures, measure_memory_lines
from numascape.report.phases import PHASES, ShownPhases, shown_phases, shown_spans
from numascape.report.run import plain, shown_run, shown_threads
from numascape.report.sharing import measure_sharing
from numascape.report.source_lines import lay_out_lines, shown_lines
from numascape.report.sources import loops_around, ranked_lines, source_windows
from numascape.report.traffic import measure_traffic
from numascape.trace import Trace
from numascape.trace.counting import TraceOfTouches, count_columns, misses_touches

COLUMNS = 4096
"""Maximum number of columns with touched pages of a structure; a 4K screen shows no more."""
MINOR_COLUMNS = 256
"""The same for a structure below MINOR_SHARE of the accesses, and of the memory lines."""
MINOR_SHARE = 0.0001


@dataclasses.dataclass(frozen=True)
class ReportLimits:
    """Limits of a report: phases, structures, and at least this many columns of each structure."""

    phases: int = PHASES
    structures: int = STRUCTURES
    fewest_columns: int = 16


@dataclasses.dataclass(frozen=True)
class Draft:
    """A report before its columns are laid out; its pages can still be folded further."""

    run: dict[str, Any]
    threads: list[dict[str, Any]]
    structures: tuple[StructureEntry, ...]
    findings: tuple[FindingCard, ...]
    phases: tuple[Phase, ...]
    places: Places
    left_out: tuple[str, ...]
    folded: Folded
    spans: Spans
    sharing: Sharing
    traffic: Traffic
    lines: Lines
    machine: dict[str, Any]
    memory_lines: MemoryLines | None = None
    access_paths: AccessPaths | None = None
    touch_paths: AccessPaths | None = None
    loops: tuple[Loop, ...] = ()
    sources: tuple[SourceWindow, ...] | None = None
    elsewhere: tuple[OnMachine, ...] = ()
    limits: ReportLimits = dataclasses.field(default_factory=ReportLimits)
    again: Callable[[ReportLimits], Draft] | None = None
    """Makes the same draft with other limits."""


_ALL = ReportLimits()


def from_trace(trace: Trace) -> Report:
    """Return the report of ``trace`` at full detail; see ``fitting`` for one of bounded size."""
    return finish(draft(trace))


def draft(
    trace: Trace,
    files: SourceFiles | None = None,
    limits: ReportLimits = _ALL,
    others: Sequence[Machine] = (),
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Draft:
    """Measure ``trace``, and fold its pages into at most COLUMNS columns per structure.

    Source text and loops come from ``files``; without it, no source file is read. ``limits`` is how
    much is shown separately. The reader can choose among the machine of ``trace`` and ``others``.
    ``progress`` is called with the number of finished steps and of all steps; a step is all pages,
    or a machine.
    """
    # Findings are about the recorded run; only their gains are those of another machine.
    recorded, machine = recorded_and_machine(trace)
    trace = TraceOfTouches.of(trace)
    phases = shown_phases(trace, limits.phases)
    by_phase = _by_phase(trace.accesses, phases)
    first_touch = trace.first_touch.with_columns(phases.positions(trace.first_touch["phase"]))
    per_thread = per_thread_pages(by_phase, len(phases.phases))
    facts = structure_facts(per_thread, first_touch, of_known=misses_touches(trace))
    ranked = ranked_structures(trace.structures, facts, lines_of_structures(by_phase))
    shown = _with_limits(ranked.head(limits.structures))
    position = _positions(ranked, limits.structures)
    lines = shown_lines(trace.source_lines, position, phases.positions(trace.source_lines["phase"]))
    places = source_places(first_touch, lines)
    chosen = chosen_instances(by_phase, first_touch, shown, trace.instances)
    folded = fold_pages(by_phase, first_touch, shown, places, len(ranked))
    folded = limit_columns(folded, shown.select("position", "limit"))
    folded = with_instances(folded, chosen, by_phase, first_touch, places)
    offsets = address_offsets(trace.instances)
    several = len(phases.phases) > 1
    loop, loops = _loops(places, files)
    used_at = lay_out_lines(lines, places, len(shown))
    paths, touch_paths = _paths(trace, position, phases)
    everywhere = _Measured(
        recorded, files, facts, by_phase, position, shown, len(phases.phases), paths
    )
    here, *elsewhere = everywhere.on_each((machine or recorded.info.machine, *others), progress)
    whole = tuple(
        structure_entry(row, facts.get(row["structure"]), reading, offsets)
        for row, reading in zip(shown.to_dicts(), here.readings, strict=True)
    )
    return Draft(
        run={**shown_run(trace, facts), "verdict": here.verdict, "laid_out": here.laid_out},
        threads=shown_threads(trace),
        structures=(*whole, *instance_entries(chosen, whole)),
        findings=here.findings,
        phases=phases.phases,
        places=_places(places, loop),
        left_out=(
            *left_out(ranked, limits.structures),
            *phases.folded,
            *(files.left_out if files else ()),
        ),
        folded=folded,
        spans=shown_spans(trace, phases),
        sharing=measure_sharing(
            per_thread, by_phase if several else None, trace.threads.height, len(phases.phases)
        ),
        traffic=here.traffic,
        lines=used_at,
        machine=here.machine,
        memory_lines=measure_memory_lines(
            by_phase, trace.threads.height, len(phases.phases), here.line_traffic
        ),
        access_paths=paths.shown if paths else None,
        touch_paths=touch_paths.shown if touch_paths else None,
        loops=loops,
        sources=_sources(files, ranked_lines(lines, places), paths, touch_paths),
        elsewhere=tuple(elsewhere),
        limits=limits,
        again=lambda other: draft(trace, files, other, others),
    )


def _paths(
    trace: Trace, position: pl.Series, phases: ShownPhases
) -> tuple[MeasuredPaths | None, MeasuredPaths | None]:
    """The call paths of samples, and those of first touches."""
    samples, touches = (
        measure_paths(trace, rows, position, phases.positions(rows["phase"]))
        for rows in (trace.path_accesses, touches_with_paths(trace))
    )
    return samples, touches


def _sources(
    files: SourceFiles | None, ranked: list[tuple[str, int]], *paths: MeasuredPaths | None
) -> tuple[SourceWindow, ...] | None:
    ranked = [*ranked, *(place for known in paths if known for place in known.places)]
    return None if files is None else source_windows(ranked, files)


def _with_limits(shown: pl.DataFrame) -> pl.DataFrame:
    is_major = pl.col("share") >= MINOR_SHARE
    return shown.with_columns(limit=pl.when(is_major).then(COLUMNS).otherwise(MINOR_COLUMNS))


def _loops(
    places: pl.DataFrame, files: SourceFiles | None
) -> tuple[tuple[int, ...], tuple[Loop, ...]]:
    """The index of each place's loop, -1 without one, and the loops."""
    if files is None:
        return (-1,) * places.height, ()
    return loops_around(list(zip(places["file"], places["line"], strict=True)), files)


@dataclasses.dataclass(frozen=True)
class _Measured:
    """The parts of a report that do not depend on the machine: pages, and the structures shown."""

    recorded: Trace
    files: SourceFiles | None
    facts: Mapping[int, Facts]
    by_phase: pl.DataFrame
    position: pl.Series
    shown: pl.DataFrame
    phases: int
    paths: MeasuredPaths | None

    def on_each(
        self, machines: Sequence[Machine], progress: Callable[[int, int], None]
    ) -> Iterator[OnMachine]:
        """The parts of the page that differ on each machine; the pages were the first step."""
        for number, machine in enumerate(machines, 1):
            progress(number, 1 + len(machines))
            yield self.on(machine)
        progress(1 + len(machines), 1 + len(machines))

    def on(self, machine: Machine) -> OnMachine:
        """The parts of the page that differ on `machine`."""
        placed = on_machine(self.recorded, machine)
        whole, target = recorded_and_machine(placed)
        run = examine(whole, target, files=self.files, facts=self.facts)
        found = findings_of(run)
        placed = TraceOfTouches.of(placed)
        measured = (placed, self.by_phase, self.position, len(self.shown), self.phases)
        return OnMachine(
            machine=plain(shown_machine(machine)),
            verdict=plain(verdict(run, found)),
            laid_out=plain(describe_layout(whole, target)),
            threads=tuple(
                {"cpus": thread["cpus"], "nodes": thread["nodes"]}
                for thread in shown_threads(placed)
            ),
            findings=finding_cards(run, found, self.position),
            readings=tuple(reading_of(run, one, found) for one in self.shown["structure"]),
            traffic=measure_traffic(*measured, self.paths),
            line_traffic=line_traffic(*measured),
        )


def finish(started: Draft) -> Report:
    """Lay out the columns of a draft, and describe what they sum up."""
    columns, cells, first = lay_out_blocks(
        started.folded, len(started.structures), len(started.phases)
    )
    width = dict(started.folded.width.select("position", "width").iter_rows())
    entries = tuple(
        dataclasses.replace(entry, pages_per_column=width.get(position, 1))
        for position, entry in enumerate(started.structures)
    )
    as_they_are = {
        f.name: getattr(started, f.name)
        for f in dataclasses.fields(started)
        if f.name not in ("structures", "left_out", "folded", "limits", "again")
    }
    return Report(
        **as_they_are,
        structures=entries,
        columns=columns,
        cells=cells,
        first_touches=first,
        folded=(*_coarse(entries), *started.left_out),
    )


def _by_phase(accesses: pl.DataFrame, phases: ShownPhases) -> pl.DataFrame:
    """The trace's accesses with the positions of the shown phases."""
    if not phases.folded:
        return accesses
    keys = ["structure", "instance", "page", "thread", "phase"]
    return (
        accesses.with_columns(phases.positions(accesses["phase"]))
        .group_by(keys)
        .agg(pl.col(count_columns(accesses)).sum())
    )


def _positions(ranked: pl.DataFrame, structures: int) -> pl.Series:
    """By structure in the trace, its position in the report; null if it is left out."""
    return (
        ranked.sort("structure")
        .select(pl.when(pl.col("position") < structures).then("position"))
        .to_series()
    )


def _places(places: pl.DataFrame, loop: tuple[int, ...]) -> Places:
    return Places(
        function=tuple(short_printable(f) for f in places["function"]),
        file=tuple(short_printable(f) for f in places["file"]),
        line=tuple(places["line"]),
        loop=loop,
    )


def _coarse(entries: tuple[StructureEntry, ...]) -> tuple[str, ...]:
    whole = [entry.pages_per_column for entry in entries if entry.parent < 0]
    coarse = [width for width in whole if width > 1]
    if not coarse:
        return ()
    return (
        f"{len(coarse)} of {len(whole)} structures are too large to show page by page: "
        f"neighbouring pages are summed up in columns of up to {max(coarse)} pages "
        "(each figure says how many). Sums and shares are exact.",
    )
