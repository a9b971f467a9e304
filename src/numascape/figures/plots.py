# SPDX-License-Identifier: Apache-2.0
"""`trace.plot`: the figures of a trace as methods, for notebooks and scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numascape.appearance import COLUMN_CM
from numascape.figures import FigureName
from numascape.trace import Trace
from numascape.trace.phase import TraceOfPhase
from numascape.trace.selection import find_phase

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numascape.appearance.style import Style


@dataclass(frozen=True)
class Plots:
    """The figures of a trace. Each method draws one and returns a Matplotlib figure.

    All methods have the same options:

    - `structure`: the name of a structure or, if several have this name, its number. None is the
      whole run.
    - `ax`: draw in the area of these axes, which are removed from their figure. The figure should
      use the constrained layout. `width` and `height` are then those of the axes.
    - `phase`: only this phase, by name or number.
    - `grey`: shades of grey for print.
    - `width`, `height`: in centimetres. A height of None is the figure's default.
    - `title`: whether the figure has a title.

    Raises NumascapeError if something cannot be drawn.
    """

    trace: Trace

    def access(
        self,
        structure: str | int,
        *,
        ax: Axes | None = None,
        phase: str | int | None = None,
        grey: bool = False,
        width: float = COLUMN_CM,
        height: float | None = None,
        title: bool = True,
    ) -> Figure:
        """Accesses per page (x) and thread (y)."""
        return self._draw("access", structure, phase, _style(grey, width, height, title), ax)

    def first_touch(
        self,
        structure: str | int,
        *,
        ax: Axes | None = None,
        phase: str | int | None = None,
        grey: bool = False,
        width: float = COLUMN_CM,
        height: float | None = None,
        title: bool = True,
    ) -> Figure:
        """Which thread touched which pages first, and at which place in the source."""
        return self._draw("first-touch", structure, phase, _style(grey, width, height, title), ax)

    def strip(
        self,
        structure: str | int | None = None,
        *,
        ax: Axes | None = None,
        phase: str | int | None = None,
        grey: bool = False,
        width: float = COLUMN_CM,
        height: float | None = None,
        title: bool = True,
    ) -> Figure:
        """The thread that dominates each page. Without a structure: the ten most used ones."""
        return self._draw("strip", structure, phase, _style(grey, width, height, title), ax)

    def sizes(
        self,
        structure: str | int | None = None,
        *,
        ax: Axes | None = None,
        phase: str | int | None = None,
        grey: bool = False,
        width: float = COLUMN_CM,
        height: float | None = None,
        title: bool = True,
    ) -> Figure:
        """Size and accesses of the ten most used structures; marks `structure`."""
        return self._draw("sizes", structure, phase, _style(grey, width, height, title), ax)

    def read_write(
        self,
        structure: str | int | None = None,
        *,
        ax: Axes | None = None,
        phase: str | int | None = None,
        grey: bool = False,
        width: float = COLUMN_CM,
        height: float | None = None,
        title: bool = True,
    ) -> Figure:
        """Reads and writes of each thread."""
        return self._draw("read-write", structure, phase, _style(grey, width, height, title), ax)

    def sharing(
        self,
        structure: str | int | None = None,
        *,
        ax: Axes | None = None,
        phase: str | int | None = None,
        grey: bool = False,
        width: float = COLUMN_CM,
        height: float | None = None,
        title: bool = True,
    ) -> Figure:
        """How much each pair of threads uses the same pages."""
        return self._draw("sharing", structure, phase, _style(grey, width, height, title), ax)

    def traffic(
        self,
        structure: str | int | None = None,
        *,
        ax: Axes | None = None,
        phase: str | int | None = None,
        grey: bool = False,
        width: float = COLUMN_CM,
        height: float | None = None,
        title: bool = True,
    ) -> Figure:
        """Accesses from the nodes of threads to the nodes of pages."""
        return self._draw("traffic", structure, phase, _style(grey, width, height, title), ax)

    def phases(
        self,
        structure: str | int | None = None,
        *,
        ax: Axes | None = None,
        phase: str | int | None = None,
        grey: bool = False,
        width: float = COLUMN_CM,
        height: float | None = None,
        title: bool = True,
    ) -> Figure:
        """When each phase ran, and its reads and writes."""
        return self._draw("phases", structure, phase, _style(grey, width, height, title), ax)

    def _draw(
        self,
        figure: FigureName,
        structure: str | int | None,
        phase: str | int | None,
        style: Style,
        ax: Axes | None,
    ) -> Figure:
        from numascape.figures.drawing import draw

        wanted = None if structure is None else str(structure)
        trace = self.trace
        if phase is not None:
            trace = TraceOfPhase.of(trace, find_phase(trace, str(phase)))
        return draw(trace, figure, wanted, style, ax)


def _style(grey: bool, width: float, height: float | None, title: bool) -> Style:
    # Imported here, because a trace is mostly opened for its tables.
    from numascape.appearance.style import Style

    return Style(grey=grey, width=width, height=height, title=title)
