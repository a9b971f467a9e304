# SPDX-License-Identifier: Apache-2.0
"""Figures for papers: a trace's tables -> plain data -> a Matplotlib figure -> a file.

Importing this package loads neither Polars nor Matplotlib; importing `drawing` does.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

FigureName = Literal[
    "access", "first-touch", "sizes", "read-write", "sharing", "traffic", "strip", "phases"
]
FIGURES: Final[tuple[FigureName, ...]] = get_args(FigureName)
OF_ONE_STRUCTURE: Final = frozenset({"access", "first-touch"})
"""Figures with a page axis. The others show the whole run if no structure is named."""
