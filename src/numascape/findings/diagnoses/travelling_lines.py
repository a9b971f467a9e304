# SPDX-License-Identifier: Apache-2.0
"""Cache lines travel between threads: true sharing of bytes, or false sharing of lines."""

from __future__ import annotations

from collections.abc import Set

import polars as pl

from numascape.analysis.line_transfers import (
    LineSums,
    PartsOfLines,
    between_places,
    by_structure,
    line_sums,
    parts_of_lines,
)
from numascape.analysis.ownership import Owner
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind, Place
from numascape.findings.line_cost import gain_without
from numascape.findings.subject import Run
from numascape.findings.thresholds import (
    MIN_FALSE_SHARING,
    MIN_JUDGED,
    MIN_TRANSFERS,
    MIN_TRANSFERS_PER_ACCESS,
    sureness,
)
from numascape.quantities import counted, percent, share_of
from numascape.trace.format import LINE_BYTES


def diagnose(run: Run, divided: Set[int | None]) -> list[Finding]:
    """The findings about structures of the program, at most one for each.

    Another finding says that pages of the structures `divided` hold parts of several threads. If
    threads meet in lines only at the borders of long parts, that finding is enough.
    """
    found = []
    least = max(MIN_TRANSFERS, MIN_TRANSFERS_PER_ACCESS * run.accesses)
    travelling = run.trace.transfers.filter(pl.col("travelling") > 0)
    for structure, rows in by_structure(travelling):
        sums = line_sums(rows)
        enough = sums.travelling >= least and sums.judged >= MIN_JUDGED
        if enough and run.owners[structure] is Owner.PROGRAM:
            finding = _finding(run, structure, rows, sums, at_borders=structure not in divided)
            found += [finding] if finding else []
    return found


def _finding(
    run: Run, structure: int, rows: pl.DataFrame, sums: LineSums, *, at_borders: bool
) -> Finding | None:
    parts = parts_of_lines(rows)
    false = sums.false_sharing >= MIN_FALSE_SHARING
    per_access = share_of(sums.travelling, run.accesses)
    if false and not at_borders and (parts is None or not parts.step):
        return None
    sides = _sides(rows, false=false)
    gain = gain_without(run, rows)
    fixes = separate(parts) if false else share_less()
    distance = abs(sums.false_sharing - MIN_FALSE_SHARING)
    return Finding(
        kind=Kind.LINE_FALSE_SHARING if false else Kind.LINE_TRUE_SHARING,
        structure=structure,
        name=str(run.trace.structures.item(structure, "name")),
        threads=tuple(sorted({*rows["thread"].to_list(), *rows["from_thread"].to_list()})),
        why=_why(sums, sides, parts if false else None),
        fixes=(Fix(fixes[0], gain=gain), *(Fix(text) for text in fixes[1:])),
        evidence=(
            Evidence("lines taken from a thread that had written them", sums.travelling, "count"),
            Evidence("of these, with no byte in common", sums.false_sharing, "share"),
            Evidence("taken lines per access of the run", per_access, "share"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(distance, 0.0, 0.4),
        place=sides[0] if sides else None,
        nearer=round(sums.travelling * (sums.false_sharing if false else 1)),
    )


def _sides(rows: pl.DataFrame, *, false: bool) -> tuple[Place, Place] | None:
    """The source lines that take a line and that wrote it, of most of the transfers."""
    kind = pl.col("judged") > pl.col("true_sharing") if false else pl.col("true_sharing") > 0
    for row in between_places(rows.filter(kind)).iter_rows(named=True):
        taker = Place(row["function"], row["file"], row["line"])
        writer = Place(row["from_function"], row["from_file"], row["from_line"])
        if str(taker) and str(writer):
            return taker, writer
    return None


def _why(sums: LineSums, sides: tuple[Place, Place] | None, parts: PartsOfLines | None) -> str:
    times = counted(sums.travelling, "time")
    sentence = f"{times}, a thread took a cache line that another thread had just written. "
    if parts is not None or sums.false_sharing >= MIN_FALSE_SHARING:
        sentence += (
            f"In {percent(sums.false_sharing)} of these cases, the two threads used different "
            "bytes of the line, so they share no data."
        )
    else:
        share = percent(1 - sums.false_sharing)
        sentence += f"In {share} of these cases, the two threads used the same bytes."
    if sides is not None:
        taker, writer = sides
        same = str(taker) == str(writer)
        wrote = "had also written it" if same else f"{writer} had written it"
        sentence += f" Most often, {taker} took the line, and {wrote}."
    if parts is not None and parts.step:
        sentence += (
            f" {parts.users} threads use one line of {LINE_BYTES} bytes. Each of them uses "
            f"{counted(parts.part, 'byte')} of it; the distance between their parts is "
            f"{counted(parts.step, 'byte')}."
        )
    return sentence


def separate(parts: PartsOfLines | None) -> tuple[str, ...]:
    """How to put the parts of threads on lines of their own."""
    local = "Or let each thread count in a local variable and write its result once, at the end."
    if parts is None or not parts.step:
        return (
            f"Start each thread's part at a multiple of {LINE_BYTES} bytes: align the allocation "
            f"to {LINE_BYTES} bytes (`aligned_alloc({LINE_BYTES}, ...)`) and round each part up to "
            f"a multiple of {LINE_BYTES} bytes.",
        )
    return (
        f"Pad each thread's element from {parts.step} to {LINE_BYTES} bytes, so that it has its "
        f"own cache line: `alignas({LINE_BYTES})` before the members of its type, or an array of "
        f"elements of {LINE_BYTES} bytes that is aligned to {LINE_BYTES} bytes.",
        local,
    )


def share_less() -> tuple[str, ...]:
    """How threads that use the same bytes take their lines from each other less often."""
    return (
        "Let each thread work on a copy of its own, and combine the copies rarely. For sums and "
        "counters, use a reduction. For a queue or a lock, use one per node, or let a thread take "
        "larger pieces of work at a time.",
        "Put the threads that share it on one node: its lines then travel only within this node.",
    )
