# SPDX-License-Identifier: Apache-2.0
"""The verb `compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.commands._jobs import open_trace
from numascape.commands._options import GainMachineOption, JsonOption
from numascape.commands._written import say_written


def compare(
    before: Annotated[
        Path, typer.Argument(metavar="BEFORE", help="The first trace.", show_default=False)
    ],
    after: Annotated[
        Path,
        typer.Argument(metavar="AFTER", help="The second trace.", show_default=False),
    ],
    machine: GainMachineOption = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write the page of both runs side by side, as `numascape report` does.",
            show_default=False,
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="METRIC+N[%]",
            help="Exit with status 1 if METRIC rises by more than N (for a share: N percentage "
            "points), or by more than N %: remote-share, foreign-share, busiest-node-share, "
            "accesses, reads, writes, pages, threads, findings. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also print structures with few accesses.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two recorded runs, before and after a change, structure by structure.

    The first line says what changed. The sentence below each run is the conclusion of `advise`.
    Structures match by name, kind and place in the source. Column foreign: the share of accesses to
    pages that another thread touched first. Column remote: the share of accesses to pages on
    another node than the thread. Column first: the thread that touched most pages of the structure
    first. A job, whose ranks ran on one host, is compared as one run with the threads of all ranks.

    Example: `numascape compare before.numascape after.numascape --fail-if remote-share+5`
    """
    from numascape.comparison import compare_traces, parse_condition
    from numascape.comparison.document import comparison_document
    from numascape.comparison.printing import print_comparison
    from numascape.machine.sources import open_machine

    conditions = [parse_condition(text) for text in fail_if or []]
    traces = open_trace(before), open_trace(after)
    target = None if machine is None else open_machine(machine)
    comparison = compare_traces(*traces, target)
    failures = [
        f"{failure} ({condition.text})"
        for condition in conditions
        if (failure := condition.failure(comparison)) is not None
    ]
    if html is not None:
        from numascape.comparison.page import render_comparison

        say_written(html, render_comparison(comparison, traces, html))
    if as_json:
        print(json.dumps(comparison_document(comparison), indent=1))
    elif html is None:
        print_comparison(terminal.output(), comparison, every=every)
    for failure in failures:
        terminal.say(failure)
    raise typer.Exit(1 if failures else 0)
