# SPDX-License-Identifier: Apache-2.0
"""How figures look: sizes, type, and scales that survive colour blindness and a grey printer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, LogNorm, Normalize

from numascape.appearance import COLUMN_CM
from numascape.appearance.palette import CATEGORIES, GREY_CATEGORIES, THREADS
from numascape.errors import NumascapeError

CM_PER_INCH: Final = 2.54
SMALLEST_CM: Final = 2.0
LARGEST_CM: Final = 200.0


@dataclass(frozen=True)
class Style:
    """The user's settings. Sizes are in centimetres; height None is the figure's default."""

    grey: bool = False
    width: float = COLUMN_CM
    height: float | None = None
    title: bool = True

    def __post_init__(self) -> None:
        for name, value in (("width", self.width), ("height", self.height)):
            if value is not None and not SMALLEST_CM <= value <= LARGEST_CM:
                raise NumascapeError(
                    f"a {name} of {value:g} cm is not possible: "
                    f"choose {SMALLEST_CM:g} to {LARGEST_CM:g}"
                )

    def size(self, own_height: float) -> tuple[float, float]:
        """Width and height in inches."""
        return self.width / CM_PER_INCH, (self.height or own_height) / CM_PER_INCH

    @cached_property
    def intensity(self) -> Colormap:
        """Colours from light to dark for rising values; even the lowest one is not white."""
        whole = mpl.colormaps["Greys" if self.grey else "YlGnBu"]
        return LinearSegmentedColormap.from_list(
            "intensity", [whole(0.22 + 0.78 * step / 15) for step in range(16)]
        )

    @cached_property
    def threads(self) -> Colormap:
        """A colour per thread, first to last."""
        if self.grey:
            return LinearSegmentedColormap.from_list("threads", ["#d8d8d8", "#101010"])
        return LinearSegmentedColormap.from_list("threads", THREADS)

    @cached_property
    def categories(self) -> ListedColormap:
        """Colours of categories without an order."""
        return ListedColormap(GREY_CATEGORIES if self.grey else CATEGORIES)


def access_scale(values: npt.NDArray[np.float64]) -> Normalize:
    """A logarithmic scale over the values above 0, for at least one decade and at most six."""
    largest = float(values.max(initial=0))
    if largest <= 0:
        return Normalize(0, 1)
    smallest = float(values[values > 0].min())
    return LogNorm(min(max(smallest, largest / 1e6), largest / 10), largest, clip=True)


def quantity(value: float, _position: object = None) -> str:
    """An axis label in thousands, millions, ...: 0, 250 k, 1.5 M."""
    if value == 0:
        return "0"
    power = min(6, max(0, math.floor(math.log10(abs(value)) / 3 + 1e-9)))
    return f"{value / 1000**power:.3g} {('', 'k', 'M', 'G', 'T', 'P', 'E')[power]}".rstrip()


SETTINGS: Final[Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with Matplotlib, so it looks the same everywhere
    "font.size": 7,
    "axes.titlesize": 8,
    "axes.linewidth": 0.5,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.minor.width": 0.3,
    "ytick.minor.width": 0.3,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    # The name comes from the recorded program, and is not a formula.
    "text.parse_math": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    # Text stays text, so that it can be searched and edited.
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    # Without this setting, the ids in the file would differ each time.
    "svg.hashsalt": "numascape",
}
"""Matplotlib's settings while drawing and saving; they replace the user's own settings."""
