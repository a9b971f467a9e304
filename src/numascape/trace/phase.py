# SPDX-License-Identifier: Apache-2.0
"""A trace restricted to one phase, for all computations on traces."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from numascape.trace.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self


_SLICE = re.compile(r"[0-9.]+–[0-9.]+ s")  # noqa: RUF001


@dataclass(frozen=True)
class TraceOfPhase(Trace):
    """One phase of the trace `whole`: its accesses, and the first touches during it.

    With `run_touches`, it has the first touches of the whole run instead, because these determine
    the nodes of pages.
    """

    whole: Trace = field(kw_only=True)
    phase: int = field(kw_only=True)
    run_touches: bool = field(kw_only=True, default=False)

    @classmethod
    def of(cls, whole: Trace, phase: int, *, run_touches: bool = False) -> Self:
        """The phase number `phase` of the trace `whole`."""
        return cls(whole.path, whole.info, whole=whole, phase=phase, run_touches=run_touches)

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """Reads and writes per page and thread in the phase."""
        return self.whole.accesses.filter(pl.col("phase") == self.phase)

    @cached_property
    def first_touch(self) -> pl.DataFrame:
        """Pages touched first in the phase, or in the run."""
        whole = self.whole.first_touch
        # Traces of earlier versions do not contain the phase of a first touch.
        if self.run_touches or "phase" not in whole.columns:
            return whole
        return whole.filter(pl.col("phase") == self.phase)

    @cached_property
    def source_lines(self) -> pl.DataFrame:
        """The source lines that the phase used."""
        return self.whole.source_lines.filter(pl.col("phase") == self.phase)

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """The cache lines that threads took from each other in the phase."""
        return self.whole.transfers.filter(pl.col("phase") == self.phase)

    @cached_property
    def kernel_accesses(self) -> pl.DataFrame:
        """The bytes that system calls read and wrote for threads in the phase."""
        return self.whole.kernel_accesses.filter(pl.col("phase") == self.phase)

    @cached_property
    def instructions(self) -> pl.DataFrame:
        """How many instructions each thread executed in the phase."""
        return self.whole.instructions.filter(pl.col("phase") == self.phase)

    @cached_property
    def burst_groups(self) -> pl.DataFrame:
        """The accesses of each group of bursts in the phase."""
        return self.whole.burst_groups.filter(pl.col("phase") == self.phase)

    @cached_property
    def page_bursts(self) -> pl.DataFrame:
        """The accesses of each group of bursts to each page in the phase."""
        return self.whole.page_bursts.filter(pl.col("phase") == self.phase)

    @cached_property
    def seen_lines(self) -> pl.DataFrame:
        """The cache lines that samples saw threads use in the phase."""
        return self.whole.seen_lines.filter(pl.col("phase") == self.phase)

    @cached_property
    def path_accesses(self) -> pl.DataFrame:
        """The samples in the phase, with their call paths."""
        return self.whole.path_accesses.filter(pl.col("phase") == self.phase)

    def _read(self, table: str) -> pl.DataFrame:
        return self.whole.table(table)


def is_time_slice(name: str, file: str) -> bool:
    """Whether a phase of this name and file is a time slice."""
    return not file and _SLICE.fullmatch(name) is not None


def loose_phases(trace: Trace) -> list[int]:
    """The phases that are neither a region nor a mark: outside of all others, or time slices."""
    return [
        phase
        for phase, name, file in trace.phases.select("phase", "name", "file").iter_rows()
        if phase == 0 or is_time_slice(name, file)
    ]
