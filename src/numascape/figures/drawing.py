# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of a trace, and writes them to files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase

from numascape.appearance.style import CM_PER_INCH, SETTINGS, Style
from numascape.atomic import replacing_file
from numascape.errors import NumascapeError
from numascape.figures import FIGURES, OF_ONE_STRUCTURE, FigureName
from numascape.figures import count_figures as counted
from numascape.figures import page_figures as paged
from numascape.figures.page_figures import shown_name
from numascape.figures.phase_figures import draw_phases, height_cm, phase_times
from numascape.figures.tables import (
    PageMap,
    page_map,
    sharing,
    sizes,
    thread_sums,
    traffic,
)
from numascape.trace import Trace
from numascape.trace.counting import only_touches
from numascape.trace.phase import TraceOfPhase
from numascape.trace.selection import find_structure

# Metadata about when and how a file was made; None leaves it out.
_METADATA: Final[dict[str, dict[str, Any]]] = {
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": "Numascape"},
    ".svg": {"Date": None, "Creator": "Numascape"},
    ".png": {"Software": None},
}
SUFFIXES: Final = tuple(_METADATA)
_DOTS_PER_INCH: Final = {".pdf": 600, ".svg": 600, ".png": 300}
_STRUCTURES: Final = 10
"""Number of structures in a figure of the whole run."""


class TraceFigure(Figure):
    """A Matplotlib figure that a notebook displays as an image."""

    def _repr_png_(self) -> bytes:
        return encode(self, ".png")


def in_style() -> AbstractContextManager[None]:
    """Matplotlib with the settings of our figures."""
    settings: Any = {**mpl.rcParamsDefault, **SETTINGS}
    del settings["backend"]  # setting it would load a graphical backend
    return mpl.rc_context(settings)


@contextmanager
def new_figure(style: Style, height_cm: float) -> Iterator[TraceFigure]:
    """An empty figure in our style. It is laid out when the context ends."""
    with in_style():
        drawn = TraceFigure(layout="constrained")
        drawn.set_size_inches(style.size(height_cm))
        yield drawn
        drawn.draw_without_rendering()


def draw(
    trace: Trace,
    figure: FigureName,
    structure: str | None = None,
    style: Style | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw `figure` of the structure called `structure`, or of the whole run.

    Returns a TraceFigure or, with `ax`, the figure of these axes, which the drawing replaces.
    Raises NumascapeError if there is no such figure or structure, if the figure needs a structure
    and none is given, and if the trace is empty.
    """
    style = style or Style()
    if figure not in FIGURES:
        raise NumascapeError(f"there is no figure {figure}: choose one of {', '.join(FIGURES)}")
    if only_touches(trace) and figure != "first-touch":
        raise NumascapeError(
            f"{trace.path} has first touches only, but the figure {figure} needs accesses: draw "
            "first-touch, or record with another recorder"
        )
    if structure is None and figure in OF_ONE_STRUCTURE:
        raise NumascapeError(f"the figure {figure} needs a structure: name it with --structure")
    for table in ("structures", "threads"):
        if trace.table(table).is_empty():
            raise NumascapeError(f"{trace.path} has no {table}, so there is nothing to draw")
    chosen = None if structure is None else find_structure(trace, structure)
    with in_style():
        if ax is not None:
            return _draw_in_place(ax, trace, figure, chosen, style)
        drawn = TraceFigure(layout="constrained")
        height = _draw_onto(drawn, trace, figure, chosen, style)
        drawn.set_size_inches(*style.size(height))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about characters that the font lacks
            drawn.draw_without_rendering()
    return drawn


def _draw_in_place(
    ax: Axes, trace: Trace, figure: FigureName, chosen: int | None, style: Style
) -> Figure:
    """Draw in the area of `ax`, because a figure has legends and colour bars besides its axes."""
    place, parent = ax.get_subplotspec(), ax.figure
    if place is None or parent is None:
        raise NumascapeError("`ax` is not part of a grid: make it with plt.subplots()")
    ax.remove()
    _draw_onto(parent.add_subfigure(place), trace, figure, chosen, style)
    return parent.figure


def _draw_onto(
    onto: FigureBase, trace: Trace, figure: FigureName, chosen: int | None, style: Style
) -> float:
    """Draw, and return the figure's default height in centimetres."""
    name = _name(trace, chosen)
    height = paged.HEIGHT_CM
    if figure == "access" and chosen is not None:
        paged.draw_access(onto, _page_map(trace, chosen), style)
    elif figure == "first-touch" and chosen is not None:
        paged.draw_first_touch(onto, _page_map(trace, chosen), style)
    elif figure == "strip":
        most_used = sizes(trace, None, _STRUCTURES)
        shown = most_used["structure"].to_list() if chosen is None else [chosen]
        maps = [page_map(trace, structure) for structure in shown]
        height = 1.6 + 0.55 * len(maps) + 0.5 * (style.title + (len(maps) == 1))
        paged.draw_strips(onto, maps, name, style)
    elif figure == "sizes":
        most_used = sizes(trace, chosen, _STRUCTURES)
        height = 2.2 + 0.36 * most_used.height
        counted.draw_sizes(onto, most_used, chosen, _name(trace, None), style)
    elif figure == "read-write":
        height = 4.0
        counted.draw_read_write(onto, thread_sums(trace, chosen), name, style)
    elif figure == "sharing":
        height = 6.5
        counted.draw_sharing(onto, sharing(trace, chosen), name, style)
    elif figure == "phases":
        times = phase_times(trace, chosen)
        height = height_cm(len(times.names))
        draw_phases(onto, times, name, style)
    else:
        height = 6.0
        counted.draw_traffic(onto, traffic(trace, chosen), name, style)
    return height


def _page_map(trace: Trace, structure: int) -> PageMap:
    return replace(page_map(trace, structure), name=_name(trace, structure) or "")


def _name(trace: Trace, structure: int | None) -> str | None:
    """The title's name of the structure, the phase, or the structure in the phase."""
    name = None if structure is None else str(trace.structures.item(structure, "name"))
    if not isinstance(trace, TraceOfPhase):
        return name
    phase = f"phase {trace.phases.item(trace.phase, 'name')}"
    return phase.capitalize() if name is None else f"{shown_name(name, 24)} in {phase}"


def check_target(file: Path) -> None:
    """Raise NumascapeError if the suffix of `file` is not that of a format."""
    if file.suffix.lower() not in SUFFIXES:
        raise NumascapeError(
            f"{file}: a figure is written as {', '.join(SUFFIXES)}; give the file such a suffix"
        )


def encode(figure: Figure, suffix: str, dots_per_inch: int | None = None) -> bytes:
    """The content of a file with this suffix; the same figure always gives the same content.

    Pixels are as fine as a printed page needs, or as `dots_per_inch` says.
    """
    content = io.BytesIO()
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about characters that the font lacks
        figure.savefig(
            content,
            format=suffix[1:],
            dpi=dots_per_inch or _DOTS_PER_INCH[suffix],
            metadata=_METADATA[suffix],
        )
    return content.getvalue()


def save(figure: Figure, file: Path) -> tuple[float, float]:
    """Write `figure`, and return its width and height in centimetres.

    Raises NumascapeError for an unknown suffix, and OSError if the file cannot be written.
    """
    check_target(file)
    content = encode(figure, file.suffix.lower())
    try:
        with replacing_file(file) as beside:
            beside.write_bytes(content)
    except OSError as error:
        raise NumascapeError(f"{file} cannot be written: {error.strerror}") from error
    width, height = figure.get_size_inches() * CM_PER_INCH
    return float(width), float(height)
