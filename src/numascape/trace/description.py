# SPDX-License-Identifier: Apache-2.0
"""A trace in sentences for people, and quantities as people write them."""

from __future__ import annotations

import shlex

from numascape.trace.counting import sampling_error
from numascape.trace.info import Times
from numascape.trace.trace import Trace


def count(number: int) -> str:
    """A count in three digits: 999, 1.23 k, 45.6 M, 789 G."""
    return _scaled(number, 1000, ("", " k", " M", " G", " T", " P", " E"))


def size(number: int) -> str:
    """Bytes in three digits: 12 B, 1.5 KiB, 128 MiB."""
    return _scaled(number, 1024, (" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"))


def describe_run(trace: Trace) -> list[str]:
    """What ran, where, how long; how much was seen, and what was not: one sentence a line."""
    info = trace.info
    command = shlex.join([info.program, *info.arguments])
    lines = [
        f"{trace.path.name}: {command if len(command) <= 200 else command[:197] + '...'}",
        f"started {info.started} on {info.host.name} ({_several(info.host.cpus, 'CPU')}, "
        f"{_several(info.host.nodes, 'node')}), ran {info.times.wall_s:.2f} s "
        f"({info.times.cpu_s:.2f} s of CPU{_describe_cost(info.times)}) under the "
        f"{info.recorder.name} recorder, exit status {info.exit_status}",
        _describe_counts(trace),
    ]
    return lines + [f"not seen: {sentence}" for sentence in info.unseen]


def _describe_cost(times: Times) -> str:
    if not times.native_cpu_s:
        return ""
    return f", {times.cpu_s / times.native_cpu_s:.1f} times the {times.native_cpu_s:.2f} s without"


def _describe_counts(trace: Trace) -> str:
    totals, recorder = trace.info.totals, trace.info.recorder
    threads, pages = _several(totals.threads, "thread"), _several(totals.pages, "page")
    named = f"{trace.info.attributed_share:.1%} of them in named structures"
    if recorder.counts == "first touches":
        return f"{threads} touched {pages} first, {named}; later accesses are not recorded"
    if recorder.counts == "samples":
        samples = totals.reads + totals.writes
        return (
            f"{_several(samples, 'sample')} of accesses by {threads} to {pages}, {named}; shares "
            f"are estimates, within {sampling_error(recorder, samples):.1%} of the run's"
        )
    return (
        f"{threads} made {count(totals.reads)} reads and {count(totals.writes)} writes on "
        f"{pages}; {named}"
    )


def _several(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _scaled(number: int, step: int, units: tuple[str, ...]) -> str:
    value = float(number)
    for unit in units:
        # 999.5 would be written with four digits.
        if value < 999.5 or unit == units[-1]:
            digits = 0 if value >= 100 or unit == units[0] else 1 if value >= 10 else 2
            return f"{value:.{digits}f}{unit}"
        value /= step
    raise AssertionError(units)
