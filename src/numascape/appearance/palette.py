# SPDX-License-Identifier: Apache-2.0
"""The colours of figures on paper and in the terminal, as `#rrggbb`; loads nothing."""

from __future__ import annotations

from typing import Final

# Hues of equal lightness (CIE LCh: L 54, C 62, h 268 to 440 degrees), as in the report.
THREADS: Final = (
    *("#0086ed", "#587deb", "#8572e2", "#a566d3", "#be5abf", "#cf4fa8", "#da498f"),
    *("#de4875", "#dc4d5c", "#d55744", "#c8632d", "#b86e15", "#a47900"),
)
"""From the first thread to the last; the colours of threads between two of these are mixed."""
NO_THREAD: Final = "#818181"
"""For pages that no thread dominates; it has the same lightness as the colours of threads."""
# Okabe and Ito's palette, in an order whose neighbours differ in lightness too.
CATEGORIES: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""These colours are for categories without an order."""
GREY_CATEGORIES: Final = ("#202020", "#a8a8a8", "#686868", "#cccccc", "#484848", "#888888")
NO_DOMINANCE: Final = 0.2
FULL_DOMINANCE: Final = 0.8
"""Share of the dominant thread at which a strip is grey, and at which it has its full colour."""


def mixed(first: str, second: str, part: float) -> str:
    """The colour `part` of the way from `first` to `second`."""
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (first, second)]
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(*ends, strict=True))


def thread_colour(row: int, rows: int) -> str:
    """The colour of row `row` of `rows`."""
    at = row / max(1, rows - 1) * (len(THREADS) - 1)
    below = min(int(at), len(THREADS) - 2)
    return mixed(THREADS[below], THREADS[below + 1], at - below)


def dominance(share: float) -> float:
    """The saturation of a strip where the dominant thread has `share`: 0 to 1."""
    return max(0.0, min(1.0, (share - NO_DOMINANCE) / (FULL_DOMINANCE - NO_DOMINANCE)))
