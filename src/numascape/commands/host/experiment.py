# SPDX-License-Identifier: Apache-2.0
"""The verb `host experiment`."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from numascape import terminal
from numascape.commands._options import NoProgressOption, output_to
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.host.experiment import Plan, Result


def experiment(
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="BYTES,...",
            show_default=False,
            help="Sizes of the file, such as 0,8G,16G; else nine up to all memory.",
        ),
    ] = None,
    mpi: Annotated[
        int | None,
        typer.Option(
            "--mpi",
            min=1,
            metavar="N",
            show_default=False,
            help="So many MPI processes; without mpirun, threads. Else one per node.",
        ),
    ] = None,
    fill: Annotated[
        float, typer.Option("--fill", min=0.001, max=0.8, help="The triad's share of all memory.")
    ] = 0.5,
    ways: Annotated[
        str | None,
        typer.Option(
            "--ways",
            metavar="WAY,...",
            show_default=False,
            help="Of: first touch, strict, swept, dropped (root), interleaved.",
        ),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Of each point.")] = 5,
    folder: Annotated[
        Path, typer.Option("--folder", help="Where to write the file; it never has a name.")
    ] = Path(),
    output: Annotated[
        Path | None, output_to("Write NAME.csv, and a plot NAME.svg.", metavar="NAME")
    ] = None,
    quiet: NoProgressOption = False,
) -> None:
    """Measure what a file in the page cache does to a program's pages and speed.

    For each size: empties the cache, writes the file from the first node, syncs, and runs a vector
    triad that fills half the memory: first touch, strictly bound, after a sweep, after a drop, and
    interleaved for comparison. Nothing else should run meanwhile.

    Example: `numascape host experiment --mpi 16 --folder /scratch -o cache`
    """  # fmt: skip
    from numascape.host.experiment import measure, results_csv
    from numascape.machine.conditions import conditions

    plan = _plan(sizes, mpi, fill, ways, samples, folder)
    notes = conditions(Path("/"))
    for sentence in notes:
        terminal.say(f"note: {sentence}")
    virtual = any("virtual machine" in sentence for sentence in notes)
    if virtual:
        terminal.say("note: only the placement is meaningful here; times are on real hardware")
    points = [(size, way) for size in plan.sizes for way in plan.ways]
    results = [
        measure(plan, size, way)
        for size, way in terminal.track(points, len(points), "Measuring", quiet)
    ]
    _print(results)
    if output is not None:
        _write(output, results, results_csv(results), virtual)


def _plan(
    sizes: str | None, mpi: int | None, fill: float, ways: str | None, samples: int, folder: Path
) -> Plan:
    from numascape.host.experiment import WAYS, Plan, fitting_bytes, plan_sizes
    from numascape.host.quantities import parse_bytes
    from numascape.host.state import read_state
    from numascape.host.triads import mpi_launcher

    state = read_state(Path("/"))
    if not folder.is_dir():
        raise NumascapeError(f"{folder} is no folder: name one that is on a disk with --folder")
    if ways is None:
        chosen = [way for way in WAYS if way != "dropped" or os.geteuid() == 0]
    else:
        chosen = [way.strip() for way in ways.split(",")]
    for way in chosen:
        if way not in WAYS:
            raise NumascapeError(f"there is no way {way!r}: choose of {', '.join(WAYS)}")
    if "dropped" in chosen and os.geteuid() != 0:
        raise NumascapeError("only root may drop caches: leave out the way 'dropped'")
    wanted = tuple(map(parse_bytes, sizes.split(","))) if sizes else plan_sizes(state)
    with_mpi = mpi is not None and mpi_launcher() is not None
    if mpi is not None and not with_mpi:
        terminal.say("note: there is no mpirun here, so threads do it")
    workers = mpi or len(state.nodes)
    return Plan(
        wanted, tuple(chosen), fitting_bytes(state, fill), workers, with_mpi, samples, folder
    )


def _print(results: list[Result]) -> None:
    from numascape.machine.wording import bytes_text

    nodes = sorted(results[0].cache)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in (
        "file",
        "way",
        "MFlop/s",
        "local share",
        "freed",
        *(f"cache on {n}" for n in nodes),
    ):
        table.add_column(title, justify="left" if title == "way" else "right", no_wrap=True)
    for result in results:
        table.add_row(
            bytes_text(result.size),
            result.way,
            f"{median(result.triad.mflops):.0f}",
            f"{result.triad.local_share:.3f}",
            bytes_text(sum(result.freed) * resource.getpagesize()),
            *(bytes_text(result.cache[node]) for node in nodes),
        )
    terminal.output().print(table)


def _write(output: Path, results: list[Result], text: str, virtual: bool) -> None:
    from numascape.atomic import replacing_file
    from numascape.figures.drawing import save
    from numascape.figures.experiment_picture import draw_experiment

    table, plot = (output.with_name(f"{output.name}{suffix}") for suffix in (".csv", ".svg"))
    with replacing_file(table) as beside:
        beside.write_text(text)
    save(draw_experiment(results, " (a virtual machine: times mean little)" * virtual), plot)
    terminal.say(f"wrote {table} and {plot}")
