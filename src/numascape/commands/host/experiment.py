# SPDX-License-Identifier: Apache-2.0
"""The verb `host experiment`."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table

from numascape import terminal
from numascape.commands._options import NoProgressOption, output_to
from numascape.commands._written import check_folders, say_written
from numascape.errors import NumascapeError

if TYPE_CHECKING:
    from numascape.host.experiment import ExperimentResult
    from numascape.host.state import HostState
    from numascape.report.experiment import Experiment

_SAMPLES: Final = 5
_SAMPLES_IF_VIRTUAL: Final = 1
_NO_TIMES: Final = "in a virtual machine, placement is meaningful, but times are not"


def experiment(
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="BYTES,...",
            show_default=False,
            help="Sizes of the file, for example 0,8G,16G. Default: nine, up to all memory; in a "
            "virtual machine, five.",
        ),
    ] = None,
    mpi: Annotated[
        int | None,
        typer.Option(
            "--mpi",
            min=1,
            metavar="N",
            show_default=False,
            help="Number of MPI processes (without mpirun: threads). Default: one per node.",
        ),
    ] = None,
    fill: Annotated[
        float,
        typer.Option("--fill", min=0.001, max=0.8, help="Share of all memory that the triad uses."),
    ] = 0.5,
    ways: Annotated[
        str | None,
        typer.Option(
            "--ways",
            metavar="WAY,...",
            show_default=False,
            help="Some of: first touch, strict, swept, dropped (root), interleaved.",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            min=1,
            show_default=False,
            help="Samples per point. Default: 5; in a virtual machine, where times are not "
            "meaningful, 1.",
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--folder", help="The folder for the file; the file has no name.")
    ] = Path(),
    output: Annotated[
        Path | None,
        output_to("Write NAME.csv, a page NAME.html, and a plot NAME.svg.", metavar="NAME"),
    ] = None,
    quiet: NoProgressOption = False,
) -> None:
    """Measure the effect of a file in the page cache on the placement and speed of a program.

    For each size, it empties the page cache, reads a file of zeros on the first node, and runs a
    vector triad that fills half of the memory. The triad runs with first touch, strictly bound,
    after a sweep, after a drop, and interleaved. Run nothing else at the same time.

    Example: `numascape host experiment --mpi 16 --folder /scratch -o cache`
    """  # fmt: skip
    from numascape.host.experiment import ExperimentPlan, fitting_bytes, measure_point
    from numascape.host.state import read_state
    from numascape.machine.conditions import conditions

    check_folders(output)
    notes = conditions(Path("/"))
    virtual = any("virtual machine" in sentence for sentence in notes)
    usual_samples = _SAMPLES_IF_VIRTUAL if virtual else _SAMPLES
    state = read_state(Path("/"))
    if not folder.is_dir():
        raise NumascapeError(f"{folder} is not a folder: use --folder to name one on a disk")
    plan = ExperimentPlan(
        _sizes(sizes, state, virtual), _ways(ways), fitting_bytes(state, fill),
        *_workers(mpi, state), samples or usual_samples, folder,
    )  # fmt: skip
    for sentence in notes:
        terminal.say(f"note: {sentence}")
    if virtual:
        terminal.say(f"note: {_NO_TIMES}")
    points = [(size, way) for size in plan.sizes for way in plan.ways]
    results = [
        measure_point(plan, size, way)
        for size, way in terminal.track(points, len(points), "Measuring", quiet)
    ]
    _print(results)
    if output is not None:
        from numascape.report.experiment import Experiment

        if virtual:
            notes = [*notes, _NO_TIMES]
        done = Experiment(results, plan.bytes, plan.workers, plan.mpi, notes)
        _write(output, done, virtual)


def _sizes(sizes: str | None, state: HostState, virtual: bool) -> tuple[int, ...]:
    """The sizes of the file that `--sizes` names, or the usual ones."""
    from numascape.host.experiment import plan_sizes
    from numascape.quantities import parse_bytes

    return tuple(map(parse_bytes, sizes.split(","))) if sizes else plan_sizes(state, virtual)


def _ways(ways: str | None) -> tuple[str, ...]:
    """The ways that `--ways` names, or all that this user may try."""
    from numascape.host.experiment import WAYS

    is_root = os.geteuid() == 0
    if ways is None:
        return tuple(way for way in WAYS if way != "dropped" or is_root)
    chosen = tuple(way.strip() for way in ways.split(","))
    for way in chosen:
        if way not in WAYS:
            raise NumascapeError(f"there is no way {way!r}: choose from {', '.join(WAYS)}")
    if "dropped" in chosen and not is_root:
        raise NumascapeError("only root may drop caches: leave out the way 'dropped'")
    return chosen


def _workers(mpi: int | None, state: HostState) -> tuple[int, bool]:
    """How many processes or threads run the triad, and whether they are processes of MPI."""
    from numascape.host.triads import mpi_launcher

    with_mpi = mpi is not None and mpi_launcher() is not None
    if mpi is not None and not with_mpi:
        terminal.say("note: mpirun was not found, so threads are used")
    return mpi or len(state.nodes), with_mpi


def _print(results: list[ExperimentResult]) -> None:
    from numascape.quantities import bytes_text

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


def _write(output: Path, done: Experiment, virtual: bool) -> None:
    from numascape.atomic import replacing_file
    from numascape.figures.drawing import save
    from numascape.figures.experiment_picture import draw_experiment
    from numascape.host.experiment import experiment_csv
    from numascape.report.experiment import render_experiment

    table, plot, page = (
        output.with_name(f"{output.name}{suffix}") for suffix in (".csv", ".svg", ".html")
    )
    results = list(done.results)
    with replacing_file(table) as beside:
        beside.write_text(experiment_csv(results))
    save(draw_experiment(results, " (virtual machine: times are not meaningful)" * virtual), plot)
    terminal.say(f"wrote {table} and {plot}")
    say_written(page, render_experiment(done, page))
