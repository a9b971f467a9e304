# SPDX-License-Identifier: Apache-2.0
"""A run as sentences: what ran, where, how long, and what was recorded."""

from __future__ import annotations

import shlex

import polars as pl

from numascape.analysis.name_shares import NameShares, name_shares
from numascape.quantities import count_text, counted, share_text
from numascape.trace.counting import (
    counted_share,
    only_touches,
    run_error,
    samples_are_faults,
    sampling_error,
)
from numascape.trace.info import Times, Totals, TraceInfo
from numascape.trace.phase import TraceOfPhase
from numascape.trace.trace import Trace

_SHORT_S = 0.01
"""A shorter time would be 0.00 s, or nearly so, with two digits after the point."""
_NEAR = 0.05
"""A cost that is this much higher than asked was still held: it is estimated."""
_PAGE = ["structure", "instance", "page"]


def describe_run(trace: Trace) -> list[str]:
    """One sentence per line: the program, the host, the time, the counts, the limitations."""
    info = trace.info
    names = name_shares(trace)
    command = shlex.join([info.program, *info.arguments])
    lines = [
        f"{trace.path.name}: {command if len(command) <= 200 else command[:197] + '...'}",
        f"started {info.started} on {info.host.name} ({counted(info.host.cpus, 'CPU')}, "
        f"{counted(info.host.nodes, 'node')}{_describe_huge_pages(info)}), ran "
        f"{_describe_times(info)}under the "
        f"{info.recorder.name} recorder, {_describe_end(info.exit_status)}",
        _describe_counts(trace, names),
        *_describe_held_cost(trace),
        *names.advice,
    ]
    return lines + [f"not seen: {sentence}" for sentence in info.unseen]


def _describe_huge_pages(info: TraceInfo) -> str:
    mode = info.host.huge_pages
    return f", transparent huge pages: {mode}" if mode else ""


def _describe_times(info: TraceInfo) -> str:
    times = info.times
    if times.wall_s == 0:
        return ""  # the time is unknown
    cpu = "" if times.cpu_s is None else f" ({times.cpu_s:.2f} s of CPU{_describe_cost(times)})"
    return f"{times.wall_s:.2f} s{cpu} "


def _describe_end(exit_status: int | None) -> str:
    return "its end was not seen" if exit_status is None else f"exit status {exit_status}"


def _describe_cost(times: Times) -> str:
    if times.cpu_s is None or not times.native_cpu_s:
        return ""
    native = times.native_cpu_s
    digits = ".2f" if native >= _SHORT_S else ".1g"
    return f", {times.cpu_s / native:.1f} times the {native:{digits}} s without"


def _describe_held_cost(trace: Trace) -> list[str]:
    """The cost of a recording whose share of the work changed to hold one."""
    times, recorder = trace.info.times, trace.info.recorder
    asked, native = recorder.options.get("cost"), times.estimated_native_cpu_s
    if not isinstance(asked, float) or times.cpu_s is None or not native:
        return []
    cost = times.cpu_s / native
    line = f"cost: about {cost:.2f} times the CPU time without recording (asked: {asked:g})"
    if cost <= asked + _NEAR:
        return [line]
    return [
        f"{line}; the start and other work of the recorder took more than this, so the share of "
        "the work that was counted became small: a longer run costs less"
    ]


def _totals(trace: Trace) -> Totals:
    """The sums over the run, or over the phase of it that `trace` is."""
    if not isinstance(trace, TraceOfPhase):
        return trace.info.totals
    used = trace.first_touch if only_touches(trace) else trace.accesses
    pages, threads = used.select(_PAGE).n_unique(), used["thread"].n_unique()
    reads, writes = trace.accesses.select(pl.col("reads", "writes").sum()).row(0)
    return Totals(reads, writes, pages, threads)


def _describe_counts(trace: Trace, names: NameShares) -> str:
    sentence = _describe_totals(trace, _totals(trace), names)
    return f"in this phase: {sentence}" if isinstance(trace, TraceOfPhase) else sentence


def _describe_totals(trace: Trace, totals: Totals, names: NameShares) -> str:
    recorder = trace.info.recorder
    threads, pages = counted(totals.threads, "thread"), counted(totals.pages, "page")
    if recorder.counts == "first touches":
        return f"{threads} touched {pages} first, {names.text()}; later accesses are not recorded"
    if samples_are_faults(recorder):
        return (
            f"{counted(totals.reads + totals.writes, 'page fault')} by {threads} on {pages}, "
            f"{names.text()}; a page fault is the first access to a page, or a later one for which "
            "the kernel must act: these are not shares of the accesses"
        )
    if recorder.counts == "samples":
        samples = totals.reads + totals.writes
        who = f" by {threads}" if recorder.by_thread else ""
        return (
            f"{counted(samples, 'sample')} of accesses{who}, {names.text()}; "
            "shares are estimates, within "
            f"{share_text(sampling_error(recorder, samples))} of the run's; "
            f"it is known that {pages} were used"
        )
    estimated = ""
    if (share := counted_share(trace)) < 1.0:
        within = share_text(run_error(trace))
        estimated = (
            f" (estimated from {share_text(share)} of the work; the total is right within {within})"
        )
    return (
        f"{threads} made {count_text(totals.reads)} reads and {count_text(totals.writes)} writes "
        f"on {pages}{estimated}; {names.text()}"
    )
