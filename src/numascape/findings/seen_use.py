# SPDX-License-Identifier: Apache-2.0
"""How threads share the cache lines of a structure, as samples saw them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from numascape.analysis.seen_lines import Overlap, overlap, overlap_of_bytes, overlap_of_layout
from numascape.findings.thresholds import MAX_LINE_OVERLAP, MIN_BYTE_PAIRS, MIN_LINE_PAIRS


@dataclass(frozen=True, eq=False)
class SeenUse:
    """The samples of a structure by its threads, in the work or while filling it.

    `lines` are rows of the trace's table of that name. `sampled`: all accesses were sampled, and
    not only some beside exact counts.
    """

    lines: pl.DataFrame = field(repr=False)
    sampled: bool

    @cached_property
    def overlap(self) -> Overlap:
        """How often samples saw its threads use the same lines."""
        layout = self.layout_overlap
        if layout.by_chance >= MIN_LINE_PAIRS and layout.ratio <= MAX_LINE_OVERLAP:
            return layout
        return overlap(self.lines, MIN_LINE_PAIRS, MIN_BYTE_PAIRS)

    @cached_property
    def layout_overlap(self) -> Overlap:
        """How often samples saw its threads at the same positions of pages, if sampled."""
        return overlap_of_layout(self.lines) if self.sampled else Overlap()

    @cached_property
    def byte_overlap(self) -> Overlap:
        """How often samples saw its threads use a common byte position of any cache lines."""
        return overlap_of_bytes(self.lines)

    @cached_property
    def overlap_in_phases(self) -> Overlap:
        """How often samples saw its threads use the same lines in the same phase."""
        return overlap(self.lines, MIN_LINE_PAIRS, MIN_BYTE_PAIRS, in_phases=True)
