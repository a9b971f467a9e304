# SPDX-License-Identifier: Apache-2.0
"""The page of `host experiment`, in the viewer: speed and local pages by the size of the file."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from numascape.host.experiment import ExperimentResult
from numascape.quantities import bytes_text, percent
from numascape.report.encode import encode_text
from numascape.report.render import filled, viewer_page, write_page
from numascape.report.run import plain

FORMAT: Final = "numascape-experiment"
VERSION: Final = 1
_USUAL: Final = "first touch"
_ALL_LOCAL: Final = 0.995
"""At or above this share of local pages, nothing is wrong."""


@dataclass(frozen=True)
class Experiment:
    """The results, how the triad ran, and what limits the meaning of the results."""

    results: Sequence[ExperimentResult]
    triad_bytes: int
    workers: int
    processes: bool
    notes: Sequence[str]


def render_experiment(experiment: Experiment, path: Path) -> int:
    """Write the page, and return its size in bytes. Raises NumascapeError."""
    page = filled(
        viewer_page(), "Page cache and placement", encode_text(experiment_data(experiment)), {}
    )
    write_page(page, path)
    return len(page)


def experiment_data(experiment: Experiment) -> dict[str, Any]:
    """The page's data; a point is one size of the file in one way of running."""
    results = experiment.results
    nodes = sorted({node for one in results for node in (*one.cache, *one.triad.pages)})
    data = {
        "conclusion": experiment_conclusion(results),
        "notes": list(experiment.notes),
        "triad_bytes": experiment.triad_bytes,
        "workers": experiment.workers,
        "processes": experiment.processes,
        "nodes": nodes,
        "sizes": sorted({one.size for one in results}),
        "ways": list(dict.fromkeys(one.way for one in results)),
        "points": [_point(one, nodes) for one in results],
    }
    return {"format": FORMAT, "version": VERSION, **plain(data)}


def experiment_conclusion(results: Sequence[ExperimentResult]) -> str:
    """The size with the fewest local pages in a usual run, and what the other ways change there."""
    usual = [one for one in results if one.way == _USUAL]
    if not usual:
        return ""
    worst = min(usual, key=lambda one: one.triad.local_share)
    share = worst.triad.local_share
    if share >= _ALL_LOCAL:
        return "All pages are local with first touch, for each size of the file."
    others = [one for one in results if one.size == worst.size and one.way != _USUAL]
    told = [f"{one.way} {percent(one.triad.local_share)}" for one in others]
    rest = f"; {', '.join(told)}" if told else ""
    return (
        f"With a file of {bytes_text(worst.size)} in the page cache, {percent(share)} of the pages "
        f"are local with first touch{rest}."
    )


def _point(one: ExperimentResult, nodes: list[int]) -> dict[str, Any]:
    mflops, page = one.triad.mflops, resource.getpagesize()
    return {
        "size": one.size,
        "way": one.way,
        "median": median(mflops),
        "low": min(mflops),
        "high": max(mflops),
        "local": one.triad.local_share,
        "freed_by_kswapd": one.freed[0] * page,
        "freed_by_program": one.freed[1] * page,
        "cache": [one.cache.get(node, 0) for node in nodes],
        "pages": [one.triad.pages.get(node, 0) for node in nodes],
    }
