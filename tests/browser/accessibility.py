# SPDX-License-Identifier: Apache-2.0
"""Pages can be read on each screen and by everybody: axe-core checks this."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.opened import Open

_AXE = Path(__file__).parents[2] / "src" / "viewer" / "node_modules" / "axe-core" / "axe.min.js"

on_each_screen = pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (1280, "light")])


def faults_on_screen(open_file: Open, file: Path, width: int, theme: str) -> list[str]:
    """The problems of a reader of the page on a screen of this width."""
    page = open_file(file, width=width, address=f"#v=1&theme={theme}").page
    needed = page.evaluate("document.documentElement.scrollWidth")
    too_wide = [f"the page needs {needed} pixels"] if needed > width else []
    return too_wide + violations(page)


def violations(page: Page) -> list[str]:
    """The problems that axe-core reports."""
    page.evaluate(_AXE.read_text())
    result = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in result["violations"]
        for node in violation["nodes"][:3]
    ]
