# SPDX-License-Identifier: Apache-2.0
"""Make a report from a trace: measure on single pages, then fold for showing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from numascape.report.data import (
    Lines,
    Loop,
    Phase,
    Places,
    Report,
    Sharing,
    SourceWindow,
    Spans,
    StructureEntry,
    Traffic,
)
from numascape.report.facts import Facts, measure, per_thread_pages
from numascape.report.folding import Folded, fold_pages, lay_out, limit_columns
from numascape.report.instances import (
    address_offsets,
    chosen_instances,
    instance_entries,
    with_instances,
)
from numascape.report.lines import lay_out_lines, shown_lines, source_places
from numascape.report.phases import ShownPhases, shown_phases, shown_spans
from numascape.report.reading import read_structure
from numascape.report.sharing import measure_sharing
from numascape.report.sources import SourceFiles, loops_around, ranked_lines, source_windows
from numascape.report.text import printable
from numascape.report.traffic import measure_traffic
from numascape.trace import Trace

COLUMNS = 4096
"""Columns with touched pages that a structure may have; a 4K screen shows no more."""
MINOR_COLUMNS = 256
"""The same for a structure below MINOR_SHARE of the accesses."""
MINOR_SHARE = 0.0001
STRUCTURES = 2000
"""Structures shown, the most used first; of the rest the report says how much it is."""


@dataclasses.dataclass(frozen=True)
class Draft:
    """A report before its columns are laid out, so that its pages can be folded further."""

    run: dict[str, Any]
    threads: list[dict[str, Any]]
    structures: tuple[StructureEntry, ...]
    phases: tuple[Phase, ...]
    places: Places
    left_out: tuple[str, ...]
    folded: Folded
    spans: Spans
    sharing: Sharing
    traffic: Traffic
    lines: Lines
    machine: dict[str, Any]
    loops: tuple[Loop, ...] = ()
    sources: tuple[SourceWindow, ...] | None = None


def from_trace(trace: Trace) -> Report:
    """Return the report of ``trace`` at full detail; see ``fitting`` for one of bounded size."""
    return finish(draft(trace))


def draft(trace: Trace, files: SourceFiles | None = None) -> Draft:
    """Measure ``trace`` and fold its pages into at most COLUMNS columns per structure.

    Source text and loops come from ``files``; without it no source file is read.
    """
    phases = shown_phases(trace)
    by_phase = _by_phase(trace.accesses, phases)
    first_touch = _first_touch(trace, phases)
    per_thread = per_thread_pages(by_phase, len(phases.phases))
    facts = measure(per_thread, first_touch)
    ranked = _ranked(trace.structures, facts)
    run_accesses = sum(f.accesses for f in facts.values())
    shown = ranked.head(STRUCTURES).with_columns(
        limit=pl.when(pl.col("accesses") >= MINOR_SHARE * run_accesses)
        .then(COLUMNS)
        .otherwise(MINOR_COLUMNS)
    )
    position = _positions(ranked)
    lines = shown_lines(trace.lines, position, phases.positions(trace.lines["phase"]))
    places = source_places(first_touch, lines)
    folded = fold_pages(by_phase, first_touch, shown, places, len(ranked))
    folded = limit_columns(folded, shown.select("position", "limit"))
    chosen = chosen_instances(by_phase, first_touch, shown, trace.instances)
    folded = with_instances(folded, chosen, by_phase, first_touch, places)
    offsets = address_offsets(trace.instances)
    whole = tuple(
        _entry(row, facts.get(row["structure"]), run_accesses, offsets.get(row["structure"], -1))
        for row in shown.to_dicts()
    )
    several = len(phases.phases) > 1
    named = list(zip(places["file"], places["line"], strict=True))
    loop, loops = loops_around(named, files) if files else ((-1,) * len(named), ())
    return Draft(
        run=_run(trace, facts),
        threads=_threads(trace),
        structures=(*whole, *instance_entries(chosen, whole)),
        phases=phases.phases,
        places=_places(places, loop),
        left_out=(*_left_out(ranked, facts), *phases.folded, *(files.left_out if files else ())),
        folded=folded,
        spans=shown_spans(trace, phases),
        sharing=measure_sharing(
            per_thread, by_phase if several else None, trace.threads.height, len(phases.phases)
        ),
        traffic=measure_traffic(trace, by_phase, position, len(shown), len(phases.phases)),
        lines=lay_out_lines(lines, places, len(shown)),
        machine=_plain(dataclasses.asdict(trace.info.machine)),
        loops=loops,
        sources=source_windows(ranked_lines(lines, places), files) if files else None,
    )


def finish(started: Draft) -> Report:
    """Lay out the columns of a draft and say what they fold."""
    columns, cells, first = lay_out(started.folded, len(started.structures), len(started.phases))
    width = dict(started.folded.width.select("position", "width").iter_rows())
    entries = tuple(
        dataclasses.replace(entry, pages_per_column=width.get(position, 1))
        for position, entry in enumerate(started.structures)
    )
    as_they_are = {
        f.name: getattr(started, f.name)
        for f in dataclasses.fields(started)
        if f.name not in ("structures", "left_out", "folded")
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
    """The trace's accesses with the positions of the phases shown."""
    if not phases.folded:
        return accesses
    keys = ["structure", "instance", "page", "thread", "phase"]
    return (
        accesses.with_columns(phases.positions(accesses["phase"]))
        .group_by(keys)
        .agg(pl.col("reads", "writes").sum())
    )


