# SPDX-License-Identifier: Apache-2.0
"""The run as a whole and its threads, as dictionaries that JSON can hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from numascape.analysis.facts import Facts
from numascape.analysis.name_shares import name_shares
from numascape.analysis.text import short_printable
from numascape.findings import describe_not_judged
from numascape.trace import Trace
from numascape.trace.counting import counted_share, run_error


def shown_threads(trace: Trace) -> list[dict[str, Any]]:
    """The threads, where a thread's id is its position; the trace's reader has checked this."""
    return [
        {
            "thread": row["thread"],
            "process": row["process"],
            "name": short_printable(row["name"] or "", 64),
            "created_ns": row["created_ns"],
            "ended_ns": row["ended_ns"],
            "cpus": list(row["cpus"] or ())[:64],
            "nodes": list(row["nodes"] or ())[:64],
        }
        for row in trace.threads.to_dicts()
    ]


def shown_run(trace: Trace, facts: Mapping[int, Facts]) -> dict[str, Any]:
    """The content of trace.json, with sums that the report computes."""
    run = plain(dataclasses.asdict(trace.info))
    run["reads"] = sum(f.reads for f in facts.values())
    run["writes"] = sum(f.writes for f in facts.values())
    run["names"] = plain(dataclasses.asdict(name_shares(trace)))
    if counted_share(trace) < 1.0:
        run["estimate_error"] = run_error(trace)
    run["not_judged"] = describe_not_judged(trace)
    run["touched_pages"] = sum(f.touched_pages for f in facts.values())
    return dict(run)


def plain(value: Any) -> Any:
    """Make ``value`` safe to show and to write as JSON."""
    if isinstance(value, str):
        return short_printable(value)
    if isinstance(value, Mapping):
        return {short_printable(str(key), 256): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, int | float | bool | None) else short_printable(str(value))
