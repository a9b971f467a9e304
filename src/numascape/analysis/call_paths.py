# SPDX-License-Identifier: Apache-2.0
"""The calls that led to sampled accesses and to first touches, as text and as sums."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from numascape.trace import Trace


def texts_of_calls(trace: Trace) -> list[str]:
    """Each row of `call_paths` as text: `function (file:line)`."""
    columns = trace.call_paths.select("function", "file", "line", "module", "caller")
    return [_text(*row) for row in columns.iter_rows()]


def _text(function: str, file: str, line: int, module: str, caller: int) -> str:
    if not function and not module and caller < 0:
        return "unknown callers"
    name = function or (f"code in {module}" if module else "unknown function")
    if file:
        return f"{name} ({file}:{line})" if line else f"{name} ({file})"
    return f"{name} ({module})" if function and module else name


def calls_to(trace: Trace, paths: Iterable[int]) -> list[list[int]]:
    """For each of these rows of `call_paths`: the calls that led to it, and itself, in order."""
    callers = trace.call_paths["caller"].to_list()
    found = []
    for path in paths:
        at, calls = path, []
        while at >= 0:
            calls.append(at)
            at = callers[at]
        found.append(calls[::-1])
    return found


def touches_by_path(trace: Trace, chosen: pl.Expr) -> pl.DataFrame:
    """path, pages: the first touches of the chosen rows, most first; none if paths are unknown."""
    touched = trace.first_touch
    if "path" not in touched.columns:
        return pl.DataFrame(schema={"path": pl.UInt32, "pages": pl.UInt32})
    pages = touched.filter(chosen).group_by("path").agg(pages=pl.len())
    return pages.sort("pages", "path", descending=[True, False])


def accesses_by_path(trace: Trace, chosen: pl.Expr) -> pl.DataFrame:
    """path, accesses: the sampled accesses of the chosen rows, most first."""
    return (
        trace.path_accesses.filter(chosen)
        .group_by("path")
        .agg(accesses=(pl.col("reads") + pl.col("writes")).sum())
        .sort("accesses", "path", descending=[True, False])
    )
