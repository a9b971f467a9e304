# SPDX-License-Identifier: Apache-2.0
"""The verb `pages`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from numascape import terminal
from numascape.commands._metrics import write_metrics
from numascape.commands._options import JsonOption, PrometheusOption
from numascape.commands._written import say_written
from numascape.errors import NumascapeError
from numascape.quantities import counted

# Numbers of processes in a message.
_NAMED: Final = 8

if TYPE_CHECKING:
    from rich.console import Group

    from numascape.live.followed import Followed
    from numascape.live.snapshot import Snapshot
    from numascape.live.targets import TargetProcess


def pages(
    pid: Annotated[
        list[str] | None,
        typer.Option(
            "--pid",
            "-p",
            metavar="PROCESS",
            help="A number, a name, or the path of a control group; may be given several times.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Show the N largest structures.")
    ] = 20,
    detail: Annotated[
        bool,
        typer.Option("--detail", help="Show each tensor and section, not only layers and files."),
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Examine every page, also of a process with more than 16 GiB in memory.",
        ),
    ] = False,
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch",
            min=0.1,
            metavar="[SECONDS]",
            help="Repeat until Ctrl-C, or until the process ends; every 2 seconds by default.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Write a page for the browser (.html).",
        ),
    ] = None,
    as_json: JsonOption = False,
    prometheus: PrometheusOption = None,
) -> None:
    """Show on which nodes the memory and the threads of a running process are.

    Memory is shown by variable, mapping, stack, file, and by layer of the models in GGUF and
    safetensors files. The process is not stopped, and none of its pages is touched.

    Example: `numascape pages --pid llama-server --watch`

    Example: `numascape pages --pid postgres -o postgres.html`
    """
    from numascape.live.followed import Followed

    if not pid:
        raise NumascapeError("no process given: use numascape pages --pid PROCESS")
    if as_json and prometheus is not None:
        raise NumascapeError("--json cannot be used with --prometheus")
    if output is not None:
        _check_page(output, as_json or watch is not None or prometheus is not None)
    watched = Followed(pid)
    if as_json:
        _print_json(watched, exact, watch)
    elif output is not None:
        from numascape.live.shared_files import read_shared_files
        from numascape.report.process_page import render_processes

        snapshots = _snapshots(watched, exact)
        files = read_shared_files(snapshots)
        say_written(output, render_processes(snapshots, files, detail, output))
    elif prometheus is not None:
        _export(prometheus, watched, exact, watch)
    elif watch is None:
        from numascape.console.pages import drawn
        from numascape.live.shared_files import read_shared_files

        console = terminal.output()
        snapshots = _snapshots(watched, exact)
        console.print(drawn(snapshots, read_shared_files(snapshots), console, top, detail))
    else:
        _watch(watched, exact, watch, top, detail)


def _check_page(file: Path, has_other_output: bool) -> None:
    if has_other_output:
        raise NumascapeError("-o cannot be used with --json, --watch or --prometheus")
    if file.suffix.lower() != ".html":
        raise NumascapeError(f"{file}: a page for the browser is a file that ends in .html")


def _snapshots(watched: Followed, exact: bool) -> list[Snapshot]:
    """The snapshots of the processes that still run; raises NumascapeError if none does."""
    snapshots, refused = watched.snapshots(exact)
    if refused:
        terminal.say(_not_shown(refused))
    if not snapshots:
        raise NumascapeError("the processes have ended")
    return snapshots


def _not_shown(refused: list[TargetProcess]) -> str:
    pids = ", ".join(str(target.pid) for target in refused[:_NAMED])
    more = ", ..." if len(refused) > _NAMED else ""
    are, belong = ("is", "belongs") if len(refused) == 1 else ("are", "belong")
    return (
        f"{counted(len(refused), 'process')} {are} not shown, which {belong} to another user or "
        f"{are} privileged: {pids}{more}; sudo shows all"
    )


def _print_json(watched: Followed, exact: bool, seconds: float | None) -> None:
    """Print one document; with `seconds`, one in each line."""
    from numascape.live.document import pages_document
    from numascape.live.shared_files import read_shared_files

    first = _snapshots(watched, exact)
    if seconds is None:
        print(json.dumps(pages_document(first, read_shared_files(first)), indent=1))
        return
    print(json.dumps(pages_document(first, read_shared_files(first))), flush=True)
    for snapshots in _repeatedly(watched, exact, seconds):
        print(json.dumps(pages_document(snapshots, read_shared_files(snapshots))), flush=True)


def _watch(watched: Followed, exact: bool, seconds: float, top: int, detail: bool) -> None:
    from rich.live import Live

    from numascape.console.pages import drawn, fitted
    from numascape.live.shared_files import read_shared_files

    console = terminal.output()

    def screen(snapshots: list[Snapshot]) -> Group:
        files = read_shared_files(snapshots)
        if not console.is_terminal:
            return drawn(snapshots, files, console, top, detail)
        # The cursor is in the last line.
        return fitted(snapshots, files, console, top, detail, console.height - 1)

    first = _snapshots(watched, exact)
    if not console.is_terminal:
        console.print(screen(first))
        for snapshots in _repeatedly(watched, exact, seconds):
            console.print(screen(snapshots))
        return
    with Live(screen(first), console=console, auto_refresh=False) as live:
        for snapshots in _repeatedly(watched, exact, seconds):
            live.update(screen(snapshots), refresh=True)


def _repeatedly(watched: Followed, exact: bool, seconds: float) -> Iterator[list[Snapshot]]:
    """The snapshots after each pause, until no process is left."""
    while True:
        time.sleep(seconds)
        snapshots, _ = watched.snapshots(exact)
        if not snapshots:
            return
        yield snapshots


def _export(file: Path, watched: Followed, exact: bool, seconds: float | None) -> None:
    from numascape.live.document import process_prometheus

    write_metrics(file, process_prometheus(_snapshots(watched, exact)))
    if seconds is not None:
        for snapshots in _repeatedly(watched, exact, seconds):
            write_metrics(file, process_prometheus(snapshots))
