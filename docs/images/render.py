# SPDX-License-Identifier: Apache-2.0
"""Renders the documents' pictures: of reports, of the terminal, and figures for papers.

The examples are recorded on the machine that runs this. A run on four nodes is constructed
(tests/synthetic), because few machines have four nodes; the documents say so.

Run it from the checkout after `make -C examples`, with the Python that Numascape is installed in;
with names it renders only these:

    .venv/bin/python docs/images/render.py [PICTURE ...]
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.text import Text

import numascape
from numascape.balance.formats import write_graph
from numascape.balance.generators import jacobi2d

IMAGES = Path(__file__).parent
ROOT = IMAGES.parents[1]
EXAMPLES = ROOT / "examples" / "build"
NUMASCAPE = Path(sysconfig.get_path("scripts")) / "numascape"
sys.path.insert(0, str(ROOT / "tests"))
from synthetic.heat import heat  # noqa: E402
from synthetic.pattern import Pattern  # noqa: E402
from synthetic.patterns import seismic  # noqa: E402
from synthetic.write import write_pattern  # noqa: E402

MADE_UP: dict[str, Callable[[], Pattern]] = {"heat": heat, "stencil": seismic}
# Everything is drawn immediately, and nothing covers something else.
AT_REST = ".phases-bar { position: static !important; }"
WITHOUT_THE_RUN = "section:has(> dl.facts), dl.facts { display: none !important; }"


# The path of this checkout is of no use to a reader of the documents.
WITHOUT_FOLDERS = """(folder) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const { data } = texts.currentNode;
        if (data.includes(folder)) texts.currentNode.data = data.replaceAll(folder, "");
    }
}"""


@dataclass(frozen=True)
class Window:
    """A window in CSS pixels, and the number of dots on the screen for each CSS pixel."""

    width: int
    height: int
    dots: float = 1
    printed: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture of a part of a report; `run` is an example with options, or a constructed run."""

    name: str
    run: tuple[str, ...]
    address: str = ""
    structure: str = ""
    part: str = ""
    """CSS selector; empty for the page from what stands out to the table of structures."""
    scheme: str = "light"
    phases_bar: bool = False
    """Photograph the window with the bar at its bottom."""
    recorded: tuple[str, ...] = ()
    """Options of the recording."""
    other: tuple[str, ...] = ()
    """The second run of a page of two."""
    choice: str = ""
    """The label of what is chosen in the part."""
    window: Window | None = None
    """Photograph what this window shows first, without this machine's name."""


PICTURES = (
    Picture("report", ("matmul", "naive", "-t", "16"), structure="B"),
    Picture(
        "report-dark",
        ("seismic", "serial", "-t", "16"),
        structure="wave.vx",
        part="#structure",
        scheme="dark",
    ),
    Picture("seismic-serial", ("seismic", "serial", "-t", "16"), "", "wave.vx", ".figure-grid"),
    Picture("seismic-parallel", ("seismic", "parallel", "-t", "16"), "", "wave.vx", ".figure-grid"),
    Picture("containers-vector", ("containers", "-t", "16", "vector"), "", "cells", ".figure-grid"),
    Picture(
        "containers-segmented",
        ("containers", "-t", "16", "segmented"),
        structure="cells",
        part=".figure-grid",
    ),
    Picture("matmul-naive", ("matmul", "naive", "-t", "16"), "", "B", ".figure-grid"),
    Picture(
        "matmul-block", ("matmul", "block", "-t", "16"), "&measure=writes", "C", ".figure-grid"
    ),
    Picture("sharing", ("seismic", "parallel", "-t", "16"), part="section.sharing"),
    Picture("traffic", ("heat",), part="section.machine"),
    Picture(
        "source-lines",
        ("seismic", "serial", "-t", "16"),
        structure="wave.vx",
        part="section:has(#source-lines)",
    ),
    Picture(
        "call-paths", ("seismic", "serial", "-t", "16"), structure="wave.vx", part=".call-paths"
    ),
    Picture(
        "functions",
        ("seismic", "serial", "-t", "16"),
        structure="wave.vx",
        part=".call-paths",
        choice="accessing functions",
    ),
    Picture(
        "over-time",
        ("seismic", "serial", "-t", "16"),
        part="section.time",
        recorded=("--traffic", "--cache", "256K,8,64"),
    ),
    Picture(
        "memory-lines",
        ("matmul", "naive", "-t", "16"),
        part="section:has(> .scroll > table.structures)",
        recorded=("--traffic", "--cache", "256K,8,64"),
    ),
    Picture(
        "two-runs",
        ("seismic", "serial", "-t", "16"),
        structure="wave.vx",
        part=".pair",
        other=("seismic", "parallel", "-t", "16"),
    ),
    Picture("phases", ("seismic", "serial", "-t", "16"), "&phases=1", "wave.vx", phases_bar=True),
    Picture("window-390", ("stencil",), window=Window(390, 1400, 1.5)),
    Picture("window-390-dark", ("stencil",), scheme="dark", window=Window(390, 1400, 1.5)),
    Picture("window-1280", ("stencil",), window=Window(1280, 1600)),
    Picture("window-1920-dark", ("stencil",), scheme="dark", window=Window(1920, 1600)),
    Picture("window-3840", ("stencil",), window=Window(3840, 2160, 0.5)),
    # A4 without its margins.
    Picture("printed", ("stencil",), window=Window(718, 1047, 1.5, printed=True)),
)


