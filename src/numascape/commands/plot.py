# SPDX-License-Identifier: Apache-2.0
"""The verb `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.figures import FigureName


def plot(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A trace, NAME.numascape.", show_default=False)
    ],
    figure: Annotated[
        FigureName, typer.Option("--figure", help="What to draw.", show_default=False)
    ],
    structure: Annotated[
        str | None,
        typer.Option(
            "--structure",
            metavar="NAME",
            help="The structure, by name or number; else the whole run.",
            show_default=False,
        ),
    ] = None,
    phase: Annotated[
        str | None,
        typer.Option(
            "--phase",
            metavar="NAME",
            help="Only what one phase did, by name or number.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A .pdf, .svg or .png; else the figure's name with .pdf.",
            show_default=False,
        ),
    ] = None,
    grey: Annotated[bool, typer.Option("--grey", help="For print without colours.")] = False,
    width: Annotated[
        float, typer.Option("--width", metavar="CM", help="Width in centimetres.")
    ] = 8.5,
    height: Annotated[
        float | None,
        typer.Option(
            "--height", metavar="CM", help="Height; else what suits the figure.", show_default=False
        ),
    ] = None,
    no_title: Annotated[bool, typer.Option("--no-title", help="Leave the title out.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Draw a figure of a trace for a paper.

    access and first-touch show one structure's pages and threads. strip, sizes, read-write, sharing
    (of pages, between threads), traffic (between nodes) and phases show one structure or the whole
    run.

    Example: `numascape plot run.numascape --structure A --figure access -o a.pdf`
    """
    # Imported here, because help and completion should not wait for Matplotlib.
    from numascape.figures.drawing import check_target, draw, save
    from numascape.figures.style import Style
    from numascape.trace import Trace
    from numascape.trace.phase import TraceOfPhase, find_phase

    file = output or Path(f"{figure}.pdf")
    check_target(file)
    style = Style(grey=grey, width=width, height=height, title=not no_title)
    opened = Trace.read(trace)
    if phase is not None:
        opened = TraceOfPhase.of(opened, find_phase(opened, phase))
    shown = save(draw(opened, figure, structure, style), file)
    if not quiet:
        terminal.say(f"wrote {file} ({shown[0]:.1f} x {shown[1]:.1f} cm)")
