# SPDX-License-Identifier: Apache-2.0
"""Flame graphs of memory by the call stacks that allocated it, or accessed it, for speedscope.

The format is described at https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources,
and by its JSON schema, which the profile names.
"""

from __future__ import annotations

import polars as pl

from numascape.analysis.call_paths import calls_to, texts_of_calls
from numascape.installation import installed_version
from numascape.terminal import printable
from numascape.trace import Trace

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope_profile(trace: Trace) -> dict[str, object]:
    """Three profiles over the same stacks: accesses, accesses to others' pages, pages touched.

    A stack is the call stack of an allocation, outermost function first, and then the structure.
    Structures without a call stack are below their kind, such as "global". If the trace has the
    call paths of sampled accesses, or of first touches, there are profiles over these, too.
    """
    frames: dict[str, int] = {}
    stacks = {
        number: [
            frames.setdefault(name, len(frames))
            for name in [
                *(printable(frame) for frame in reversed(call_stack) or ()),
                *([] if call_stack else [kind]),
                printable(structure),
            ]
        ]
        for number, structure, kind, call_stack in trace.structures.select(
            "structure", "name", "kind", "call_stack"
        ).iter_rows()
    }
    profiles = [
        _profile(title, weights, stacks)
        for title, weights in _weights(trace).items()
        if weights.height
    ]
    profiles += [
        _profile_of_paths(trace, title, rows, frames)
        for title, rows in _weights_of_paths(trace).items()
        if rows.height
    ]
    return {
        "$schema": _SCHEMA,
        "exporter": f"numascape {installed_version()}",
        "name": printable(trace.info.program),
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": profiles,
    }


def _weights(trace: Trace) -> dict[str, pl.DataFrame]:
    """Columns structure and weight of each profile."""
    keys = ["structure", "instance", "page"]
    first = trace.first_touch.select(*keys, first_thread="thread")
    made = trace.accesses.select(*keys, "thread", weight=pl.col("reads") + pl.col("writes"))
    foreign = made.join(first, on=keys).filter(pl.col("thread") != pl.col("first_thread"))
    touched = first.select("structure", weight=pl.lit(1, pl.UInt64))
    return {
        name: frame.group_by("structure").agg(pl.sum("weight")).sort("structure")
        for name, frame in {
            "accesses": made,
            "accesses to pages that another thread touched first": foreign,
            "pages touched": touched,
        }.items()
    }


def _weights_of_paths(trace: Trace) -> dict[str, pl.DataFrame]:
    """Columns path, structure and weight of each profile over call paths."""
    keys = ["path", "structure"]
    rows = {
        "sampled accesses, by the calls that led to them": trace.path_accesses.select(
            *keys, weight=pl.col("reads") + pl.col("writes")
        )
    }
    if "path" in trace.first_touch.columns:
        touched = trace.first_touch.select(*keys, weight=pl.lit(1, pl.UInt64))
        rows["pages touched, by the calls that led to the first touch"] = touched
    return {
        title: frame.group_by(keys).agg(pl.sum("weight")).sort(keys)
        for title, frame in rows.items()
    }


def _profile_of_paths(
    trace: Trace, title: str, sums: pl.DataFrame, frames: dict[str, int]
) -> dict[str, object]:
    """The weights by the calls of the path, and then the structure; adds to `frames`."""

    def number(name: str) -> int:
        return frames.setdefault(printable(name), len(frames))

    calls = [number(text) for text in texts_of_calls(trace)]
    structures = trace.structures["name"]
    stacks = [
        [*(calls[call] for call in path), number(structures[structure])]
        for path, structure in zip(calls_to(trace, sums["path"]), sums["structure"], strict=True)
    ]
    return _sampled(title, stacks, sums["weight"])


def _profile(title: str, weights: pl.DataFrame, stacks: dict[int, list[int]]) -> dict[str, object]:
    return _sampled(title, [stacks[number] for number in weights["structure"]], weights["weight"])


def _sampled(title: str, stacks: list[list[int]], weights: pl.Series) -> dict[str, object]:
    return {
        "type": "sampled",
        "name": title,
        "unit": "none",
        "startValue": 0,
        "endValue": int(weights.sum()),
        "samples": stacks,
        "weights": weights.to_list(),
    }
