# SPDX-License-Identifier: Apache-2.0
"""Accesses over the time of a run.

A trace has one sum for each phase, so within a phase the rate is its mean over all repetitions. If
phases of several processes run at the same time, their rates are added up.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from numascape.analysis.traffic import node_traffic
from numascape.trace import Trace
from numascape.trace.counting import MEMORY_LINES, has_memory_lines


@dataclass(frozen=True)
class Rate:
    """A quantity over time: times in nanoseconds, each with the value from then on."""

    name: str
    unit: str
    values: list[tuple[int, float]]


def rates_over_time(trace: Trace) -> list[Rate]:
    """What the trace counted per second, and the remote share if it is known."""
    if trace.accesses.is_empty():
        return []
    rates = _summed(_rates_of_phases(trace))
    noun = "samples" if trace.info.recorder.counts == "samples" else "accesses"
    found = [Rate(f"{noun} per second", noun, _values(rates, pl.col("accesses")))]
    if has_memory_lines(trace.accesses):
        lines = pl.col("lines")
        found.append(Rate("lines from and to memory per second", "lines", _values(rates, lines)))
    if len(trace.info.machine.nodes) > 1 and rates["known"].max():
        share = pl.when(pl.col("known") > 0).then(pl.col("remote") / pl.col("known")).otherwise(0.0)
        values = _values(rates, share.clip(0, 1) * 100)
        found.append(Rate(f"remote {noun}, in percent of all", "percent", values))
    return found


def _rates_of_phases(trace: Trace) -> pl.DataFrame:
    """The spans of each phase (start_ns, end_ns), without overlaps, with rates per second."""
    spans = trace.phase_spans if trace.phase_spans.height else trace.phases
    spans = _joined(spans.select("phase", "start_ns", "end_ns"))
    took = spans.group_by("phase").agg(took=(pl.col("end_ns") - pl.col("start_ns")).sum())
    lines = MEMORY_LINES if has_memory_lines(trace.accesses) else ()
    sums = trace.accesses.group_by("phase").agg(
        accesses=pl.sum("reads").cast(pl.Float64) + pl.sum("writes"),
        lines=pl.sum_horizontal(pl.lit(0.0), *(pl.sum(column) for column in lines)),
    )
    nodes = node_traffic(trace, trace.accesses, ["phase"]).filter(
        pl.min_horizontal("thread_node", "page_node") >= 0
    )
    remote = pl.col("thread_node") != pl.col("page_node")
    split = nodes.group_by("phase").agg(
        known=pl.sum("accesses"), remote=pl.col("accesses").filter(remote).sum()
    )
    counted = sums.join(split, on="phase", how="left").join(took, on="phase")
    quantities = ("accesses", "lines", "known", "remote")
    per_second = counted.select(
        "phase", *(pl.col(one).fill_null(0) * 1e9 / pl.col("took") for one in quantities)
    )
    return spans.join(per_second, on="phase")


def _joined(spans: pl.DataFrame) -> pl.DataFrame:
    """The spans of each phase; those that overlap, because processes run it together, are one."""
    ends_before = pl.col("end_ns").cum_max().shift(1).over("phase")
    return (
        spans.filter(pl.col("end_ns") > pl.col("start_ns"))
        .sort("phase", "start_ns")
        .with_columns(begins=(pl.col("start_ns") > ends_before).fill_null(value=True))
        .with_columns(span=pl.col("begins").cum_sum().over("phase"))
        .group_by("phase", "span")
        .agg(pl.min("start_ns"), pl.max("end_ns"))
    )


def _summed(spans: pl.DataFrame) -> pl.DataFrame:
    """The sum of the rates of all phases that run, from each start and end on."""
    quantities = pl.col("accesses", "lines", "known", "remote")
    starts = spans.select(quantities, at="start_ns")
    ends = spans.select(-quantities, at="end_ns")
    changes = pl.concat([starts, ends]).group_by("at").agg(quantities.sum()).sort("at")
    # Rounded: what is added and later subtracted leaves no rest.
    return changes.with_columns(quantities.cum_sum().round(0))


def _values(rates: pl.DataFrame, value: pl.Expr) -> list[tuple[int, float]]:
    changed = rates.select("at", value=value.round(2)).filter(
        (pl.col("value") != pl.col("value").shift(1)).fill_null(value=True)
    )
    return [(at, number) for at, number in changed.iter_rows()]
