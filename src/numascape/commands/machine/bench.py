# SPDX-License-Identifier: Apache-2.0
"""The verb `machine bench`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.commands._options import NoProgressOption, output_to, spread_of
from numascape.commands._written import check_folders


class ExperimentName(str, Enum):
    """The loops that can be measured."""

    triad = "triad"
    sum = "sum"
    copy = "copy"


def bench(
    experiment: Annotated[
        ExperimentName,
        typer.Argument(help="triad: a = b + c d; sum: s = s + a; copy: a = b.", show_default=False),
    ],
    output: Annotated[Path | None, output_to("Write a plot: .svg, .png or .pdf.")] = None,
    table: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write the points as CSV.", show_default=False),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Maximum number of threads.", show_default=False),
    ] = None,
    sockets: Annotated[
        int | None,
        typer.Option("--sockets", min=1, help="Number of sockets to use.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Measure fewer lengths.")] = False,
    spread: Annotated[
        float,
        spread_of("Leave out points that are uncertain by more than this share (95 % confidence)."),
    ] = 0.1,
    quiet: NoProgressOption = False,
) -> None:
    """Measure the bandwidth of a loop for different lengths of its vectors, from cache to memory.

    The reference is a serial run without threads. There is a curve for each of 1, 2, 4, ...
    threads, one thread per core, on one socket (1S) and on all sockets. With several sockets, each
    curve is also measured with serial first touch: the first thread touches all memory. A store
    counts once. Without -o and --csv, the points are printed as CSV.

    Example: `numascape machine bench triad -o triad.svg`
    """  # fmt: skip
    from numascape.atomic import replacing_file
    from numascape.figures.drawing import check_target, save
    from numascape.machine.benchmarks import bandwidth_csv, lengths, plan, run_series
    from numascape.machine.conditions import conditions
    from numascape.machine.sources import read_host

    if output is not None:
        check_target(output)
    check_folders(output, table)
    for sentence in conditions(Path("/")):
        terminal.say(f"note: {sentence}")
    machine = read_host()
    series = plan(machine, sockets, threads)
    sizes = lengths(machine, quick)
    measured = [
        result
        for one in terminal.track(series, len(series), "Measuring", quiet)
        for result in run_series(machine, experiment.value, one, sizes)
    ]
    results = [result for result in measured if result.half_width <= spread * result.gb_s]
    if len(results) < len(measured):
        terminal.say(
            f"note: {len(measured) - len(results)} of {len(measured)} points are left out: "
            f"uncertain by more than {spread:.0%}"
        )
    text = bandwidth_csv(experiment.value, results)
    if table is not None:
        with replacing_file(table) as beside:
            beside.write_text(text)
        terminal.say(f"wrote {table}")
    elif output is None:
        print(text, end="")
    if output is not None:
        from numascape.figures.bench_picture import draw_bench

        save(draw_bench(machine, experiment.value, results), output)
        terminal.say(f"wrote {output}")
