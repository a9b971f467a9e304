# SPDX-License-Identifier: Apache-2.0
"""Serves a job's page, and its ranks' pages, each of which is made at its first request."""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from http import HTTPStatus
from threading import Lock

from numascape.errors import NumascapeError
from numascape.jobs.job import AnalysedJob
from numascape.report.job import job_page
from numascape.report.job_file import fill_job, rank_draft
from numascape.report.render import viewer_page
from numascape.trace import Trace
from numascape.trace.counting import TraceOfTouches
from numascape.trace.job import part_folder
from numascape.view.open import site_of_draft
from numascape.view.site import PAGE_TYPE, Answer, Site, answered, opened_page, refusal

_RANK = re.compile(r"rank/(0|[1-9][0-9]{0,8})/(.*)")
_KEPT = 4
"""Ranks whose traces are kept in memory; a trace may need a GB."""


class JobSite:
    """The page of a job below the path /`secret`/; those of its ranks below it, at rank/NUMBER/."""

    def __init__(self, job: AnalysedJob) -> None:
        self.secret = secrets.token_urlsafe(24)
        template, self.policy = opened_page(viewer_page())
        page = job_page(job)
        about = {**page.about, "rank_url": "rank/"}
        self._page = fill_job(template, job, dataclasses.replace(page, about=about), {})
        self._job = job
        self._ranks = frozenset(job.ranks["rank"])
        self._sites: OrderedDict[int, Site] = OrderedDict()
        self._lock = Lock()

    def answer(self, target: str, headers: Mapping[str, str], hosts: frozenset[str]) -> Answer:
        """Answer a GET of `target`, as `Site.answer` does."""
        return answered(self.secret, self.inside, target, headers, hosts)

    def inside(self, rest: str, query: str) -> Answer:
        """Answer a permitted request; `rest` is the path below that of the job's page."""
        if rest == "":
            return Answer(HTTPStatus.OK, PAGE_TYPE, self._page)
        asked = _RANK.fullmatch(rest)
        if asked is None or int(asked[1]) not in self._ranks:
            return refusal(HTTPStatus.NOT_FOUND, "there is only the page, and rank/NUMBER/")
        try:
            site = self._site(int(asked[1]))
        except NumascapeError as error:
            return refusal(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        return site.inside(asked[2], query)

    def _site(self, rank: int) -> Site:
        # One after the other: two drafts at once would need twice the memory.
        with self._lock:
            site = self._sites.pop(rank, None)
            if site is None:
                trace = TraceOfTouches.of(Trace.read(part_folder(self._job.path, rank)))
                site = site_of_draft(trace, rank_draft(self._job, rank, trace, None, "../../"))
            self._sites[rank] = site
            while len(self._sites) > _KEPT:
                self._sites.popitem(last=False)
            return site
