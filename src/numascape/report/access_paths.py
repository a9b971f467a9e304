# SPDX-License-Identifier: Apache-2.0
"""Samples and first touches by the calls that led to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from numascape.analysis.page_columns import Column
from numascape.analysis.text import short_printable
from numascape.analysis.traffic import node_traffic
from numascape.report.data import AccessPaths
from numascape.trace import Trace

ROWS = 4000
"""Maximum number of rows that a report shows separately."""
CALLS = 10_000
"""Maximum number of calls in the paths of these rows."""
REST = "other call paths"
"""The path that replaces those of all other rows."""

_KEYS = ["position", "phase", "path"]
_NO_CALLER = -1


@dataclass(frozen=True)
class MeasuredPaths:
    """The paths as the page shows them, and the samples, or first touches, of the trace.

    `samples` has structure, instance, page, thread, reads, writes, and `row`: the row of `shown`.
    `places` are the files and lines of the calls, those of the most used paths first.
    """

    shown: AccessPaths
    samples: pl.DataFrame
    places: tuple[tuple[str, int], ...]


def measure_paths(
    trace: Trace, samples: pl.DataFrame, position: pl.Series, phase: pl.Series
) -> MeasuredPaths | None:
    """`samples` by structure, phase and call path; None if there are none.

    They are the trace's path_accesses, or touches_with_paths. `position` is the position of each
    structure among the shown ones, or null; `phase` are the positions of the phases of the rows.
    """
    if samples.is_empty():
        return None
    samples = samples.with_columns(
        phase,
        pl.col("path").cast(pl.Int64),
        position=position.gather(samples["structure"]),
    ).filter(pl.col("position").is_not_null())
    calls = trace.call_paths.select("caller", "function", "file", "line", "module")
    samples, calls = _with_rest(samples, calls)
    rows = _sums(samples).with_row_index("row").with_columns(pl.col("row").cast(pl.UInt32))
    used, number = _used(calls["caller"].to_list(), rows["path"].to_list())
    shown = calls[used]
    callers = (int(number[caller]) if caller >= 0 else caller for caller in shown["caller"])
    return MeasuredPaths(
        AccessPaths(
            function=tuple(short_printable(name) for name in shown["function"]),
            file=tuple(short_printable(name) for name in shown["file"]),
            line=tuple(shown["line"]),
            module=tuple(short_printable(name) for name in shown["module"]),
            caller=tuple(callers),
            position=rows["position"].to_numpy(),
            phase=rows["phase"].to_numpy(),
            path=number[rows["path"].to_numpy()],
            accesses=rows["accesses"].to_numpy(),
        ),
        samples.join(rows.select(*_KEYS, "row"), on=_KEYS).drop("position", "phase", "path"),
        _places(calls, rows["path"]),
    )


def touches_with_paths(trace: Trace) -> pl.DataFrame:
    """The first touches as rows of path_accesses with one write each; none without paths."""
    columns = trace.path_accesses.columns
    if "path" not in trace.first_touch.columns:
        return trace.path_accesses.clear()
    counts = {"reads": pl.lit(0, dtype=pl.UInt64), "writes": pl.lit(1, dtype=pl.UInt64)}
    return trace.first_touch.with_columns(**counts).select(columns)


def remote_by_path(trace: Trace, paths: MeasuredPaths | None) -> Column:
    """The remote samples of each row, for the nodes of threads and pages in `trace`."""
    if paths is None:
        return np.zeros(0, np.uint64)
    sums = node_traffic(trace, paths.samples, ["row"])
    known = (pl.col("thread_node") >= 0) & (pl.col("page_node") >= 0)
    remote = sums.filter(known & (pl.col("thread_node") != pl.col("page_node")))
    found = np.zeros(len(paths.shown.accesses), np.uint64)
    np.add.at(found, remote["row"].to_numpy(), remote["accesses"].to_numpy())
    return found


def _places(calls: pl.DataFrame, paths: pl.Series) -> tuple[tuple[str, int], ...]:
    """The lines of the calls that lead to these paths, in the order of the paths."""
    callers, lines = calls["caller"].to_list(), calls.select("file", "line").rows()
    found: dict[tuple[str, int], None] = {}
    seen: set[int] = set()
    for path in paths:
        while path >= 0 and path not in seen:
            seen.add(path)
            found.setdefault(lines[path])
            path = callers[path]
    return tuple((file, line) for file, line in found if file and line)


def _sums(samples: pl.DataFrame) -> pl.DataFrame:
    """The columns of _KEYS, and accesses: the most used rows first."""
    return (
        samples.group_by(_KEYS)
        .agg(accesses=(pl.col("reads") + pl.col("writes")).sum())
        .sort("accesses", *_KEYS, descending=[True, False, False, False])
    )


def _with_rest(samples: pl.DataFrame, calls: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The samples and calls; the rows beyond ROWS, or beyond CALLS, have the path REST."""
    rows = _sums(samples)
    rest = rows.slice(_fitting(calls["caller"].to_list(), rows["path"].head(ROWS).to_list()))
    if rest.is_empty():
        return samples, calls
    of_rest = pl.DataFrame([(_NO_CALLER, REST, "", 0, "")], schema=calls.schema, orient="row")
    path = pl.when(pl.col("accesses").is_not_null()).then(calls.height).otherwise(pl.col("path"))
    renamed = samples.join(rest, on=_KEYS, how="left").with_columns(path=path.cast(pl.Int64))
    return renamed.drop("accesses"), pl.concat([calls, of_rest])


def _fitting(callers: list[int], paths: list[int]) -> int:
    """How many of the paths have at most CALLS calls together."""
    used: set[int] = set()
    for fitting, path in enumerate(paths):
        at = path
        while at >= 0 and at not in used:
            used.add(at)
            at = callers[at]
        if len(used) > CALLS:
            return fitting
    return len(paths)


def _used(callers: list[int], paths: list[int]) -> tuple[list[int], Column]:
    """The calls that lead to these paths, in their order, and the new number of each call."""
    is_used = np.zeros(len(callers), bool)
    is_used[paths] = True
    for path in range(len(callers) - 1, -1, -1):  # callers are in earlier rows
        if is_used[path] and callers[path] >= 0:
            is_used[callers[path]] = True
    # The numbers of unused calls have no meaning.
    number = (np.cumsum(is_used) - is_used).astype(np.uint32)
    return np.flatnonzero(is_used).tolist(), number
