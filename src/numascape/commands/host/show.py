# SPDX-License-Identifier: Apache-2.0
"""The verb `host show`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from numascape import terminal
from numascape.commands._metrics import write_metrics
from numascape.commands._options import JsonOption, PrometheusOption
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.host.node_memory import NodeMemory
    from numascape.host.state import HostState

RootOption = Annotated[
    Path,
    typer.Option(
        "--root", metavar="FOLDER", help="Read proc and sys below this folder.",
        show_default=False,
    ),
]  # fmt: skip
_BAR: Final = 40
# The parts of a node's bar, from left to right: attribute, label, letter, colour.
_PARTS: Final = (
    ("anonymous", "programs", "p", "blue"),
    ("shared", "tmpfs and shared", "s", "magenta"),
    ("dirty", "dirty cache", "d", "red"),
    ("mapped", "mapped cache", "m", "cyan"),
    ("clean", "clean cache", "c", "yellow"),
    ("slab", "slab", "k", "white"),
    ("huge", "huge pages", "h", "bright_blue"),
    ("other", "other", "o", "bright_black"),
)


def show(
    as_json: JsonOption = False,
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch",
            min=0.1,
            metavar="[SECONDS]",
            help="Repeat, with rates, until Ctrl-C; every 2 seconds by default.",
            show_default=False,
        ),
    ] = None,
    prometheus: PrometheusOption = None,
    root: RootOption = Path("/"),
) -> None:
    """Show what fills the memory of each node, and the settings and limits that matter.

    The kernel frees clean page cache when memory is needed, but first puts pages of programs on
    other nodes. It frees tmpfs and shared memory only when they are deleted. "Usable" is the memory
    that programs get before their pages go to other nodes.

    Example: `numascape host show --watch 2`
    """  # fmt: skip
    from numascape.host.state import read_state
    from numascape.host.state_document import host_prometheus as prometheus_text
    from numascape.host.state_document import state_document

    if as_json and (watch is not None or prometheus is not None):
        raise NumascapeError("--json cannot be used with --watch or --prometheus")
    if prometheus is not None:
        while True:
            write_metrics(prometheus, prometheus_text(read_state(root)))
            if watch is None:
                break
            time.sleep(watch)
    elif as_json:
        print(json.dumps(state_document(read_state(root)), indent=1))
    elif watch is not None:
        _watch(root, watch)
    else:
        print_state(read_state(root), None, terminal.output())


def _watch(root: Path, seconds: float) -> None:
    from rich.live import Live

    from numascape.host.state import read_state

    console = terminal.output()
    before, state = None, read_state(root)
    if not console.is_terminal:
        while True:
            print_state(state, before, console)
            time.sleep(seconds)
            before, state = state, read_state(root)
    with Live(_rendered(state, None), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(seconds)
            before, state = state, read_state(root)
            live.update(_rendered(state, before), refresh=True)


def print_state(state: HostState, before: HostState | None, console: Console) -> None:
    """Print bars, numbers, counters (rates since `before`), settings, limits and notes."""
    console.print(_rendered(state, before))


def _rendered(state: HostState, before: HostState | None) -> Group:
    lines: list[RenderableType] = [_bars(state), _legend(), _numbers(state)]
    counters = _counters(state, before)
    if counters is not None:
        lines.append(counters)
    return Group(*lines, *(Text(terminal.printable(line)) for line in _settings(state)))


def _bars(state: HostState) -> Table:
    from numascape.quantities import bytes_text

    table = Table.grid(padding=(0, 1))
    for node in state.nodes:
        text = Text(f"node {node.node}", "bold")
        table.add_row(text, _bar(node), f"{bytes_text(node.usable)} usable")
    return table


def _bar(node: NodeMemory) -> Text:
    """One letter per 1/40 of the node's memory; cumulative rounding keeps the bar's length."""
    bar, start, sofar = Text("["), 0, 0
    for name, _, letter, colour in _PARTS:
        sofar += getattr(node, name)
        end = min(_BAR, round(sofar / node.total * _BAR))
        bar.append(letter * (end - start), colour)
        start = max(start, end)
    return bar.append("." * (_BAR - start), "green").append("]")


def _legend() -> Text:
    text = Text("")
    for _, words, letter, colour in _PARTS:
        text.append(letter, colour).append(f" {words}  ")
    return text.append(".", "green").append(" free")


def _numbers(state: HostState) -> Table:
    from numascape.quantities import bytes_text

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for node in state.nodes:
        name = f"node {node.node}" + ("" if state.allowed(node.node) else " (not allowed)")
        table.add_column(name, justify="right", no_wrap=True)
    rows = [("total", "total"), ("free", "free"), ("usable", "usable, above the low watermark"),
            ("reclaimable", "reclaimable"), ("cache", "page cache")]  # fmt: skip
    rows += [("clean", "  clean"), ("dirty", "  dirty"), ("mapped", "  mapped")]
    rows += [("shared", "tmpfs and shared memory"), ("anonymous", "programs"), ("slab", "slab"),
             ("huge", "huge pages set aside"), ("huge_free", "  unused")]  # fmt: skip
    for name, title in rows:
        values = [getattr(node, name) for node in state.nodes]
        if any(values) or name not in {"huge", "huge_free", "shared"}:
            table.add_row(title, *(bytes_text(value) for value in values))
    marks = [node.watermarks for node in state.nodes]
    for name in ("minimum", "low", "high"):
        if any(marks):
            row = ["-" if mark is None else bytes_text(getattr(mark, name)) for mark in marks]
            table.add_row(f"watermark {name}", *row)
    return table


def _counters(state: HostState, before: HostState | None) -> Table | None:
    from numascape.host.rates import counter_rows
    from numascape.quantities import grouped_digits

    rows = counter_rows(state, before)
    if not rows:
        return None
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("pages/s since the last time" if before else "pages since the start")
    for node in state.nodes:
        table.add_column(f"node {node.node}", justify="right", no_wrap=True)
    for name, values in rows:
        table.add_row(name, *(grouped_digits(value) for value in values))
    return table


def _settings(state: HostState) -> list[str]:
    from numascape.machine.kernel_lists import format_cpu_list
    from numascape.quantities import bytes_text

    settings = {
        "numa_balancing": state.settings.numa_balancing,
        "zone_reclaim_mode": state.settings.zone_reclaim_mode,
        "transparent huge pages": state.settings.huge_pages,
        "their defrag": state.settings.huge_pages_defrag,
        "swappiness": state.settings.swappiness,
        "demotion": state.settings.demotion,
    }
    known = [f"{name} {value}" for name, value in settings.items() if value is not None]
    lines = [f"settings: {', '.join(known)}"] if known else []
    if state.limits.nodes is not None:
        lines.append(f"allowed nodes: {format_cpu_list(state.limits.nodes)}")
    group = state.limits.group
    if group is not None:
        lines.append(
            f"limit: {group.group} allows {bytes_text(group.limit)}, "
            f"{bytes_text(group.left)} of it are left"
        )
    largest = state.temporary_files[:3]
    lines += [f"tmpfs: {files.path} holds {bytes_text(files.used)}" for files in largest]
    return [*lines, *(f"note: {note}" for note in state.notes)]
