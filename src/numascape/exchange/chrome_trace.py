# SPDX-License-Identifier: Apache-2.0
"""Threads, phases, accesses and first touches over time, for Perfetto and the Firefox Profiler.

Both read Chrome's "Trace Event Format" (JSON): times are in microseconds.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from numascape.exchange.rates import rates_over_time
from numascape.terminal import printable
from numascape.trace import Trace

_STEPS = 1000
"""The number of steps into which the run is divided for counters."""


def chrome_trace(trace: Trace) -> dict[str, Any]:
    """The events of a run: a bar for each thread's life, for each span of a phase, and counters.

    The counters show accesses and memory lines per second, the remote share of the accesses, and
    the pages touched first so far, by the thread that touched them.
    """
    events = [
        *(event for of in (_processes, _threads, _phases) for event in of(trace)),
        *_rates(trace),
        *_first_touches(trace),
    ]
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _processes(trace: Trace) -> list[dict[str, Any]]:
    return [
        {
            "ph": "M",
            "name": "process_name",
            "pid": process.pid,
            "args": {"name": printable(process.program)},
        }
        for process in trace.info.processes
    ]


def _pids(trace: Trace) -> dict[int, int]:
    return {process.process: process.pid for process in trace.info.processes}


def _threads(trace: Trace) -> list[dict[str, Any]]:
    pids = _pids(trace)
    work = {
        thread: (reads, writes)
        for thread, reads, writes in trace.accesses.group_by("thread")
        .agg(pl.sum("reads", "writes"))
        .iter_rows()
    }
    events: list[dict[str, Any]] = []
    for row in trace.threads.iter_rows(named=True):
        at = {"pid": pids.get(row["process"], 0), "tid": row["os_tid"]}
        reads, writes = work.get(row["thread"], (0, 0))
        name = f"thread {row['thread']} {printable(row['name'])}".rstrip()
        events += [
            {"ph": "M", "name": "thread_name", **at, "args": {"name": name}},
            {
                "ph": "X",
                "name": name,
                "cat": "thread",
                **at,
                "ts": row["created_ns"] / 1e3,
                "dur": max(0, row["ended_ns"] - row["created_ns"]) / 1e3,
                "args": {"reads": reads, "writes": writes, "CPUs": row["cpus"]},
            },
        ]
    return events


def _phases(trace: Trace) -> list[dict[str, Any]]:
    """Spans on a track of their own, below the first process."""
    pid = trace.info.processes[0].pid if trace.info.processes else 0
    names = dict(trace.phases.select("phase", "name").iter_rows())
    spans = trace.phase_spans if trace.phase_spans.height else trace.phases
    track = {"ph": "M", "name": "thread_name", "pid": pid, "tid": 0, "args": {"name": "phases"}}
    return [
        track,
        *(
            {
                "ph": "X",
                "name": printable(names.get(phase, str(phase))),
                "cat": "phase",
                "pid": pid,
                "tid": 0,
                "ts": start / 1e3,
                "dur": max(0, end - start) / 1e3,
            }
            for phase, start, end in spans.select("phase", "start_ns", "end_ns").iter_rows()
        ),
    ]


def _rates(trace: Trace) -> list[dict[str, Any]]:
    """Counters of the whole run: a value wherever a phase starts or ends."""
    pid = trace.info.processes[0].pid if trace.info.processes else 0
    return [
        {"ph": "C", "name": rate.name, "pid": pid, "ts": at / 1e3, "args": {rate.unit: value}}
        for rate in rates_over_time(trace)
        for at, value in rate.values
    ]


def _first_touches(trace: Trace) -> list[dict[str, Any]]:
    """Counters: a value wherever pages were touched in a step of time."""
    pid = trace.info.processes[0].pid if trace.info.processes else 0
    end: int = trace.first_touch.select(pl.max("time_ns").fill_null(0)).item()
    step = max(1, end // _STEPS)
    touched = (
        trace.first_touch.group_by("thread", at=pl.col("time_ns") // step)
        .agg(pages=pl.len())
        .sort("thread", "at")
        .with_columns(so_far=pl.col("pages").cum_sum().over("thread"))
    )
    return [
        {
            "ph": "C",
            "name": f"pages touched first by thread {thread}",
            "pid": pid,
            "ts": (at + 1) * step / 1e3,
            "args": {"pages": so_far},
        }
        for thread, at, so_far in touched.select("thread", "at", "so_far").iter_rows()
    ]
