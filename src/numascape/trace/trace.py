# SPDX-License-Identifier: Apache-2.0
"""A recorded run, read from its folder."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from numascape.errors import NumascapeError
from numascape.trace import check
from numascape.trace.files import read_table, table_path
from numascape.trace.format import BURST_GROUPS
from numascape.trace.info import TraceInfo, read_info
from numascape.trace.schema import OPTIONAL, SCHEMAS

if TYPE_CHECKING:
    from typing_extensions import Self


_MAX_LINES = 128
"""The maximum number of lines in a page: modelled lines have at least 32 bytes."""


@dataclass(frozen=True)
class Trace:
    """A trace whose tables are read, and checked, when they are first used.

    docs/trace-format.md describes the columns of the tables. Reading a table raises NumascapeError
    if its file is missing or damaged, or if it has invalid ids.
    """

    path: Path
    info: TraceInfo
    # Results that `trace/once.py` keeps. They follow from the tables, which never change.
    _results: dict[Hashable, object] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Open the trace in the folder `path`; reads trace.json only."""
        folder = Path(path)
        return cls(folder, read_info(folder))

    @cached_property
    def structures(self) -> pl.DataFrame:
        """One row per structure: its name, kind, size, and where it was allocated."""
        frame = self._read("structures")
        check.check_structures(frame, self.info, self._where("structures"))
        return frame

    @cached_property
    def threads(self) -> pl.DataFrame:
        """One row per thread: its lifetime, and the CPUs and nodes it was seen on."""
        frame = self._read("threads")
        check.check_threads(frame, self.info, self._where("threads"))
        return frame

    @cached_property
    def phases(self) -> pl.DataFrame:
        """One row per phase; a run without phases has the one phase "run"."""
        return self._read("phases")

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """Reads and writes per page, thread and phase."""
        return self._read_pages("accesses", by_thread=True, by_phase=True)

    @cached_property
    def first_touch(self) -> pl.DataFrame:
        """For each page, the thread and the place in the source that touched it first."""
        frame = self._read_pages("first_touch", by_thread=True, by_phase=True)
        if "path" in frame.columns:
            check.check_ids(frame, self._where("first_touch"), path=self.call_paths.height)
        return frame

    @cached_property
    def placement(self) -> pl.DataFrame:
        """For each page, its NUMA node at the end of the run."""
        return self._read_pages("placement")

    @cached_property
    def phase_spans(self) -> pl.DataFrame:
        """When each phase ran, in order of time; empty if not recorded."""
        frame = self._read("phase_spans")
        check.check_spans(frame, self.phases, self._where("phase_spans"))
        return frame

    @cached_property
    def source_lines(self) -> pl.DataFrame:
        """The source lines that read and write each structure; empty if not recorded."""
        frame = self._read("source_lines")
        check.check_ids(
            frame,
            self._where("source_lines"),
            structure=self.structures.height,
            phase=self.phases.height,
        )
        return frame

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """The cache lines that threads took from each other; empty if not recorded."""
        frame = self._read_pages("transfers", by_thread=True, by_phase=True)
        where = self._where("transfers")
        check.check_transfers(frame, self.threads.height, _MAX_LINES, where)
        return frame

    @cached_property
    def kernel_accesses(self) -> pl.DataFrame:
        """The bytes that system calls read and wrote for threads; empty if not recorded."""
        return self._read_pages("kernel_accesses", by_thread=True, by_phase=True)

    @cached_property
    def instructions(self) -> pl.DataFrame:
        """How many instructions each thread executed in each phase; empty if not recorded."""
        frame = self._read("instructions")
        check.check_ids(
            frame,
            self._where("instructions"),
            thread=self.threads.height,
            phase=self.phases.height,
        )
        return frame

    @cached_property
    def burst_groups(self) -> pl.DataFrame:
        """The accesses of each group of bursts; empty unless only bursts were counted."""
        frame = self._read("burst_groups")
        check.check_ids(
            frame,
            self._where("burst_groups"),
            structure=self.structures.height,
            thread=self.threads.height,
            phase=self.phases.height,
            group=BURST_GROUPS,
        )
        return frame

    @cached_property
    def page_bursts(self) -> pl.DataFrame:
        """The accesses of each group of bursts to each page; empty unless only bursts were counted.

        Traces of earlier versions do not have them.
        """
        frame = self._read_pages("page_bursts", by_thread=True, by_phase=True)
        check.check_ids(frame, self._where("page_bursts"), group=BURST_GROUPS)
        return frame

    @cached_property
    def seen_lines(self) -> pl.DataFrame:
        """The cache lines that samples saw threads use; empty if not recorded."""
        frame = self._read_pages("seen_lines", by_thread=True, by_phase=True)
        check.check_cache_lines(frame, _MAX_LINES, self._where("seen_lines"))
        return frame

    @cached_property
    def call_paths(self) -> pl.DataFrame:
        """The calls that led to samples and first touches, as a tree; empty if not recorded."""
        frame = self._read("call_paths")
        check.check_call_paths(frame, self._where("call_paths"))
        return frame

    @cached_property
    def path_accesses(self) -> pl.DataFrame:
        """Samples per page, thread, phase and call path; empty unless sampled."""
        frame = self._read_pages("path_accesses", by_thread=True, by_phase=True)
        check.check_ids(frame, self._where("path_accesses"), path=self.call_paths.height)
        return frame

    @cached_property
    def instances(self) -> pl.DataFrame:
        """The start address of each instance; without unknown ones."""
        frame = self._read("instances")
        check.check_instances(frame, self.structures, self._where("instances"))
        return frame

    @cached_property
    def huge_page_advice(self) -> pl.DataFrame:
        """The instances for which the program asked for huge pages, or refused them."""
        frame = self._read("huge_page_advice")
        check.check_instances(frame, self.structures, self._where("huge_page_advice"))
        return frame

    @cached_property
    def data_sources(self) -> pl.DataFrame:
        """The memory levels of samples, and their latencies; empty unless sampled."""
        frame = self._read("data_sources")
        check.check_ids(
            frame,
            self._where("data_sources"),
            structure=self.structures.height,
            thread=self.threads.height,
        )
        return frame

    def table(self, name: str) -> pl.DataFrame:
        """The table of that name. Raises NumascapeError if a trace has no such table."""
        if name not in SCHEMAS:
            raise NumascapeError(f"there is no table {name!r}: choose from {', '.join(SCHEMAS)}")
        frame: pl.DataFrame = getattr(self, name)
        return frame

    def _read_pages(
        self, table: str, *, by_thread: bool = False, by_phase: bool = False
    ) -> pl.DataFrame:
        frame = self._read(table)
        check.check_pages(
            frame,
            self.structures,
            self._where(table),
            threads=self.threads.height if by_thread else None,
            phases=self.phases.height if by_phase else None,
        )
        return frame

    def _read(self, table: str) -> pl.DataFrame:
        if table in OPTIONAL and table not in self.info.tables:
            return pl.DataFrame(schema=SCHEMAS[table])
        return read_table(self.path, table, self.info.tables[table])

    def _where(self, table: str) -> str:
        return str(table_path(self.path, table))
