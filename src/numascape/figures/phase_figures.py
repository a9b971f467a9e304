# SPDX-License-Identifier: Apache-2.0
"""Draws the figure of phases: when each ran, and its reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.colors import Normalize
from matplotlib.figure import FigureBase
from matplotlib.ticker import FuncFormatter, MaxNLocator

from numascape.appearance.style import Style, quantity
from numascape.errors import NumascapeError
from numascape.figures.page_figures import shown_name
from numascape.figures.tables import CountArray, Floats
from numascape.trace import Trace

PHASES = 16
"""Maximum number of rows of the figure. The phases with most accesses are shown."""
_BINS = 512


@dataclass(frozen=True)
class PhaseTimes:
    """Phases in order of their first start.

    ran: phases x bins of time, the fraction of the bin in which the phase ran; seconds: the length
    of all bins together; left_out: the number of phases that are not shown.
    """

    names: tuple[str, ...]
    ran: Floats
    seconds: float
    reads: CountArray
    writes: CountArray
    left_out: int


def phase_times(trace: Trace, structure: int | None, bins: int = _BINS) -> PhaseTimes:
    """The phases of a run with most accesses, to one structure or to all structures.

    Raises NumascapeError if the run was recorded without phases.
    """
    if trace.phases.height < 2:
        raise NumascapeError(
            f"{trace.path} was recorded without phases; docs/record.md says how they are recorded"
        )
    own = trace.accesses if structure is None else trace.accesses.filter(structure=structure)
    sums = own.group_by("phase").agg(pl.col("reads", "writes").sum())
    phases = trace.phases.join(sums, on="phase", how="left").with_columns(
        pl.col("reads", "writes").fill_null(0)
    )
    accesses = pl.col("reads") + pl.col("writes")
    shown = phases.sort(accesses, "phase", descending=[True, False]).head(PHASES).sort("phase")
    end = max(int(trace.phases["end_ns"].max() or 0), 1)  # type: ignore[arg-type]
    ran = np.zeros((shown.height, bins))
    for row, phase in enumerate(shown["phase"]):
        spans = trace.phase_spans.filter(phase=phase)
        ran[row] = _coverage(spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy(), end, bins)
    return PhaseTimes(
        names=tuple(shown["name"]),
        ran=ran,
        seconds=end / 1e9,
        reads=shown["reads"].to_numpy(),
        writes=shown["writes"].to_numpy(),
        left_out=phases.height - shown.height,
    )


def _coverage(
    start: npt.NDArray[np.uint64], end: npt.NDArray[np.uint64], until: int, bins: int
) -> Floats:
    """The fraction of each bin that spans cover; `bins` equal bins divide 0 .. `until`.

    Spans do not overlap, so the time covered before t is piecewise linear between their ends.
    """
    if not len(start):
        return np.zeros(bins)
    corners = np.column_stack([start, end]).ravel().astype(np.float64)
    covered = np.cumsum(np.column_stack([np.zeros(len(start)), end - start]).ravel())
    before = np.interp(np.linspace(0, until, bins + 1), corners, covered)
    part: Floats = np.clip(np.diff(before) / (until / bins), 0, 1)
    return part


def draw_phases(figure: FigureBase, phases: PhaseTimes, name: str | None, style: Style) -> None:
    """Draw when each phase ran (darker: more of the time), and its reads and writes."""
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
    rows = len(phases.names)
    longest = max(12, round(2.6 * style.width))
    left.pcolormesh(
        np.linspace(0, phases.seconds, phases.ran.shape[1] + 1),
        np.arange(rows + 1) - 0.5,
        np.where(phases.ran > 0, phases.ran, np.nan),
        cmap=style.intensity,
        norm=Normalize(0, 1),
        rasterized=True,
    )
    left.set_yticks(range(rows), [shown_name(text, longest) for text in phases.names])
    left.set_ylim(rows - 0.5, -0.5)
    left.set_xlim(0, phases.seconds)
    left.set_xlabel("time (s)")
    left.xaxis.set_major_locator(MaxNLocator(4))
    left.hlines(np.arange(1, rows) - 0.5, 0, phases.seconds, colors="#d0d0d0", linewidths=0.4)
    reads, writes = phases.reads.astype(float), phases.writes.astype(float)
    at = np.arange(rows)
    right.barh(at, reads, color=style.categories(0), height=0.7, label="reads")
    right.barh(at, writes, left=reads, color=style.categories(1), height=0.7, label="writes")
    right.set_xlabel("accesses")
    right.xaxis.set_major_locator(MaxNLocator(3))
    right.xaxis.set_major_formatter(FuncFormatter(quantity))
    right.tick_params(axis="y", length=0)
    right.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower right", ncols=2, handlelength=1, borderpad=0.1)
    if style.title:
        what = "phases" if not phases.left_out else f"{rows} phases of {rows + phases.left_out}"
        of = "Whole run" if name is None else shown_name(name)
        figure.suptitle(f"{of}: {what}", fontsize=8)


def height_cm(rows: int) -> float:
    """The figure's default height."""
    return 2.4 + 0.36 * rows
