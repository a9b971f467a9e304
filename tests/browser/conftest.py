# SPDX-License-Identifier: Apache-2.0
"""Reports in headless Chromium; notes all requests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ViewportSize, sync_playwright

from browser.opened import PATIENCE_MS, Open, Opened, Watched
from numascape.report import draft, render
from synthetic.pattern import Pattern
from synthetic.patterns import PATTERNS
from synthetic.write import write_pattern

CHROMIUM = os.environ.get("NUMASCAPE_CHROMIUM") or shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--proxy-server=127.0.0.1:9",  # nobody listens there
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    assert CHROMIUM, "chromium is not installed (packages.apt)"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE_MS
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The report of a synthetic pattern, by the pattern's name; each is written once."""
    folder = tmp_path_factory.mktemp("reports")

    def write(name: str) -> Path:
        file = folder / f"{name}.html"
        if not file.exists():
            render(draft(write_pattern(PATTERNS[name](), folder / f"{name}.numascape")), file)
        return file

    return write


def _watched(context: BrowserContext) -> Watched:
    context.set_default_timeout(PATIENCE_MS)
    watched = Watched(context.new_page())
    context.on("request", lambda request: watched.requests.append(request.url))
    watched.page.on(
        "console",
        lambda message: watched.complaints.append(f"{message.type}: {message.text}"),
    )
    watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    return watched


@pytest.fixture(scope="session")
def idle_pages() -> list[Watched]:
    """Pages that are used again, because a new one takes a second of processor time."""
    return []


def _make_new(watched: Watched) -> None:
    page = watched.page
    page.mouse.up()
    page.mouse.move(0, 0)
    page.evaluate("localStorage.clear()")
    page.emulate_media(media="null")
    page.goto("about:blank")
    watched.requests.clear()
    watched.complaints.clear()


@pytest.fixture
def open_file(browser: Browser, idle_pages: list[Watched]) -> Iterator[Open]:
    with ExitStack() as at_end:

        def opened(file: Path, *, width: int = 1280, address: str = "", **options: Any) -> Opened:
            viewport: ViewportSize = {"width": width, "height": 1000}
            if options:
                context = browser.new_context(viewport=viewport, **options)
                at_end.callback(context.close)
                watched = _watched(context)
            else:
                watched = idle_pages.pop() if idle_pages else _watched(browser.new_context())
                at_end.callback(idle_pages.append, watched)
                at_end.callback(_make_new, watched)
                watched.page.set_viewport_size(viewport)
            watched.page.goto(f"{file.as_uri()}{address}")
            watched.page.wait_for_selector("html[data-ready=yes]")
            return Opened(watched.page, watched.requests, watched.complaints, file=file)

        yield opened


@pytest.fixture
def open_report(open_file: Open, written: Callable[[str], Path]) -> Open:
    """Open the report of a pattern of tests/synthetic."""

    def opened(name: str, **options: Any) -> Opened:
        return open_file(written(name), **options)

    return opened


@pytest.fixture
def open_pattern(open_file: Open, tmp_path: Path) -> Open:
    def opened(pattern: Pattern, **options: Any) -> Opened:
        file = tmp_path / "pattern.html"
        render(draft(write_pattern(pattern, tmp_path / "pattern.numascape")), file)
        return open_file(file, **options)

    return opened
