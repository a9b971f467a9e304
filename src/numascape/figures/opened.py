# SPDX-License-Identifier: Apache-2.0
"""A trace as `numascape.open` returns it: with figures, and with a face for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, TypedDict

from numascape.terminal import printable
from numascape.trace import Trace
from numascape.trace.description import count, describe_run, size
from numascape.trace.phase import TraceOfPhase, find_phase
from numascape.trace.summary import structure_summary

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from numascape.figures import FigureName
    from numascape.figures.drawing import TraceFigure

_ROWS = 20
_LONGEST = 200


class Options(TypedDict, total=False):
    """What every figure takes: sizes in centimetres, a phase by name or number."""

    grey: bool
    width: float
    height: float
    title: bool
    phase: str | int


@dataclass(frozen=True)
class Plots:
    """The figures of a trace: each method draws one and returns a Matplotlib figure.

    `structure` is a structure's name or, where several are called so, its number; None is the
    whole run. `width` and `height` are in centimetres, `phase` shows what one phase did. What
    cannot be drawn raises NumascapeError.
    """

    trace: Trace

    def access(self, structure: str | int, **style: Unpack[Options]) -> TraceFigure:
        """Accesses per page and thread. Options: grey, width, height, title, phase; so for all."""
        return self._draw("access", structure, style)

    def first_touch(self, structure: str | int, **style: Unpack[Options]) -> TraceFigure:
        """Which thread touched which pages first, and from where in the source."""
        return self._draw("first-touch", structure, style)

    def strip(self, structure: str | int | None = None, **style: Unpack[Options]) -> TraceFigure:
        """The thread that dominates each page; without a structure: of the ten most used."""
        return self._draw("strip", structure, style)

    def sizes(self, structure: str | int | None = None, **style: Unpack[Options]) -> TraceFigure:
        """Size and accesses of the structures with most accesses; marks `structure`."""
        return self._draw("sizes", structure, style)

    def read_write(
        self, structure: str | int | None = None, **style: Unpack[Options]
    ) -> TraceFigure:
        """Reads and writes of each thread."""
        return self._draw("read-write", structure, style)

    def sharing(self, structure: str | int | None = None, **style: Unpack[Options]) -> TraceFigure:
        """How much each two threads use the same pages."""
        return self._draw("sharing", structure, style)

    def traffic(self, structure: str | int | None = None, **style: Unpack[Options]) -> TraceFigure:
        """Accesses between the nodes of threads and the nodes of pages."""
        return self._draw("traffic", structure, style)

    def phases(self, structure: str | int | None = None, **style: Unpack[Options]) -> TraceFigure:
        """When each phase ran, and its reads and writes."""
        return self._draw("phases", structure, style)

    def _draw(
        self, figure: FigureName, structure: str | int | None, options: Options
    ) -> TraceFigure:
        # Imported here, because a trace is mostly opened for its tables.
        from numascape.figures.drawing import draw
        from numascape.figures.style import Style

        wanted = None if structure is None else str(structure)
        trace = self.trace
        if (phase := options.get("phase")) is not None:
            trace = TraceOfPhase.of(trace, find_phase(trace, str(phase)))
        style = {name: value for name, value in options.items() if name != "phase"}
        return draw(trace, figure, wanted, Style(**style))  # type: ignore[arg-type]


@dataclass(frozen=True)
class OpenedTrace(Trace):
    """A trace that draws itself."""

    @property
    def plot(self) -> Plots:
        """The figures, e.g. `trace.plot.access("A")`."""
        return Plots(self)

    def _repr_html_(self) -> str:
        """The run and its most used structures, for notebooks."""
        return trace_as_html(self)


_HEADINGS = ("Structure", "Kind", "Size", "Reads", "Writes", "Share", "Threads", "First", "Where")


def trace_as_html(trace: Trace) -> str:
    """What `numascape show` prints, as HTML; every name in it is escaped."""
    summary = structure_summary(trace)
    sentences = "<br>".join(_text(line) for line in describe_run(trace))
    heading = "".join(f"<th>{name}</th>" for name in _HEADINGS)
    rows = []
    for row in summary.head(_ROWS).iter_rows(named=True):
        first = row["first_touch_thread"]
        line = f":{row['line']}" if row["line"] else ""
        where = f"{row['file'].rpartition('/')[2]}{line} {row['function']}".strip()
        instances = f"{row['instances']} x " if row["instances"] > 1 else ""
        cells = (
            *(row["name"], row["kind"], instances + size(row["size"])),
            *(count(row["reads"]), count(row["writes"]), f"{row['share']:.2%}"),
            *(str(row["threads"]), "" if first is None else str(first), where),
        )
        rows.append("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>")
    more = summary.height - len(rows)
    rest = f"<p>{more} more structures in <code>.structures</code></p>" if more > 0 else ""
    return (
        f"<p>{sentences}</p><table><thead><tr>{heading}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{rest}"
    )


def _text(text: str) -> str:
    shown = printable(text)
    return escape(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…")
