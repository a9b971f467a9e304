# SPDX-License-Identifier: Apache-2.0
"""Renders the documents' pictures: of pages, of the terminal, and figures for papers.

The examples are recorded on the machine that runs this. Where a picture has several nodes, the page
shows the recorded run on a published machine, and says so.

Run it from the checkout after `make -C examples`, with the Python that Numascape is installed in.
The picture of a job needs Open MPI. With names it renders only these:

    .venv/bin/python docs/images/render.py [PICTURE ...]
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pages import FOUR_NODES, NUMASCAPE, SERIAL, VIEWS, trace_of
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.text import Text

import numascape
from numascape.balance.formats import write_graph
from numascape.balance.generators import jacobi2d

IMAGES = Path(__file__).parent
ROOT = IMAGES.parents[1]
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
    """A picture of a part of a report; `run` is an example with options."""

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
    machine: str = ""
    """The machine on which the report shows the run; empty: the one that recorded it."""
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
        SERIAL,
        structure="wave.vx",
        part="#structure",
        scheme="dark",
    ),
    Picture("seismic-serial", SERIAL, "", "wave.vx", ".figure-grid"),
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
    Picture("traffic", SERIAL, part="section.machine", machine=FOUR_NODES),
    Picture(
        "source-lines",
        SERIAL,
        structure="wave.vx",
        part="section:has(#source-lines)",
    ),
    Picture("call-paths", SERIAL, structure="wave.vx", part=".call-paths"),
    Picture(
        "functions",
        SERIAL,
        structure="wave.vx",
        part=".call-paths",
        choice="accessing functions",
    ),
    Picture("touching-calls", SERIAL, part=".call-paths", choice="touching calls"),
    Picture(
        "sampled-calls",
        ("seismic", "-n", "160", "-s", "20", "-t", "16", "serial"),
        part=".call-paths",
        recorded=("--recorder", "samples", "--event", "task-clock"),
        machine=FOUR_NODES,
        choice="remote samples",
    ),
    Picture(
        "over-time",
        SERIAL,
        part="section.time",
        recorded=("--traffic", "--cache", "256K,8,64"),
    ),
    Picture(
        "memory-lines",
        ("matmul", "naive", "-t", "16"),
        part="section:has(> .wide-frame > .scroll > table.structures)",
        recorded=("--traffic", "--cache", "256K,8,64"),
    ),
    Picture(
        "two-runs",
        SERIAL,
        structure="wave.vx",
        part=".pair",
        other=("seismic", "parallel", "-t", "16"),
    ),
    Picture("phases", SERIAL, "&phases=1", "wave.vx", phases_bar=True),
    Picture("window-390", SERIAL, machine=FOUR_NODES, window=Window(390, 1400, 1.5)),
    Picture(
        "window-390-dark",
        SERIAL,
        scheme="dark",
        machine=FOUR_NODES,
        window=Window(390, 1400, 1.5),
    ),
    Picture("window-1280", SERIAL, machine=FOUR_NODES, window=Window(1280, 1600)),
    Picture(
        "window-1920-dark", SERIAL, scheme="dark", machine=FOUR_NODES, window=Window(1920, 1600)
    ),
    Picture("window-3840", SERIAL, machine=FOUR_NODES, window=Window(3840, 2160, 0.5)),
    # A4 without its margins.
    Picture("printed", SERIAL, machine=FOUR_NODES, window=Window(718, 1047, 1.5, printed=True)),
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
        for view, page_of in VIEWS.items():
            if chosen(view):
                photograph_view(browser, view, page_of(folder))
        if chosen("show"):
            photograph_terminal(browser, trace_of(SERIAL, folder))
        browser.close()
        draw_plots([name for name in PLOTS if chosen(name)], folder)


PLOTS = ("plot-access", "plot-strip", "plot-phases")


def draw_plots(names: list[str], folder: Path) -> None:
    """Draw these figures for papers, of the serial run."""
    if not names:
        return
    plot = numascape.open(trace_of(SERIAL, folder)).plot
    figures = {
        "plot-access": lambda: plot.access("wave.vx"),
        "plot-strip": lambda: plot.strip(title=False),
        "plot-phases": lambda: plot.phases(width=14),
    }
    for name in names:
        figures[name]().savefig(IMAGES / f"{name}.png", dpi=220)
        reduce_colours(IMAGES / f"{name}.png")


def report_of(picture: Picture, folder: Path) -> Path:
    """The report of the picture's run, or of both its runs."""
    runs = [run for run in (picture.run, picture.other) if run]
    traces = [trace_of(run, folder, picture.recorded) for run in runs]
    page = folder / f"{'-'.join(trace.stem for trace in traces)}{picture.machine}.html"
    on = ["-m", picture.machine] if picture.machine else []
    if not page.exists():
        subprocess.run([NUMASCAPE, "report", "-q", *on, *traces, "-o", page], check=True)
    return page


def reduce_colours(file: Path) -> None:
    """Keep 256 colours: a third of the bytes, and no visible difference in these pictures."""
    with Image.open(file) as picture:
        every = picture.convert("RGB")
        reduced = every.quantize(256, Image.Quantize.MAXCOVERAGE, 1, dither=Image.Dither.NONE)
    reduced.save(file, optimize=True)
    print(file)


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
    reduce_colours(file)


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
    reduce_colours(IMAGES / "mappings.png")


def photograph_view(browser: Browser, name: str, file: Path) -> None:
    """Photograph the beginning of the page, in light and dark."""
    for scheme, ending in (("light", ""), ("dark", "-dark")):
        size = {"width": 1280, "height": 1100}
        page = browser.new_page(viewport=size, color_scheme=scheme, device_scale_factor=1)
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        page.evaluate(WITHOUT_FOLDERS, f"{ROOT}/")
        page.wait_for_timeout(500)
        height = min(1400, page.evaluate("document.body.scrollHeight"))
        page.set_viewport_size({"width": 1280, "height": height})
        page.wait_for_timeout(500)
        page.screenshot(path=IMAGES / f"{name}{ending}.png")
        page.close()
        reduce_colours(IMAGES / f"{name}{ending}.png")


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
    terminal.print(Text.from_ansi(printed.rstrip().replace(f"{ROOT}/", "")))
    page = browser.new_page(viewport={"width": 1300, "height": 1200}, device_scale_factor=1)
    svg = terminal.export_svg(title=f"numascape show {trace.name}")
    page.set_content(f"<body style='margin: 0'>{svg}</body>")
    file = IMAGES / "show.png"
    page.locator("svg").screenshot(path=file)
    page.close()
    reduce_colours(file)


if __name__ == "__main__":
    main(sys.argv[1:])
