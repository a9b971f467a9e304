# SPDX-License-Identifier: Apache-2.0
"""The verb `view`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from numascape import terminal
from numascape.commands._jobs import DaskOption, MpiOption, is_job, open_analysed_job, refuse
from numascape.commands._options import ShownMachinesOption, TraceArgument
from numascape.commands._pairs import OtherTraceArgument, open_pair, refuse_engines

if TYPE_CHECKING:
    from numascape.view.server import Served


def view(
    trace: TraceArgument,
    other: OtherTraceArgument = None,
    machine: ShownMachinesOption = None,
    dask: DaskOption = None,
    mpi: MpiOption = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0: any free port.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in your browser.")
    ] = True,
    ipv6: Annotated[bool, typer.Option("--ipv6", help="Also listen on ::1.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only the address and errors.")
    ] = False,
) -> None:
    """Show a trace in the browser, down to single memory pages; Ctrl-C ends it.

    It shows the same as `numascape report`. If a column combines several pages and you zoom in, the
    counts of the single pages are loaded. The address works on this machine only. It contains a
    secret: everybody who has the address can see the trace.

    For a job, it shows the page of the job, and the page of each rank when you open it. For two
    traces, it shows both side by side, and the report of each when you open it.

    Example: `numascape view run.numascape`
    """
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.view.open import shown_in_browser
    from numascape.view.server import serving_page

    if other is None:
        site = _site_of_one(trace, machine, dask, mpi, quiet)
    else:
        refuse_engines(dask, mpi)
        site = _site_of_two(trace, other, machine, quiet)
    with suppress(KeyboardInterrupt), serving_page(site, port, ipv6=ipv6) as address:
        print(address, flush=True)
        if not browser:
            _wait(quiet)
        else:
            with shown_in_browser(address) as shown:
                if not (shown or quiet):
                    terminal.say("no browser was found: open the address above in a browser")
                _wait(quiet)


def _site_of_one(
    trace: Path, machines: list[str] | None, dask: str | None, mpi: bool, quiet: bool
) -> Served:
    from numascape.report import shown_and_others
    from numascape.trace import Trace
    from numascape.view.job_site import JobSite
    from numascape.view.open import site_of

    if is_job(trace):
        refuse(trace, machine=machines)
        return JobSite(open_analysed_job(trace, dask, mpi, quiet))
    opened = Trace.read(trace)
    if not quiet:
        terminal.say(f"reading {trace}")
    return site_of(*shown_and_others(opened, machines or ()))


def _site_of_two(trace: Path, other: Path, machines: list[str] | None, quiet: bool) -> Served:
    from numascape.comparison.site import ComparisonSite

    if not quiet:
        terminal.say(f"reading {trace} and {other}")
    return ComparisonSite(*open_pair(trace, other, machines))


def _wait(quiet: bool) -> None:
    if not quiet:
        terminal.say("press Ctrl-C to stop")
    ended = Event()
    # Polars sets a signal handler that restarts what it interrupts, so an endless wait would not
    # notice Ctrl-C.
    while not ended.wait(0.2):
        pass
