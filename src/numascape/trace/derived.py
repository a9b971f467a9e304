# SPDX-License-Identifier: Apache-2.0
"""A trace that is computed from another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from numascape.trace.trace import Trace


@dataclass(frozen=True)
class DerivedTrace(Trace):
    """The trace `whole`; a subclass computes some of its tables anew.

    The other tables are those of `whole`, which has read and checked them already.
    """

    whole: Trace = field(kw_only=True)
    same_pages: ClassVar[bool] = True
    """Whether rows of accesses and first touches are about the same pages as those of `whole`."""

    @property
    def structures(self) -> pl.DataFrame:
        """One row per structure."""
        return self.whole.structures

    @property
    def threads(self) -> pl.DataFrame:
        """One row per thread."""
        return self.whole.threads

    @property
    def phases(self) -> pl.DataFrame:
        """One row per phase."""
        return self.whole.phases

    @property
    def accesses(self) -> pl.DataFrame:
        """Reads and writes per page, thread and phase."""
        return self.whole.accesses

    @property
    def first_touch(self) -> pl.DataFrame:
        """For each page, the thread that touched it first."""
        return self.whole.first_touch

    @property
    def placement(self) -> pl.DataFrame:
        """For each page, its NUMA node at the end of the run."""
        return self.whole.placement

    @property
    def phase_spans(self) -> pl.DataFrame:
        """When each phase ran."""
        return self.whole.phase_spans

    @property
    def source_lines(self) -> pl.DataFrame:
        """The source lines that read and write each structure."""
        return self.whole.source_lines

    @property
    def instances(self) -> pl.DataFrame:
        """The start address of each instance."""
        return self.whole.instances

    @property
    def huge_page_advice(self) -> pl.DataFrame:
        """The instances for which the program asked for huge pages, or refused them."""
        return self.whole.huge_page_advice

    @property
    def transfers(self) -> pl.DataFrame:
        """The cache lines that threads took from each other."""
        return self.whole.transfers

    @property
    def kernel_accesses(self) -> pl.DataFrame:
        """The bytes that system calls read and wrote for threads."""
        return self.whole.kernel_accesses

    @property
    def instructions(self) -> pl.DataFrame:
        """How many instructions each thread executed in each phase."""
        return self.whole.instructions

    @property
    def burst_groups(self) -> pl.DataFrame:
        """The accesses of each group of bursts."""
        return self.whole.burst_groups

    @property
    def page_bursts(self) -> pl.DataFrame:
        """The accesses of each group of bursts to each page."""
        return self.whole.page_bursts

    @property
    def seen_lines(self) -> pl.DataFrame:
        """The cache lines that samples saw threads use."""
        return self.whole.seen_lines

    @property
    def call_paths(self) -> pl.DataFrame:
        """The calls that led to accesses."""
        return self.whole.call_paths

    @property
    def path_accesses(self) -> pl.DataFrame:
        """Samples per page, thread, phase and call path."""
        return self.whole.path_accesses

    @property
    def data_sources(self) -> pl.DataFrame:
        """The memory levels of samples."""
        return self.whole.data_sources
