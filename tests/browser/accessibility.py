# SPDX-License-Identifier: Apache-2.0
"""What axe-core says about the accessibility of a page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

_AXE = Path(__file__).parents[2] / "src" / "viewer" / "node_modules" / "axe-core" / "axe.min.js"


def violations(page: Page) -> list[str]:
    """The problems that axe-core reports."""
    page.evaluate(_AXE.read_text())
    result = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in result["violations"]
        for node in violation["nodes"][:3]
    ]
