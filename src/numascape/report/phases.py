# SPDX-License-Identifier: Apache-2.0
"""Chooses the phases that a report shows, and when they ran.

A page shows at most PHASES phases, or fewer if there is no room. Beyond that, neighbouring time
slices are merged, and the least used of other phases are merged into one called "other phases".
Sums never change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from numascape.analysis.page_columns import Column
from numascape.analysis.text import short_printable
from numascape.quantities import share_text
from numascape.report.data import Phase, Spans
from numascape.trace import Trace
from numascape.trace.phase import is_time_slice

PHASES = 64
SPANS = 4000
"""Maximum number of shown spans; a time line is at most this many pixels wide."""

_BESIDE_SLICES = 3
"""Number of phases other than time slices that are kept if time slices are merged."""
_DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class ShownPhases:
    """The phases of a report; ``of[p]`` is the position of the trace's phase p in it."""

    phases: tuple[Phase, ...]
    of: Column
    folded: tuple[str, ...]

    def positions(self, phase: pl.Series) -> pl.Series:
        """The positions of a column of the trace's phases."""
        return pl.Series("phase", self.of).gather(phase)


def shown_phases(trace: Trace, most: int = PHASES) -> ShownPhases:
    """Choose the phases that are shown, at most `most`; see the module."""
    counts = trace.accesses.group_by("phase").agg(pl.col("reads", "writes").sum())
    rows = (
        trace.phases.join(counts, on="phase", how="left")
        .with_columns(pl.col("reads", "writes").fill_null(0))
        .sort("phase")
        .to_dicts()
    )
    if len(rows) <= most:
        groups = [[row] for row in rows]
        return _shown(groups, [_of_one(row) for row in rows], ())
    slices = [row for row in rows if is_time_slice(row["name"], row["file"])]
    others = [row for row in rows if not is_time_slice(row["name"], row["file"])]
    if most == 1:
        return _shown([rows], [("run", "", 0)], (f"The {len(rows)} phases are shown as one.",))
    if most > _BESIDE_SLICES and len(slices) > len(rows) // 2:
        return _slices_merged(slices, others, most)
    return _least_used_merged(rows, most)


def _slices_merged(
    slices: list[dict[str, Any]], others: list[dict[str, Any]], most: int
) -> ShownPhases:
    others.sort(key=lambda row: (-row["reads"] - row["writes"], row["phase"]))
    beside = sorted(others[:_BESIDE_SLICES], key=lambda row: int(row["phase"]))
    kept = [[row] for row in beside]
    rest = others[_BESIDE_SLICES:]
    slices.sort(key=lambda row: (row["start_ns"], row["phase"]))
    room = most - len(kept) - bool(rest)
    size = -(-len(slices) // room)
    merged = [slices[i : i + size] for i in range(0, len(slices), size)]
    names = [_of_one(group[0]) for group in kept]
    names += [(f"{_DASH.join(_ends(group))} s", "", 0) for group in merged]
    groups = kept + merged
    if rest:
        groups.append(rest)
        names.append(("other phases", "", 0))
    sentence = f"{len(slices)} time slices are shown as {len(merged)}, {size} in one."
    return _shown(groups, names, (sentence,))


def _ends(group: list[dict[str, Any]]) -> tuple[str, str]:
    first, last = str(group[0]["name"]), str(group[-1]["name"])
    return first.partition(_DASH)[0], last.partition(_DASH)[2].removesuffix(" s")


def _least_used_merged(rows: list[dict[str, Any]], most: int) -> ShownPhases:
    ranked = sorted(rows, key=lambda row: (-row["reads"] - row["writes"], row["phase"]))
    kept = sorted(ranked[: most - 1], key=lambda row: int(row["phase"]))
    rest = ranked[most - 1 :]
    total = sum(row["reads"] + row["writes"] for row in rows)
    share = sum(row["reads"] + row["writes"] for row in rest) / total if total else 0.0
    sentence = (
        f"The {len(rest)} least used phases are shown as one, named other phases; "
        f"together they have {share_text(share)} of the accesses."
    )
    groups = [[row] for row in kept] + [rest]
    names = [_of_one(row) for row in kept] + [("other phases", "", 0)]
    return _shown(groups, names, (sentence,))


def _of_one(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["name"], row["file"], row["line"]


def _shown(
    groups: list[list[dict[str, Any]]],
    names: list[tuple[str, str, int]],
    folded: tuple[str, ...],
) -> ShownPhases:
    of = np.zeros(sum(map(len, groups)), np.uint32)
    phases = []
    for position, (group, (name, file, line)) in enumerate(zip(groups, names, strict=True)):
        of[[row["phase"] for row in group]] = position
        phases.append(
            Phase(
                name=short_printable(name, 1000),
                file=short_printable(file),
                line=line,
                start_ns=min(row["start_ns"] for row in group),
                end_ns=max(row["end_ns"] for row in group),
                repetitions=sum(row["repetitions"] for row in group),
                reads=sum(row["reads"] for row in group),
                writes=sum(row["writes"] for row in group),
            )
        )
    return ShownPhases(tuple(phases), of, folded)


def shown_spans(trace: Trace, shown: ShownPhases) -> Spans:
    """When the shown phases ran; without recorded spans, from the first start to the last end."""
    spans = trace.phase_spans
    if spans.is_empty():
        spans = trace.phases.select("phase", "start_ns", "end_ns")
    table = pl.DataFrame(
        {
            "phase": shown.positions(spans["phase"]),
            "start": spans["start_ns"] // 1000,
            "end": (spans["end_ns"] + 999) // 1000,
        }
    ).sort("start", "end", "phase")
    table = _joined(table if table.height <= SPANS else _sampled(table))
    return Spans(*(table[name].to_numpy() for name in ("phase", "start", "end")))


def _sampled(spans: pl.DataFrame) -> pl.DataFrame:
    """The phase that took most of the time in each of SPANS equal parts of the time."""
    begin, end = int(spans["start"].min()), int(spans["end"].max())  # type: ignore[arg-type]
    width = max(1, -(-(end - begin) // SPANS))
    first = (pl.col("start") - begin) // width
    last = (pl.col("end") - begin - 1).clip(lower_bound=0) // width
    part = begin + pl.col("part") * width
    return (
        spans.filter(pl.col("end") > pl.col("start"))
        .with_columns(part=pl.int_ranges(first.cast(pl.Int64), last.cast(pl.Int64) + 1))
        .explode("part")
        .with_columns(
            pl.max_horizontal("start", part.cast(pl.UInt64)).alias("start"),
            pl.min_horizontal("end", (part + width).cast(pl.UInt64)).alias("end"),
        )
        .group_by("part", "phase")
        .agg(
            pl.col("start").min(),
            pl.col("end").max(),
            took=(pl.col("end") - pl.col("start")).sum(),
        )
        .sort("part", "took", "phase", descending=[False, True, False])
        .group_by("part", maintain_order=True)
        .agg(pl.col("phase").first(), pl.col("start").min(), pl.col("end").max())
        .select("phase", "start", "end")
    )


def _joined(spans: pl.DataFrame) -> pl.DataFrame:
    """Merge successive spans of the same phase."""
    fresh = (pl.col("phase") != pl.col("phase").shift(1)) | (
        pl.col("start") > pl.col("end").shift(1)
    )
    return (
        spans.group_by(fresh.fill_null(value=True).cum_sum().alias("run"), maintain_order=True)
        .agg(pl.col("phase").first(), pl.col("start").min(), pl.col("end").max())
        .drop("run")
    )
