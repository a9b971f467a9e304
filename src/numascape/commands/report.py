# SPDX-License-Identifier: Apache-2.0
"""The verb `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.commands._options import QuietOption, ShownMachineOption, TraceArgument, output_to


def report(
    trace: TraceArgument,
    output: Annotated[
        Path | None, output_to("The file to write. Default: the name of the trace with .html.")
    ] = None,
    source: Annotated[
        bool | None,
        typer.Option(
            "--source/--no-source",
            help="Show source text, or not. Default: only if the trace was recorded on this "
            "system.",
            show_default=False,
        ),
    ] = None,
    machine: ShownMachineOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write a report: which thread uses which memory page, and which thread touched it first.

    The report is one HTML file of at most 5 MB. It needs no network and no server. Open it in a
    browser, or send it to a colleague.

    Example: `numascape report run.numascape --machine numa16`
    """
    # Imported here, because help and completion should not wait for the data frames.
    from numascape.machine.sources import open_machine
    from numascape.report import draft, on_machine, readable_sources, render
    from numascape.trace import Trace

    file = output or Path(trace.resolve().name).with_suffix(".html")
    recorded = Trace.read(trace)
    if machine is not None:
        recorded = on_machine(recorded, open_machine(machine))
    size = render(draft(recorded, readable_sources(recorded.info, source)), file)
    if not quiet:
        terminal.say(f"wrote {file} ({size / 1e6:.1f} MB)")
        terminal.say(f"look at it in a browser: xdg-open {file}")
