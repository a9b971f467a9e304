# SPDX-License-Identifier: Apache-2.0
"""Answers the requests to a served report: a page, a window or a refusal, as plain data.

The trace may be confidential, and any page that is open in a browser can send requests to the
server. Each request must therefore contain the secret in its path. Requests from foreign pages are
rejected even if they contain the secret. The header Host shows names that were rebound to this
machine, and Origin or Sec-Fetch-Site shows other foreign pages.
"""

from __future__ import annotations

import dataclasses
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from numascape.errors import NumascapeError
from numascape.report.build import Draft
from numascape.report.encode import Planes
from numascape.report.render import SIZE, fill
from numascape.view.windows import MAX_COLUMNS, Window, WindowRequest, Windows

DETAIL = "detail"
"""The window's address, relative to the page's."""
PAGE_TYPE = "text/html; charset=utf-8"
_CLOSED = "default-src 'none';"
_OPENED = "default-src 'none'; connect-src 'self';"
_POLICY = re.compile(r'http-equiv="Content-Security-Policy"\s+content="([^"]+)"')
_NUMBER = re.compile("[0-9]{1,10}")


@dataclass(frozen=True)
class Answer:
    """The status, type and bytes of an answer."""

    status: HTTPStatus
    kind: str
    content: bytes


def refusal(status: HTTPStatus, line: str) -> Answer:
    """An error with one line of text."""
    return Answer(status, "text/plain; charset=utf-8", f"{line}\n".encode())


NOT_ALLOWED = refusal(
    HTTPStatus.FORBIDDEN, "not allowed: open the address that numascape view printed"
)


class BadRequestError(Exception):
    """A parameter is missing or out of range; the message is one line."""


@dataclass(frozen=True)
class Extent:
    """The valid ranges of a request: pages and instances of each structure, and the phases."""

    pages: tuple[int, ...]
    instances: tuple[int, ...]
    phases: int


def served_page(template: str, started: Draft) -> tuple[bytes, str, Draft]:
    """The page, which can request windows from this server, its content policy, and its draft.

    Raises NumascapeError if the viewer's page is not of this version.
    """
    run = {**started.run, "detail_url": DETAIL}
    opened, policy = opened_page(template)
    page, shown = fill(opened, dataclasses.replace(started, run=run), SIZE)
    return page, policy, shown


def opened_page(template: str) -> tuple[str, str]:
    """The viewer page, which may make requests to its own server, and its content policy."""
    opened = template.replace(_CLOSED, _OPENED, 1)
    policy = _POLICY.search(opened)
    if policy is None or _OPENED not in policy[1]:
        raise NumascapeError(
            "the viewer page does not say what it may load; install numascape again (pip install .)"
        )
    return opened, f"{policy[1]}; frame-ancestors 'none'"


class Site:
    """The page and the windows of one trace, below the path /`secret`/."""

    def __init__(
        self, page: bytes, policy: str, windows: Windows, extent: Extent, secret: str
    ) -> None:
        self.policy = policy
        self.secret = secret
        self._page = page
        self._windows = windows
        self._extent = extent

    def answer(self, target: str, headers: Mapping[str, str], hosts: frozenset[str]) -> Answer:
        """Answer a GET of `target`; `hosts` are the valid names of this server.

        The names of `headers` are in lower case.
        """
        return answered(self.secret, self.inside, target, headers, hosts)

    def inside(self, rest: str, query: str) -> Answer:
        """Answer a permitted request; `rest` is the path below that of the page."""
        if rest == "":
            return Answer(HTTPStatus.OK, PAGE_TYPE, self._page)
        if rest != DETAIL:
            return refusal(HTTPStatus.NOT_FOUND, f"there is only the page and {DETAIL}")
        try:
            wanted = read_wanted(query, self._extent)
        except BadRequestError as error:
            return refusal(HTTPStatus.BAD_REQUEST, str(error))
        block = encode_window(wanted, self._windows.answer(wanted))
        return Answer(HTTPStatus.OK, "application/octet-stream", block)


