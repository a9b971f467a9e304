# SPDX-License-Identifier: Apache-2.0
"""Renders the documents' pictures: records the examples and photographs their reports.

Run it from the checkout after `make -C examples`, with the Python that Numascape is installed in:

    .venv/bin/python docs/images/render.py
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parent
EXAMPLES = IMAGES.parents[1] / "examples" / "build"
NUMASCAPE = Path(sysconfig.get_path("scripts")) / "numascape"


@dataclass(frozen=True)
class Picture:
    """What is recorded, and what of its report is photographed."""

    name: str
    example: str
    options: tuple[str, ...]
    structure: str
    part: str
    """CSS selector of what is photographed; empty for the page below its header."""
    scheme: str = "light"
    measure: str = "both"


PICTURES = (
    Picture("report", "matmul", ("naive", "-t", "16"), "B", ""),
    Picture("report-dark", "seismic", ("serial", "-t", "16"), "w->vx", "", "dark"),
    Picture("seismic-serial", "seismic", ("serial", "-t", "16"), "w->vx", ".figure-grid"),
    Picture("seismic-parallel", "seismic", ("parallel", "-t", "16"), "w->vx", ".figure-grid"),
    Picture("matmul-naive", "matmul", ("naive", "-t", "16"), "B", ".figure-grid"),
    Picture("matmul-block", "matmul", ("block", "-t", "16"), "C", ".figure-grid", measure="writes"),
)


def main() -> None:
    """Render every picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for picture in PICTURES:
            photograph(browser, picture, record(picture, Path(folder)))
        browser.close()


def record(picture: Picture, folder: Path) -> Path:
    """The report of the picture's example; made once for each way of running it."""
    page = folder / f"{picture.example}-{'-'.join(picture.options)}.html"
    if not page.exists():
        trace = page.with_suffix(".numascape")
        program = EXAMPLES / picture.example
        run = [NUMASCAPE, "record", "-o", trace, "--", program.name, *picture.options]
        subprocess.run(run, check=True, cwd=folder, env={"PATH": str(EXAMPLES)})
        subprocess.run([NUMASCAPE, "report", trace, "-o", page], check=True)
    return page


def photograph(browser: Browser, picture: Picture, report: Path) -> None:
    """Write the picture of the opened report as PNG."""
    size = {"width": 1360, "height": 860}
    page = browser.new_page(viewport=size, color_scheme=picture.scheme, device_scale_factor=1.5)
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    page.locator("table.structures .name").get_by_text(picture.structure, exact=True).click()
    page.get_by_label(picture.measure, exact=True).check(force=True)
    page.mouse.move(0, 0)
    file = IMAGES / f"{picture.name}.png"
    if picture.part:
        page.locator(picture.part).screenshot(path=file)
    else:
        # The header names this machine, which says nothing to a reader of the documents.
        top = page.locator("#standing-out").bounding_box()
        bottom = page.locator("#structure").bounding_box()
        assert top
        assert bottom
        height = bottom["y"] + bottom["height"] - top["y"] + 32
        clip = {"x": 0, "y": top["y"] - 16, "width": size["width"], "height": height}
        page.screenshot(path=file, full_page=True, clip=clip)
    page.close()
    print(file)


if __name__ == "__main__":
    main()
