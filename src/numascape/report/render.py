# SPDX-License-Identifier: Apache-2.0
"""Writes a report as one HTML file that loads nothing else."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from pathlib import Path

from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.installation import installed_file, installed_version
from numascape.report.build import Draft
from numascape.report.fitting import encode_within

SIZE = 5_000_000
"""Maximum number of bytes of a report, for any trace."""

TEMPLATE_VARIABLE = "NUMASCAPE_VIEWER"
"""Environment variable: a viewer page to use instead of the installed one (for its developers)."""

_DATA = '<script id="report-data" type="application/octet-stream">'
_TITLE = "<title>Numascape</title>"
_GENERATOR = '<meta name="generator" content="Numascape'


def render(started: Draft, path: Path) -> int:
    """Write the page for ``started`` to ``path``, and return its size in bytes.

    The file appears complete or not at all. Raises NumascapeError if it cannot be written.
    """
    page, _ = fill(viewer_page(), started, SIZE)
    write_page(page, path)
    return len(page)


def write_page(page: bytes, path: Path) -> None:
    """Write a page to a file, complete or not at all."""
    try:
        with replacing_file(path) as beside:
            beside.write_bytes(page)
    except OSError as error:
        raise NumascapeError(
            f"cannot write {path}: {error.strerror}; choose another file with -o"
        ) from error


def fill(template: str, started: Draft, size: int) -> tuple[bytes, Draft]:
    """Insert the report's data and title into the viewer page ``template``.

    Returns the page, of at most ``size`` bytes, and its draft.
    """
    program = Path(str(started.run.get("program", ""))).name[:200]
    head, mark, tail = in_template(template, html.escape(program))
    room = size - len((head + mark + tail).encode())
    text, shown = encode_within(started, room)
    return (head + mark + text + tail).encode(), shown


def in_template(template: str, title: str) -> tuple[str, str, str]:
    """The viewer page, with this title (HTML), before, at and after the beginning of its data.

    Its head also names the version that writes it, for the end of the page.
    """
    head, mark, tail = template.partition(_DATA)
    if not mark or _TITLE not in head:
        raise NumascapeError(
            "the viewer page has no place for the data; install numascape again (pip install .)"
        )
    version = html.escape(installed_version())
    head = head.replace(_TITLE, f"<title>{title} · Numascape</title>", 1)
    return head.replace(_GENERATOR, f"{_GENERATOR} {version}", 1), mark, tail


def filled(template: str, title: str, text: str, others: Mapping[str, str]) -> bytes:
    """The viewer page with this title (HTML) and encoded data, and further encoded data by id."""
    head, mark, tail = in_template(template, title)
    blocks = "".join(
        f'</script><script id="{name}" type="application/octet-stream">{encoded}'
        for name, encoded in others.items()
    )
    return (head + mark + text + blocks + tail).encode()


def viewer_page() -> str:
    """Return the viewer page of the package."""
    path = Path(os.environ.get(TEMPLATE_VARIABLE) or installed_file("report/viewer.html"))
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise NumascapeError(f"cannot read the viewer page {path}: {error.strerror}") from error