def answered(
    secret: str,
    inside: Callable[[str, str], Answer],
    target: str,
    headers: Mapping[str, str],
    hosts: frozenset[str],
) -> Answer:
    """The answer of `inside` to a request that has the secret and comes from here; else a refusal.

    `inside` is given the path below that of the page, and the query.
    """
    try:
        address = urlsplit(target)
    except ValueError:
        return NOT_ALLOWED
    _, _, path = address.path.partition("/")
    given, _, rest = path.partition("/")
    # The secret is always compared, and first, so that the time of an answer reveals nothing.
    known = hmac.compare_digest(given.encode(), secret.encode())
    if not (known and _from_here(headers, hosts)):
        return NOT_ALLOWED
    # Without the slash, relative addresses of the page would be wrong.
    if "/" not in path:
        return refusal(HTTPStatus.NOT_FOUND, "the address of the page ends with /")
    return inside(rest, address.query)


def _from_here(headers: Mapping[str, str], hosts: frozenset[str]) -> bool:
    """Whether the request is from the user or our own page, with one of our host names."""
    host = headers.get("host", "").lower()
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site", "none")
    # A link on a foreign page may lead to ours; this reveals nothing to the foreign page.
    arrives = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == (
        "navigate",
        "document",
    )
    return (
        host in hosts
        and (origin is None or origin.lower() == f"http://{host}")
        and (site in {"none", "same-origin"} or arrives)
    )


def read_wanted(query: str, extent: Extent) -> WindowRequest:
    """Parse the query for a window; raises BadRequestError for any error."""
    try:
        given = parse_qs(query, keep_blank_values=True, strict_parsing=True, max_num_fields=16)
    except ValueError as error:
        raise BadRequestError("the parameters are not of the form name=value&...") from error
    if unknown := sorted(set(given) - _PARAMETERS):
        raise BadRequestError(f"there is no parameter {unknown[0][:40]!r}")
    for name, texts in given.items():
        if len(texts) > 1:
            raise BadRequestError(f"{name} is given {len(texts)} times")
    values = {name: texts[0] for name, texts in given.items()}
    structure = _number(values, "structure", 0, len(extent.pages) - 1)
    instance = None
    if "instance" in values:
        instance = _number(values, "instance", 0, extent.instances[structure] - 1)
    first = _number(values, "from", 0, extent.pages[structure] - 1)
    return WindowRequest(
        structure=structure,
        instance=instance,
        first=first,
        end=_number(values, "to", first + 1, extent.pages[structure]),
        columns=_number(values, "columns", 1, MAX_COLUMNS),
        phases=_phases(values, extent.phases),
    )


_PARAMETERS = frozenset({"structure", "instance", "from", "to", "columns", "phases"})


def _number(values: Mapping[str, str], name: str, least: int, most: int) -> int:
    if name not in values:
        raise BadRequestError(f"{name} is missing")
    return _in_range(name, values[name], least, most)


def _in_range(name: str, text: str, least: int, most: int) -> int:
    if not _NUMBER.fullmatch(text) or not least <= int(text) <= most:
        raise BadRequestError(f"{name} is {text[:20]!r}: a number from {least} to {most} is needed")
    return int(text)


def _phases(values: Mapping[str, str], phases: int) -> tuple[int, ...] | None:
    if "phases" not in values:
        return None
    numbers = values["phases"].split(",")
    if len(numbers) > phases:
        raise BadRequestError(f"phases names {len(numbers)}, but there are only {phases}")
    return tuple(_in_range("phases", number, 0, phases - 1) for number in numbers)


def encode_window(wanted: WindowRequest, window: Window) -> bytes:
    """The window as a block (see report/encode.py); not compressed, as it is sent locally."""
    planes = Planes(small=False)
    return planes.block(
        {
            "format": "numascape-window",
            "version": 1,
            "structure": wanted.structure,
            "instance": -1 if wanted.instance is None else wanted.instance,
            "pages_per_column": window.pages_per_column,
            "columns": planes.table(window.columns),
            "cells": planes.table(window.cells),
            "first_touches": planes.table(window.first_touches),
        }
    )