def main(wanted: list[str]) -> None:
    """Render the pictures with these names, or every picture."""

    def chosen(name: str) -> bool:
        return not wanted or name in wanted

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for picture in filter(lambda one: chosen(one.name), PICTURES):
            photograph(browser, picture, report_of(picture, folder))
        if chosen("mappings"):
            photograph_mappings(browser, folder)
        if chosen("show"):
            photograph_terminal(browser, trace_of(("stencil",), folder))
        browser.close()
        plot = numascape.open(trace_of(("stencil",), folder)).plot
        if chosen("plot-access"):
            plot.access("grid->vx").savefig(IMAGES / "plot-access.png", dpi=220)
        if chosen("plot-strip"):
            plot.strip(title=False).savefig(IMAGES / "plot-strip.png", dpi=220)
        if chosen("plot-phases"):
            recorded = trace_of(("seismic", "serial", "-t", "16"), folder)
            figure = numascape.open(recorded).plot.phases(width=14)
            figure.savefig(IMAGES / "plot-phases.png", dpi=220)


def trace_of(run: tuple[str, ...], folder: Path, options: tuple[str, ...] = ()) -> Path:
    """The trace of the run; each run is recorded, or constructed, only once."""
    trace = folder / f"{'-'.join((*run, *options))}.numascape"
    if trace.exists():
        return trace
    if run[0] in MADE_UP:
        return write_pattern(MADE_UP[run[0]](), trace).path
    command = [NUMASCAPE, "record", "-q", *options, "-o", trace, "--", *run]
    subprocess.run(command, check=True, cwd=folder, env={"PATH": str(EXAMPLES)})
    return trace


def report_of(picture: Picture, folder: Path) -> Path:
    """The report of the picture's run, or of both its runs."""
    runs = [run for run in (picture.run, picture.other) if run]
    traces = [trace_of(run, folder, picture.recorded) for run in runs]
    page = folder / f"{'-'.join(trace.stem for trace in traces)}.html"
    if not page.exists():
        subprocess.run([NUMASCAPE, "report", "-q", *traces, "-o", page], check=True)
    return page


def photograph(browser: Browser, picture: Picture, report: Path) -> None:
    """Write the picture of the opened report as PNG."""
    # The window is high enough for everything: other parts are only drawn when they are visible.
    window = picture.window or Window(1360, 860 if picture.phases_bar else 4000, 1.5)
    size = {"width": window.width, "height": window.height}
    page = browser.new_page(
        viewport=size, color_scheme=picture.scheme, device_scale_factor=window.dots
    )
    page.emulate_media(media="print" if window.printed else "screen")
    page.goto(f"{report.as_uri()}#v=1{picture.address}")
    page.wait_for_selector("html[data-ready=yes]")
    if picture.structure:
        page.locator("table.structures .name").get_by_text(
            picture.structure, exact=True
        ).first.click()
    if picture.choice:
        page.locator(picture.part).get_by_label(picture.choice).check(force=True)
    page.mouse.move(0, 0)
    page.evaluate(WITHOUT_FOLDERS, f"{ROOT}/")
    file = IMAGES / f"{picture.name}.png"
    if picture.window:
        page.add_style_tag(content=WITHOUT_THE_RUN)
        page.wait_for_timeout(500)
        page.screenshot(path=file)
    elif picture.phases_bar:
        page.locator(".figure-grid").evaluate("grid => grid.scrollIntoView({ block: 'end' })")
        page.wait_for_timeout(500)
        page.screenshot(path=file)
    else:
        page.add_style_tag(content=AT_REST)
        page.wait_for_timeout(500)
        if picture.part:
            page.locator(picture.part).first.screenshot(path=file)
        else:
            photograph_page(page, file)
    page.close()
    print(file)


def photograph_page(page: Page, file: Path) -> None:
    """From the findings to the structures, without the name of this machine."""
    page.add_style_tag(content=WITHOUT_THE_RUN)
    top = page.locator("#standing-out").bounding_box()
    bottom = page.locator("table.structures").bounding_box()
    assert top
    assert bottom
    height = bottom["y"] + bottom["height"] - top["y"] + 32
    clip = {"x": 0, "y": top["y"] - 16, "width": 1360, "height": height}
    page.screenshot(path=file, full_page=True, clip=clip)


def photograph_mappings(browser: Browser, folder: Path) -> None:
    """The chosen mapping of a stencil; the table above it has times of this machine."""
    tasks, file = folder / "stencil.json", folder / "mappings.html"
    write_graph(tasks, jacobi2d(256, 32))
    command = [NUMASCAPE, "balance", tasks, "-m", "numa32", "-a", "numalb", "-p", file]
    subprocess.run(command, check=True, capture_output=True)
    page = browser.new_page(viewport={"width": 1360, "height": 3000}, device_scale_factor=1)
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    page.add_style_tag(content="main > :first-child { display: none }")
    page.wait_for_timeout(500)
    page.locator("main").screenshot(path=IMAGES / "mappings.png")
    page.close()
    print(IMAGES / "mappings.png")


def photograph_terminal(browser: Browser, trace: Path) -> None:
    """The output of `numascape show` on a terminal of 100 columns with colours."""
    command = [NUMASCAPE, "show", trace.name]
    colours = {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm-256color"}
    printed = subprocess.run(
        command,
        cwd=trace.parent,
        env={**os.environ, **colours, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    terminal = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    terminal.print(Text.from_ansi(printed.rstrip()))
    page = browser.new_page(viewport={"width": 1300, "height": 1200}, device_scale_factor=1)
    svg = terminal.export_svg(title=f"numascape show {trace.name}")
    page.set_content(f"<body style='margin: 0'>{svg}</body>")
    file = IMAGES / "show.png"
    page.locator("svg").screenshot(path=file, omit_background=True)
    page.close()
    print(file)


if __name__ == "__main__":
    main(sys.argv[1:])
