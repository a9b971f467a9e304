# SPDX-License-Identifier: Apache-2.0
"""A report that is open in the browser."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page

# Long enough for a busy machine, where Playwright's 30 seconds are not.
PATIENCE_S = 120
PATIENCE_MS = 1000 * PATIENCE_S


def settle(page: Page) -> None:
    """Wait until the page has drawn twice and is idle, so that all effects are visible."""
    page.evaluate(
        """() => new Promise((done) => requestAnimationFrame(() =>
            requestAnimationFrame(() => requestIdleCallback(done, { timeout: 5000 }))))"""
    )


def saved_numbers(page: Page, label: str) -> list[str]:
    """The lines of the CSV file that the menu with this label saves."""
    page.get_by_label(label).click()
    with page.expect_download() as csv:
        page.get_by_text("Numbers (CSV)").locator("visible=true").click()
    return Path(csv.value.path()).read_text("utf-8-sig").splitlines()


@dataclass(frozen=True)
class Watched:
    """A page, and its forbidden actions."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Opened(Watched):
    """A page with a report."""

    file: Path = field(kw_only=True)

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

    def come_near(self, canvas: str) -> None:
        """Scroll to a canvas that is only drawn when visible, and wait until it is drawn."""
        self.page.locator(canvas).scroll_into_view_if_needed()
        end = time.monotonic() + PATIENCE_S
        while not self.drawn(canvas, 0.5, 0.5):
            assert time.monotonic() < end, f"{canvas} is not drawn"
            self.page.wait_for_timeout(20)

    def pixels(self, canvas: str) -> str:
        """The whole canvas as a PNG in a data URL."""
        return str(self.page.locator(canvas).evaluate("canvas => canvas.toDataURL()"))

    def choose(self, name: str) -> None:
        """Select the structure with this name in the table."""
        exactly = re.compile(f"^{re.escape(name)}$")
        self.page.locator("table.structures .name").filter(has_text=exactly).click()

    def names(self) -> list[str]:
        return self.page.locator("table.structures .name").all_inner_texts()


# Opens a report; the fixture determines the report and the options of the browser.
Open = Callable[..., Opened]
