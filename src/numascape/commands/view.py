# SPDX-License-Identifier: Apache-2.0
"""The verb `view`."""

from __future__ import annotations

from contextlib import suppress
from threading import Event
from typing import Annotated

import typer

from numascape import terminal
from numascape.commands._jobs import DaskOption, MpiOption, is_job, read_job, refuse
from numascape.commands._options import ShownMachineOption, TraceArgument


def view(
    trace: TraceArgument,
    machine: ShownMachineOption = None,
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

    Of a job, it shows the page of the job, and the page of each rank when you open it.

    Example: `numascape view run.numascape`
    """
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.machine.sources import open_machine
    from numascape.report import on_machine
    from numascape.trace import Trace
    from numascape.view.job_site import JobSite
    from numascape.view.open import shown_in_browser, site_of
    from numascape.view.server import Served, serving

    site: Served
    if is_job(trace):
        refuse(trace, machine=machine)
        site = JobSite(read_job(trace, dask, mpi, quiet))
    else:
        opened = Trace.read(trace)
        if not quiet:
            terminal.say(f"reading {trace}")
        site = site_of(opened if machine is None else on_machine(opened, open_machine(machine)))
    with suppress(KeyboardInterrupt), serving(site, port, ipv6=ipv6) as address:
        print(address, flush=True)
        if not browser:
            _wait(quiet)
        else:
            with shown_in_browser(address) as shown:
                if not (shown or quiet):
                    terminal.say("no browser was found: open the address above in a browser")
                _wait(quiet)


def _wait(quiet: bool) -> None:
    if not quiet:
        terminal.say("press Ctrl-C to stop")
    ended = Event()
    # Polars sets a signal handler that restarts what it interrupts, so an endless wait would not
    # notice Ctrl-C.
    while not ended.wait(0.2):
        pass
