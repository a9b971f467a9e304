# SPDX-License-Identifier: Apache-2.0
"""Makes the site of a trace, and opens it in the browser."""

from __future__ import annotations

import html
import os
import secrets
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from numascape.analysis.source_files import readable_sources
from numascape.machine.description import Machine
from numascape.report.build import Draft, draft
from numascape.report.phases import shown_phases
from numascape.report.render import viewer_page
from numascape.trace import Trace
from numascape.trace.counting import TraceOfTouches
from numascape.view.site import Extent, Site, served_page
from numascape.view.windows import Windows


def site_of(trace: Trace, others: Sequence[Machine] = ()) -> Site:
    """The site of `trace`, below a random secret; the reader can also choose `others`."""
    trace = TraceOfTouches.of(trace)
    return site_of_draft(trace, draft(trace, readable_sources(trace.info, None), others=others))


def site_of_draft(trace: Trace, started: Draft) -> Site:
    """The site of `trace` with this draft of its page."""
    page, policy, shown = served_page(viewer_page(), started)
    named = zip(shown.places.function, shown.places.file, shown.places.line, strict=True)
    places = {place: number for number, place in enumerate(named)}
    phases = shown_phases(trace, shown.limits.phases)
    extent = Extent(
        tuple(trace.structures["pages"]), tuple(trace.structures["instances"]), len(phases.phases)
    )
    windows = Windows(trace, places, phases.of)
    if started.structures:
        most_used = started.structures[0].structure
        Thread(target=windows.prepare, args=(most_used,), daemon=True).start()
    return Site(page, policy, windows, extent, secrets.token_urlsafe(24))


@contextmanager
def shown_in_browser(address: str) -> Iterator[bool]:
    """Open `address` in the user's browser, if there is one; yields whether this succeeded.

    The browser gets a file that only the user can read and that redirects to the address, because
    other users of the machine can see the arguments of commands.
    """
    with tempfile.TemporaryDirectory(prefix="numascape-") as folder:
        file = Path(folder) / "open.html"
        file.write_text(
            '<!doctype html><meta charset="utf-8"><title>Numascape</title>'
            f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">'
        )
        yield _open(file.as_uri())


def _open(address: str) -> bool:
    # Without a display, a text browser would use this terminal.
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
