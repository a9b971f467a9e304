# SPDX-License-Identifier: Apache-2.0
"""Reports in headless Chromium, with everything that would leave the page written down."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from numascape.report import draft, render
from synthetic.patterns import PATTERNS, Pattern
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


@dataclass
class Opened:
    """A page, and what it did that it should not do."""

    page: Page
    file: Path
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def pixel(self, canvas: str, x: float, y: float) -> tuple[int, int, int, int]:
        """Red, green, blue and opacity at a point given as fractions of the canvas."""
        script = """(canvas, [x, y]) => {
            const at = (part, size) => Math.min(size - 1, Math.floor(part * size));
            const pixels = canvas.getContext("2d", { willReadFrequently: true });
            const [px, py] = [at(x, canvas.width), at(y, canvas.height)];
            return [...pixels.getImageData(px, py, 1, 1).data];
        }"""
        r, g, b, a = self.page.locator(canvas).evaluate(script, [x, y])
        return r, g, b, a

    def drawn(self, canvas: str, x: float, y: float) -> bool:
        return self.pixel(canvas, x, y)[3] > 0

    def choose(self, name: str) -> None:
        """Select the structure of that name in the table."""
        exactly = re.compile(f"^{re.escape(name)}$")
        self.page.locator("table.structures .name").filter(has_text=exactly).click()

    def names(self) -> list[str]:
        return self.page.locator("table.structures .name").all_inner_texts()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    assert CHROMIUM, "chromium is not installed (packages.apt)"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
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


Open = Callable[..., Opened]


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Open]:
    contexts = []

    def opened(file: Path, *, width: int = 1280, address: str = "", **options: Any) -> Opened:
        context = browser.new_context(viewport={"width": width, "height": 1000}, **options)
        contexts.append(context)
        seen = Opened(context.new_page(), file)
        context.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on(
            "console",
            lambda message: seen.complaints.append(f"{message.type}: {message.text}"),
        )
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.goto(f"{file.as_uri()}{address}")
        seen.page.wait_for_selector("html[data-ready=yes]")
        return seen

    yield opened
    for context in contexts:
        context.close()


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
