# SPDX-License-Identifier: Apache-2.0
"""The verb `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numascape import terminal
from numascape.commands._jobs import open_trace
from numascape.commands._options import (
    PhaseOption,
    QuietOption,
    StructureOption,
    TraceArgument,
    output_to,
)
from numascape.figures import FigureName


def plot(
    trace: TraceArgument,
    figure: Annotated[
        FigureName, typer.Option("--figure", help="What to draw.", show_default=False)
    ],
    structure: StructureOption = None,
    phase: PhaseOption = None,
    output: Annotated[Path | None, output_to("A .pdf, .svg or .png. Default: FIGURE.pdf.")] = None,
    grey: Annotated[
        bool, typer.Option("--grey", help="Use grey shades, for print without colours.")
    ] = False,
    width: Annotated[
        float, typer.Option("--width", metavar="CM", help="Width in centimetres.")
    ] = 8.5,
    height: Annotated[
        float | None,
        typer.Option(
            "--height", metavar="CM", help="Height. Default: fits the figure.", show_default=False
        ),
    ] = None,
    no_title: Annotated[bool, typer.Option("--no-title", help="Draw no title.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Draw a figure of a trace for a paper.

    access and first-touch show the pages and threads of one structure. strip, sizes, read-write,
    sharing (pages between threads), traffic (between nodes) and phases show one structure or the
    whole run.

    Example: `numascape plot run.numascape --structure A --figure access -o a.pdf`
    """
    # Imported here, because help and completion should not wait for Matplotlib.
    from numascape.appearance.style import Style
    from numascape.figures.drawing import check_target, draw, save
    from numascape.trace.phase import TraceOfPhase
    from numascape.trace.selection import find_phase

    file = output or Path(f"{figure}.pdf")
    check_target(file)
    style = Style(grey=grey, width=width, height=height, title=not no_title)
    opened = open_trace(trace)
    if phase is not None:
        opened = TraceOfPhase.of(opened, find_phase(opened, phase))
    shown = save(draw(opened, figure, structure, style), file)
    if not quiet:
        terminal.say(f"wrote {file} ({shown[0]:.1f} x {shown[1]:.1f} cm)")
