# SPDX-License-Identifier: Apache-2.0
"""Answers the requests to a served comparison: its page, and the reports of both runs below it."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from http import HTTPStatus

from numascape.comparison.change import Comparison
from numascape.comparison.page import SIDES, fill_comparison, report_of
from numascape.report import Draft
from numascape.report.render import viewer_page
from numascape.trace import Trace
from numascape.trace.counting import TraceOfTouches
from numascape.view.open import site_of_draft
from numascape.view.site import DETAIL, PAGE_TYPE, Answer, answered, opened_page, refusal


class ComparisonSite:
    """The page of a comparison below the path /`secret`/; the reports below it, at a/ and b/."""

    def __init__(self, comparison: Comparison, shown: tuple[Trace, Trace]) -> None:
        self.secret = secrets.token_urlsafe(24)
        template, self.policy = opened_page(viewer_page())
        before, after = (TraceOfTouches.of(trace) for trace in shown)
        drafts = report_of(before, 0, "../"), report_of(after, 1, "../")
        self._sites = {
            side: site_of_draft(trace, started)
            for side, trace, started in zip(SIDES, (before, after), drafts, strict=True)
        }
        served = _with_detail(drafts[0], "a"), _with_detail(drafts[1], "b")
        self._page = fill_comparison(template, comparison, served, ("a/", "b/"))

    def answer(self, target: str, headers: Mapping[str, str], hosts: frozenset[str]) -> Answer:
        """Answer a GET of `target`, as `Site.answer` does."""
        return answered(self.secret, self.inside, target, headers, hosts)

    def inside(self, rest: str, query: str) -> Answer:
        """Answer a permitted request; `rest` is the path below that of the page."""
        if rest == "":
            return Answer(HTTPStatus.OK, PAGE_TYPE, self._page)
        side, slash, below = rest.partition("/")
        if not slash or side not in self._sites:
            return refusal(HTTPStatus.NOT_FOUND, "there is only the page, a/ and b/")
        return self._sites[side].inside(below, query)


def _with_detail(started: Draft, side: str) -> Draft:
    """The report in the page of the comparison; it requests windows below its own address."""
    return dataclasses.replace(started, run={**started.run, "detail_url": f"{side}/{DETAIL}"})