def _first_touch(trace: Trace, phases: ShownPhases) -> pl.DataFrame:
    """The trace's first touches with the positions of the phases shown."""
    table = trace.first_touch
    if "phase" not in table.columns:
        return table.with_columns(phase=pl.lit(0, pl.UInt32))
    return table.with_columns(phases.positions(table["phase"]))


def _positions(ranked: pl.DataFrame) -> pl.Series:
    """By structure in the trace, its position in the report; null for those left out."""
    return (
        ranked.sort("structure")
        .select(pl.when(pl.col("position") < STRUCTURES).then("position"))
        .to_series()
    )


def _places(places: pl.DataFrame, loop: tuple[int, ...]) -> Places:
    return Places(
        function=tuple(printable(f) for f in places["function"]),
        file=tuple(printable(f) for f in places["file"]),
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


def _ranked(structures: pl.DataFrame, facts: Mapping[int, Facts]) -> pl.DataFrame:
    """The structures, most accessed first, with accesses, touched and position (0, 1, ...)."""
    counts = pl.DataFrame(
        {
            "structure": list(facts),
            "accesses": [f.accesses for f in facts.values()],
            "touched": [f.touched_pages for f in facts.values()],
        },
        schema={"structure": pl.UInt32, "accesses": pl.UInt64, "touched": pl.UInt64},
    )
    return (
        structures.join(counts, on="structure", how="left")
        .with_columns(pl.col("accesses", "touched").fill_null(0))
        .sort("accesses", "size", "structure", descending=[True, True, False])
        .with_row_index("position")
    )


def _threads(trace: Trace) -> list[dict[str, Any]]:
    """The threads in order: a thread's id is its position, which the trace's reader checks."""
    return [
        {
            "thread": row["thread"],
            "process": row["process"],
            "name": printable(row["name"] or "", 64),
            "created_ns": row["created_ns"],
            "ended_ns": row["ended_ns"],
            "cpus": list(row["cpus"] or ())[:64],
            "nodes": list(row["nodes"] or ())[:64],
        }
        for row in trace.threads.to_dicts()
    ]


def _entry(
    row: dict[str, Any], facts: Facts | None, run_accesses: int, address_offset: int
) -> StructureEntry:
    return StructureEntry(
        structure=row["structure"],
        name=printable(row["name"]),
        kind=printable(row["kind"], 32),
        size=row["size"],
        pages=row["pages"],
        instances=row["instances"],
        module=printable(row["module"]),
        function=printable(row["function"]),
        file=printable(row["file"]),
        line=row["line"],
        call_stack=tuple(printable(frame) for frame in (row["call_stack"] or ())[:64]),
        named=row["named"],
        reads=facts.reads if facts else 0,
        writes=facts.writes if facts else 0,
        threads=facts.threads if facts else 0,
        touched_pages=facts.touched_pages if facts else 0,
        pages_per_column=1,
        reading=read_structure(facts, run_accesses) if facts else _UNUSED,
        address_offset=address_offset,
    )


_UNUSED = read_structure(
    Facts(0, 0, 0, 0, 0, 0.0, 0, 0.0, 0.0, 0, None, 0.0, 0.0, 0.0, ("", "", 0)), 0
)


def _run(trace: Trace, facts: Mapping[int, Facts]) -> dict[str, Any]:
    """trace.json as it is, with what the report adds up itself."""
    run = _plain(dataclasses.asdict(trace.info))
    run["reads"] = sum(f.reads for f in facts.values())
    run["writes"] = sum(f.writes for f in facts.values())
    run["touched_pages"] = sum(f.touched_pages for f in facts.values())
    return dict(run)


def _plain(value: Any) -> Any:
    """Make ``value`` safe to show and to write as JSON."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable(str(key), 256): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, int | float | bool | None) else printable(str(value))


def _left_out(ranked: pl.DataFrame, facts: Mapping[int, Facts]) -> tuple[str, ...]:
    if len(ranked) <= STRUCTURES:
        return ()
    rest = ranked.slice(STRUCTURES)
    total = sum(f.accesses for f in facts.values())
    share = int(rest["accesses"].sum()) / total if total else 0.0
    return (
        f"{len(rest)} more structures are left out; "
        f"together they have {share:.2%} of the accesses.",
    )
