# SPDX-License-Identifier: Apache-2.0
"""Regions of addresses, with how often they were accessed, become the tables of a trace.

The threads that accessed a region are unknown. The trace has one thread, which stands for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.live.parts import Part
from numascape.samples.time_slices import MAX_SLICES, sliced_phases
from numascape.trace.format import PAGE_BYTES
from numascape.trace.schema import SCHEMAS

# Above this many rows, one page in 2, 3, ... stands for its neighbours, too.
MAX_ROWS: Final = 2_000_000
ALL_THREADS: Final = "all threads"
_KINDS: Final = {"global": "global", "heap": "heap", "stack": "stack"}
_LARGEST: Final = 1 << 31  # pages of a structure

Numbers = npt.NDArray[np.uint64]
Pages = Callable[[Part], tuple[Numbers, npt.NDArray[np.int32]]]
"""The addresses of a part's pages of 4 KiB that are in memory, ascending, and their nodes."""


def first_regions(parts: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """At most `limit` regions that hold all parts (start, end); ascending, as the parts are.

    The largest parts are regions of their own. Neighbours among the others are joined: those with
    the smallest sum of sizes and gaps first.
    """
    regions = list(parts)
    while len(regions) > limit:
        spans = [after[1] - before[0] for before, after in pairwise(regions)]
        shortest = sorted(spans)[: max(1, len(spans) // 2)][-1]
        regions = _join_neighbours(regions, shortest, len(regions) - limit)
    return regions


def _join_neighbours(
    regions: Sequence[tuple[int, int]], longest: int, count: int
) -> list[tuple[int, int]]:
    """Join up to `count` pairs of neighbours that together span at most `longest` bytes."""
    joined = [regions[0]]
    for start, end in regions[1:]:
        if count and end - joined[-1][0] <= longest:
            joined[-1] = (joined[-1][0], end)
            count -= 1
        else:
            joined.append((start, end))
    return joined


@dataclass(frozen=True)
class RegionAccesses:
    """Regions at a time after the start, ascending, and in how many checks each was accessed."""

    time_ns: int
    starts: Numbers
    ends: Numbers
    accesses: Numbers


@dataclass(frozen=True)
class _Heat:
    """Accesses by address: `counts` of the addresses from one edge to the next."""

    edges: Numbers
    counts: npt.NDArray[np.int64]

    def at(self, addresses: Numbers) -> npt.NDArray[np.int64]:
        """The accesses of the regions with these addresses."""
        found = np.searchsorted(self.edges, addresses, side="right").astype(np.int64) - 1
        inside = (found >= 0) & (found < len(self.counts))
        return np.where(inside, self.counts[np.where(inside, found, 0)], 0)

    def touches(self, part: Part) -> bool:
        """Whether a part has accessed addresses."""
        first, last = np.searchsorted(self.edges, [part.start, part.end]).tolist()
        return bool(self.counts[max(0, first - 1) : last].any())


def _heat(seen: Sequence[RegionAccesses]) -> _Heat:
    """The accesses by address, added up over all times."""
    starts, ends, accesses = (
        np.concatenate([getattr(one, name) for one in seen])
        for name in ("starts", "ends", "accesses")
    )
    edges = np.unique(np.concatenate([starts, ends]))
    change = np.zeros(len(edges), np.int64)
    np.add.at(change, np.searchsorted(edges, starts), accesses.astype(np.int64))
    np.subtract.at(change, np.searchsorted(edges, ends), accesses.astype(np.int64))
    return _Heat(edges, np.cumsum(change)[:-1])


def region_tables(
    seen: Sequence[RegionAccesses], parts: Sequence[Part], pages: Pages, slice_ns: int | None
) -> dict[str, pl.DataFrame]:
    """The tables; `parts` are those of the process, ascending; `seen` is not empty."""
    end = max(one.time_ns for one in seen)
    phases = sliced_phases(end, slice_ns)
    heats = _heats(seen, slice_ns)
    whole = _heat(seen)
    used = [part for part in parts if whole.touches(part)]
    step = _step(used, len(heats))
    structures, places = _structures(used)
    accesses, placement = [], []
    for part, (structure, instance) in zip(used, places, strict=True):
        addresses, nodes = pages(part)
        chosen = (whole.at(addresses) > 0) & (addresses // PAGE_BYTES % step == 0)
        addresses, nodes = addresses[chosen], nodes[chosen]
        page = ((addresses - np.uint64(part.start)) // PAGE_BYTES).astype(np.uint32)
        own = pl.DataFrame({"page": page, "node": nodes}).select(
            pl.lit(structure, pl.UInt32()).alias("structure"),
            pl.lit(instance, pl.UInt32()).alias("instance"),
            "page",
            "node",
        )
        placement.append(own.filter(pl.col("node") >= 0))
        for phase, heat in heats.items():
            counts = pl.Series("reads", heat.at(addresses) * step, pl.UInt64())
            rows = own.drop("node").with_columns(counts, phase=pl.lit(phase, pl.UInt32()))
            accesses.append(rows.filter(pl.col("reads") > 0))
    columns = {"thread": pl.lit(0, pl.UInt32()), "writes": pl.lit(0, pl.UInt64())}
    tables: dict[str, pl.DataFrame] = {
        "structures": structures,
        "instances": _instances(used, places),
        "accesses": phases.renumbered(_joined("accesses", accesses, columns), 0),
        "placement": _joined("placement", placement, {}),
        "threads": pl.DataFrame([_thread(end)], schema=SCHEMAS["threads"]),
        "phases": phases.phases,
        "phase_spans": phases.spans,
    }
    return {
        name: tables.get(name, pl.DataFrame(schema=schema)).select(schema.names())
        for name, schema in SCHEMAS.items()
        if name in tables or name in {"first_touch", "source_lines"}
    }


def _joined(name: str, frames: Sequence[pl.DataFrame], columns: dict[str, pl.Expr]) -> pl.DataFrame:
    schema = SCHEMAS[name]
    empty = pl.DataFrame(schema=schema)
    return pl.concat(
        [empty, *(frame.with_columns(**columns).select(schema.names()) for frame in frames)]
    )


def _heats(seen: Sequence[RegionAccesses], slice_ns: int | None) -> dict[int, _Heat]:
    """The accesses in each time slice, by the number of the slice."""
    slices: dict[int, list[RegionAccesses]] = {}
    for one in seen:
        number = 0 if slice_ns is None else min(one.time_ns // slice_ns, MAX_SLICES)
        slices.setdefault(number, []).append(one)
    return {number: _heat(own) for number, own in slices.items()}


def _step(used: Sequence[Part], slices: int) -> int:
    pages = sum(part.end - part.start for part in used) // PAGE_BYTES
    return max(1, -(-pages * slices // MAX_ROWS))


def _structures(used: Sequence[Part]) -> tuple[pl.DataFrame, list[tuple[int, int]]]:
    """The table of structures, and by part the numbers of its structure and instance."""
    groups: dict[tuple[str, str, str], list[Part]] = {}
    numbers: dict[tuple[str, str, str], int] = {}
    places = []
    for part in used:
        key = (part.name, part.kind, part.file)
        group = groups.setdefault(key, [])
        places.append((numbers.setdefault(key, len(numbers)), len(group)))
        group.append(part)
    rows = [_structure(number, group) for number, group in enumerate(groups.values())]
    return pl.DataFrame(rows, schema=SCHEMAS["structures"]), places


def _structure(number: int, group: Sequence[Part]) -> dict[str, Any]:
    part = group[0]
    size = max(one.end - one.start for one in group)
    file, _, line = part.source.rpartition(":")
    return {
        "structure": number,
        "process": 0,
        "name": part.name,
        "kind": _KINDS.get(part.kind, "mapping"),
        "size": size,
        "pages": min(size // PAGE_BYTES, _LARGEST),
        "instances": len(group),
        "module": part.file,
        "function": "",
        "file": file if line.isdecimal() else "",
        "line": int(line) if line.isdecimal() else 0,
        "call_stack": [],
        "named": True,
    }


def _instances(used: Sequence[Part], places: Sequence[tuple[int, int]]) -> pl.DataFrame:
    rows = [
        (structure, instance, part.start, part.end - part.start)
        for part, (structure, instance) in zip(used, places, strict=True)
    ]
    return pl.DataFrame(rows, schema=SCHEMAS["instances"], orient="row")


def _thread(end_ns: int) -> dict[str, Any]:
    return {
        "thread": 0,
        "process": 0,
        "os_tid": 0,
        "name": ALL_THREADS,
        "created_ns": 0,
        "ended_ns": end_ns,
        "cpus": [],
        "nodes": [],
    }
