# SPDX-License-Identifier: Apache-2.0
"""Measures the speed of the report: writing, opening in Chromium, zooming; and windows of `view`.

The traces are those of tests/synthetic.
"""

import os
import random
import shutil
import statistics
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console

from bench.measure import machine, run
from bench.synthetic_traces import SyntheticTrace
from bench.tables import ResultTable, Row, publish
from numascape.report.phases import shown_phases
from numascape.trace import Trace
from numascape.view.site import encode_window
from numascape.view.windows import WindowRequest, Windows

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from synthetic.patterns import many_pages, many_phases, many_threads, naive_matmul
from synthetic.write import write_pattern

console = Console(stderr=True)
NUMASCAPE = Path(sysconfig.get_path("scripts")) / "numascape"
CHROMIUM = os.environ.get("NUMASCAPE_CHROMIUM") or shutil.which("chromium")
WINDOWS = 100
COLUMNS = 4096
# The time when the figures first appear: two frames after the page is ready.
DRAWN = """
new MutationObserver((_, observer) => {
    if (document.documentElement?.dataset.ready !== "yes") return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => (window.drawnAt = performance.now())));
}).observe(document, { subtree: true, childList: true, attributes: true });
"""
WAIT = """() => new Promise((done) => {
    const look = () => window.drawnAt ? done(window.drawnAt) : requestAnimationFrame(look);
    look();
})"""
KEYS = ("+",) * 12 + ("ArrowRight", "ArrowLeft") * 6 + ("]", "[", "-") * 4 + ("0",)


CASES = (
    SyntheticTrace("small: 4 threads, 384 pages", lambda: naive_matmul(256, 4)),
    SyntheticTrace("1024 threads, 9216 pages", many_threads),
    SyntheticTrace("10 million pages, 64 threads", many_pages),
    SyntheticTrace("64 threads, 64 phases", many_phases),
)


@dataclass(frozen=True)
class DrawingTimes:
    """Milliseconds in the browser until the figures appeared, and for each redrawing."""

    opened: float
    redrawn: list[float]


def seen_in(browser: Browser, report: Path) -> DrawingTimes:
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    page.add_init_script(DRAWN)
    page.goto(report.as_uri())
    opened = float(page.evaluate(WAIT))
    page.locator(".figures").focus()
    for key in KEYS:
        page.keyboard.press(key)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
    redrawn = page.evaluate(
        'performance.getEntriesByName("numascape:redraw").map(({ duration }) => duration)'
    )
    page.close()
    return DrawingTimes(opened, [float(duration) for duration in redrawn])


def report_row(browser: Browser, case: SyntheticTrace, trace: Trace, rounds: int) -> Row:
    file = trace.path.with_suffix(".html")
    command = [str(NUMASCAPE), "report", str(trace.path), "-o", str(file)]
    costs = [run(command) for _ in range(rounds)]
    seen = [seen_in(browser, file) for _ in range(rounds)]
    redrawn = [duration for one in seen for duration in one.redrawn]
    return [
        case.name,
        sum(part.stat().st_size for part in trace.path.iterdir()) / 1e6,
        statistics.median(cost.wall_s for cost in costs),
        file.stat().st_size / 1e6,
        statistics.median(one.opened for one in seen) / 1000,
        statistics.median(redrawn),
        max(redrawn),
    ]


def view_row(case: SyntheticTrace, trace: Trace) -> Row:
    """The time of `numascape view` for the first window of a structure, and for others."""
    shown = shown_phases(trace)
    windows = Windows(trace, {}, shown.of)
    pages = int(trace.structures.item(0, "pages"))
    chance = random.Random(1)

    def seconds(first: int, end: int) -> float:
        start = time.perf_counter()
        wanted = WindowRequest(0, None, first, end, COLUMNS)
        encode_window(wanted, windows.answer(wanted))
        return time.perf_counter() - start

    trace.accesses, trace.first_touch  # noqa: B018  reading them is not the window's cost
    first = seconds(0, pages)
    later = []
    for _ in range(WINDOWS):
        # From a few pages to all pages, with each order of magnitude equally often.
        width = max(1, round(pages ** chance.random()))
        at = chance.randrange(pages - width + 1)
        later.append(1000 * seconds(at, at + width))
    return [case.name, first, statistics.median(later), max(later)]


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of each measurement.")] = 5,
    write: Annotated[bool, typer.Option(help="Write bench/results/report.md and .json.")] = True,
) -> None:
    """Measure the speed of the report and of `numascape view`, for small to large traces."""
    load = os.getloadavg()[0]
    reports, views = [], []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        version = browser.version
        for number, case in enumerate(CASES):
            console.print(f"{case.name}: {rounds} rounds")
            trace = write_pattern(case.pattern(), Path(folder) / f"{number}.numascape")
            reports.append(report_row(browser, case, trace, rounds))
            views.append(view_row(case, trace))
        browser.close()
    tables = [
        ResultTable(
            "Report",
            ["trace", "trace MB", "written s", "page MB", "opened s", "redrawn ms", "slowest ms"],
            reports,
            f"Medians of {rounds} rounds; slowest: of all redrawings. Written: the whole command. "
            "Opened: from the start of the navigation to the first figures on the screen. Redrawn: "
            f"after each of {len(KEYS)} keys that zoom and move. Chromium {version}, headless, "
            "drawing without a graphics processor, 1600 x 1000 pixels.",
        ),
        ResultTable(
            "Windows of numascape view",
            ["trace", "first s", "later ms", "slowest ms"],
            views,
            f"Of the first structure; {WINDOWS} later windows of random place and size.",
        ),
    ]
    # Times, unlike ratios, are meaningful only if the machine is idle.
    about = {**machine(), "other_work": f"load average {load:.1f} before the first round"}
    publish("report", about, tables, write)


if __name__ == "__main__":
    typer.run(main)
