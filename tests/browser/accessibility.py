# SPDX-License-Identifier: Apache-2.0
"""Pages can be read on each screen and by everybody: axe-core checks this."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.opened import Open, settle

_AXE = Path(__file__).parents[2] / "src" / "viewer" / "node_modules" / "axe-core" / "axe.min.js"

on_each_screen = pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (1280, "light")])


def faults_on_screen(open_file: Open, file: Path, width: int, theme: str) -> list[str]:
    """The problems of a reader of the page on a screen of this width."""
    page = open_file(file, width=width, address=f"#v=1&theme={theme}").page
    faults = violations(page)
    # A page that is right at 1280 pixels is also opened on large screens.
    for shown in (width, 1920, 3840) if width == 1280 else (width,):
        page.set_viewport_size({"width": shown, "height": 1000})
        settle(page)
        needed = page.evaluate("document.documentElement.scrollWidth")
        faults += [f"the page needs {needed} of {shown} pixels"] if needed > shown else []
        faults += page.evaluate(_CUT_WITHOUT_HINT)
    return faults + _faults_at_the_end(page)


def _faults_at_the_end(page: Page) -> list[str]:
    """Each page says at its end who wrote it. The key ? opens its help, wherever the focus is."""
    text = page.locator("footer").inner_text()
    faults = [] if re.match(r"Written by Numascape \d+\.\d", text) else [f"the end is: {text}"]
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    faults += [] if "this help" in dialog.inner_text() else ["the help does not list its key"]
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    return faults


_CUT_WITHOUT_HINT = """() => [...document.querySelectorAll(".scroll, .matrix-frame")]
    .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
    .filter((one) => !one.parentElement.matches(".wide-frame.more-right"))
    .map((one) => `no hint that more is behind the edge: ${one.textContent.slice(0, 40)}`)"""


# The narrowest paper: A4, with the margins that Chromium prints.
PAPER_PX = 718
_SMALLEST_PX = 8

_ON_PAPER = """([paper, smallest]) => {
    const faultsOf = (element) => {
        const box = element.getBoundingClientRect();
        const style = getComputedStyle(element);
        if (!box.width || !box.height || style.visibility === "hidden") return [];
        if (element.closest(".skip, [class*=unseen]")) return [];
        const what = `${element.tagName}.${element.className} ${element.textContent.slice(0, 40)}`;
        const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
        const written = texts.some((node) => node.textContent.trim());
        const frame = element.matches(".scroll, .matrix-frame");
        return [
            box.right > paper + 1 && `wider than the paper: ${what}`,
            frame && element.scrollWidth > element.clientWidth + 1
                && `wider than its frame: ${what}`,
            written && parseFloat(style.fontSize) < smallest && `${style.fontSize} text: ${what}`,
        ].filter(Boolean);
    };
    return [...document.querySelectorAll("body *")].flatMap(faultsOf);
}"""


def faults_on_paper(page: Page) -> list[str]:
    """The problems of a reader of the printed page. The page stays as it is on paper."""
    before = page.viewport_size
    assert before is not None
    page.set_viewport_size({"width": PAPER_PX, "height": 1000})
    page.emulate_media(media="print")
    settle(page)
    faults = page.evaluate(_ON_PAPER, [PAPER_PX, _SMALLEST_PX])
    page.set_viewport_size(before)
    return [str(fault) for fault in faults[:20]]


def violations(page: Page) -> list[str]:
    """The problems that axe-core reports."""
    page.evaluate(_AXE.read_text())
    result = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in result["violations"]
        for node in violation["nodes"][:3]
    ]
