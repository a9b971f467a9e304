# SPDX-License-Identifier: Apache-2.0
"""Checks a trace's tables, which are not trusted.

Each check raises NumascapeError with the first error; `where` names the table for the message. The
checks examine every row, because later code uses ids as indices without checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import polars as pl

from numascape.errors import NumascapeError
from numascape.trace.info import TraceInfo
from numascape.trace.schema import KINDS, NUMBERED, OPTIONAL_COLUMNS, SCHEMAS


def check_schema(table: str, schema: Mapping[str, pl.DataType], where: str) -> None:
    """Check that all columns exist with their types; of the optional columns all or none."""
    optional = OPTIONAL_COLUMNS.get(table, {})
    present = optional if optional.keys() & schema.keys() else {}
    for column, expected in {**SCHEMAS[table], **present}.items():
        if column not in schema:
            raise NumascapeError(f"{where} is damaged: it has no column {column}")
        if schema[column] != expected:
            raise NumascapeError(
                f"{where} is damaged: its column {column} is {schema[column]}, not {expected}"
            )


def check_values(table: str, frame: pl.DataFrame, where: str) -> None:
    """Check that no value is missing, and that the ids of a numbered table are its row numbers."""
    columns = [*SCHEMAS[table], *(OPTIONAL_COLUMNS.get(table, {}).keys() & set(frame.columns))]
    missing = frame.select(pl.col(columns).null_count()).row(0)
    for column, count in zip(columns, missing, strict=True):
        if count:
            raise NumascapeError(f"{where} is damaged: {count} values of {column} are missing")
    for column, dtype in SCHEMAS[table].items():
        if isinstance(dtype, pl.List):
            items = frame.get_column(column).list
            if (items.len() != items.drop_nulls().list.len()).any():
                raise NumascapeError(f"{where} is damaged: values in lists of {column} are missing")
    if table in NUMBERED:
        ids = frame.get_column(NUMBERED[table])
        if not (ids == pl.int_range(frame.height, dtype=pl.UInt32, eager=True)).all():
            raise NumascapeError(
                f"{where} is damaged: its column {ids.name} does not number the rows 0, 1, 2, ..."
            )


def check_structures(structures: pl.DataFrame, info: TraceInfo, where: str) -> None:
    """Check that kinds are known and processes are in trace.json."""
    unknown = structures.filter(~pl.col("kind").is_in(KINDS))
    if unknown.height:
        kind = unknown.item(0, "kind")
        raise NumascapeError(f"{where} is damaged: a structure's kind is {kind[:40]!r}")
    _check_processes(structures, info, where)


def check_threads(threads: pl.DataFrame, info: TraceInfo, where: str) -> None:
    """Check that processes are in trace.json and no thread ends before it is created."""
    _check_processes(threads, info, where)
    if threads.filter(pl.col("ended_ns") < pl.col("created_ns")).height:
        raise NumascapeError(f"{where} is damaged: a thread ends before it is created")


def check_ids(frame: pl.DataFrame, where: str, **bounds: int) -> None:
    """Check that the ids in each named column are below its bound."""
    if not frame.is_empty():
        for column, bound in bounds.items():
            _check_below(frame, column, bound, where)


def check_spans(spans: pl.DataFrame, phases: pl.DataFrame, where: str) -> None:
    """Check that each span's phase exists and that no span ends before it begins."""
    check_ids(spans, where, phase=phases.height)
    if spans.filter(pl.col("end_ns") < pl.col("start_ns")).height:
        raise NumascapeError(f"{where} is damaged: a span of a phase ends before it begins")


def check_call_paths(paths: pl.DataFrame, where: str) -> None:
    """Check that the caller of each path is an earlier row, or none."""
    caller = pl.col("caller")
    if paths.filter((caller < -1) | (caller >= pl.col("path"))).height:
        raise NumascapeError(f"{where} is damaged: the caller of a path is no earlier row")


def check_transfers(frame: pl.DataFrame, threads: int, page_lines: int, where: str) -> None:
    """Check that threads and cache lines exist, and that parts are not larger than their whole."""
    check_ids(frame, where, from_thread=threads)
    check_cache_lines(frame, page_lines, where)
    sums = [pl.col(name) for name in ("transfers", "travelling", "judged", "true_sharing")]
    if frame.filter(pl.any_horizontal(b > a for a, b in pairwise(sums))).height:
        raise NumascapeError(
            f"{where} is damaged: a part of its transfers is larger than their sum"
        )


def check_cache_lines(frame: pl.DataFrame, page_lines: int, where: str) -> None:
    """Check that pages have these cache lines; -1 stands for several or unknown ones."""
    line = pl.col("cache_line")
    if frame.filter((line < -1) | (line >= page_lines)).height:
        raise NumascapeError(f"{where} is damaged: a page has only {page_lines} cache lines")


def check_instances(frame: pl.DataFrame, structures: pl.DataFrame, where: str) -> None:
    """Check that each row's instance exists and has no other row."""
    check_ids(frame, where, structure=structures.height)
    known = structures["instances"].gather(frame["structure"])
    beyond = frame.filter(frame["instance"] >= known)
    if beyond.height:
        row = beyond.row(0, named=True)
        raise NumascapeError(
            f"{where} is damaged: structure {row['structure']} has no instance {row['instance']}"
        )
    if frame.select(pl.struct("structure", "instance").is_duplicated().any()).item():
        raise NumascapeError(f"{where} is damaged: it has two rows for one instance")


def check_pages(
    frame: pl.DataFrame,
    structures: pl.DataFrame,
    where: str,
    threads: int | None = None,
    phases: int | None = None,
) -> None:
    """Check that each row's structure, instance, page, thread and phase exist."""
    if frame.is_empty():
        return
    _check_below(frame, "structure", structures.height, where)
    if threads is not None:
        _check_below(frame, "thread", threads, where)
    if phases is not None:
        _check_below(frame, "phase", phases, where)
    # Only the largest instance and page of each structure must be compared.
    ranges = (
        frame.lazy()
        .group_by("structure")
        .agg(pl.col("instance").max(), pl.col("page").max())
        .join(structures.lazy().select("structure", "instances", "pages"), on="structure")
        .filter((pl.col("instance") >= pl.col("instances")) | (pl.col("page") >= pl.col("pages")))
        .sort("structure")
        .collect()
    )
    if ranges.height:
        row = ranges.row(0, named=True)
        raise NumascapeError(
            f"{where} is damaged: structure {row['structure']} has {row['instances']} instances of "
            f"{row['pages']} pages, and a row names instance {row['instance']}, page {row['page']}"
        )


def _check_processes(frame: pl.DataFrame, info: TraceInfo, where: str) -> None:
    known = [process.process for process in info.processes]
    unknown = set(frame.get_column("process").unique()) - set(known)
    if unknown:
        raise NumascapeError(
            f"{where} is damaged: it names process {min(unknown)}, which trace.json does not list"
        )


def _check_below(frame: pl.DataFrame, column: str, bound: int, where: str) -> None:
    largest = frame.select(pl.col(column).max()).item()
    if largest >= bound:
        raise NumascapeError(
            f"{where} is damaged: it names {column} {largest}, but there are only {bound}"
        )
