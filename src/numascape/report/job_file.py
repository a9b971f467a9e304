# SPDX-License-Identifier: Apache-2.0
"""Writes the page of a job: one file with the pages of typical ranks and of outliers."""

from __future__ import annotations

import dataclasses
import html
from pathlib import Path
from typing import Any

from numascape.analysis.source_files import readable_sources
from numascape.errors import NumascapeError
from numascape.jobs.job import AnalysedJob
from numascape.report.build import Draft, draft
from numascape.report.encode import encode_job_page
from numascape.report.fitting import encode_within
from numascape.report.job import JobPage, job_page
from numascape.report.render import SIZE, filled, viewer_page, write_page
from numascape.trace import Trace
from numascape.trace.job import part_folder

MAX_RANKS = 12
"""Maximum number of ranks with a page in the file. They represent classes, also of outliers."""
_LARGEST = 600_000
"""Maximum number of characters of a rank's page. To fit, a page folds pages of memory."""
_SMALLEST = 60_000
"""With fewer characters, the figures of a rank are too coarse to show anything."""


def render_job(job: AnalysedJob, path: Path, source: bool | None = None) -> tuple[int, list[int]]:
    """Write the page of a job, at most SIZE bytes.

    Returns its size, and the ranks that have a page in it. `source` is whether source text is
    shown; None: if the trace was recorded on this system.
    """
    template = viewer_page()
    page = job_page(job)
    room = SIZE - len(fill_job(template, job, page, {}))
    if room < 0:
        raise NumascapeError(
            f"the page of {job.path} does not fit into {SIZE} bytes: it has too many ranks; use "
            "`numascape show`"
        )
    own: dict[int, str] = {}
    for number, rank in enumerate(wanted := _typical(page)):
        budget = min(_LARGEST, room // (len(wanted) - number) - 200)
        text = _own_page(job, rank, budget, source) if budget >= _SMALLEST else None
        if text is not None:
            own[rank] = text
            room -= len(text) + 200
    content = fill_job(template, job, dataclasses.replace(page, own=sorted(own)), own)
    write_page(content, path)
    return len(content), sorted(own)


def fill_job(template: str, job: AnalysedJob, page: JobPage, own: dict[int, str]) -> bytes:
    """The viewer page with the data of the job, and those of the pages of its ranks."""
    ranks = {f"rank-{rank}": text for rank, text in own.items()}
    return filled(template, html.escape(job.path.name[:200]), encode_job_page(page), ranks)


def rank_draft(job: AnalysedJob, rank: int, trace: Trace, source: bool | None, url: str) -> Draft:
    """The page of a rank, which leads back to that of the job at `url`."""
    started = draft(trace, readable_sources(trace.info, source))
    place: dict[str, Any] = {"name": job.path.name, "rank": rank, "url": url}
    return dataclasses.replace(started, run={**started.run, "job": place})


def _typical(page: JobPage) -> list[int]:
    """The representatives of the classes; if there are many, half are outliers."""
    usual = [one["representative"] for one in page.classes if not one["reason"]]
    outliers = [one["representative"] for one in page.classes if one["reason"]]
    kept = max(MAX_RANKS // 2, MAX_RANKS - len(outliers))
    first = usual[:kept]
    return [*first, *outliers[: MAX_RANKS - len(first)]]


def _own_page(job: AnalysedJob, rank: int, budget: int, source: bool | None) -> str | None:
    """The encoded page of a rank; None if it does not fit, or if the part was removed since."""
    try:
        trace = Trace.read(part_folder(job.path, rank))
        text, _ = encode_within(rank_draft(job, rank, trace, source, "#v=1"), budget)
    except NumascapeError:
        return None
    return text
