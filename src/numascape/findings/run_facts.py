# SPDX-License-Identifier: Apache-2.0
"""Facts about a run as a whole for diagnoses, computed once for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from numascape.analysis.facts import Facts
from numascape.analysis.ownership import Owner, owner_of
from numascape.findings.finding import Place
from numascape.findings.nodes import Nodes, pages_by_node
from numascape.findings.python_advice import is_python
from numascape.findings.sample_sizes import ACCESS_NS
from numascape.findings.sources import Sources
from numascape.findings.thresholds import (
    MIN_COMPARED_SHARE,
    MIN_SHARED_PAGES,
    MIN_STRUCTURE_SHARE,
)
from numascape.findings.waiting import used_while_waiting
from numascape.findings.work import work_and_fills
from numascape.machine.description import Machine
from numascape.naming.frames import is_library_code
from numascape.prediction.computing import INSTRUCTION_NS
from numascape.trace import Trace
from numascape.trace.counting import knows_bursts, only_touches
from numascape.trace.once import kept_with
from numascape.trace.teams import TraceOfTeams
from numascape.trace.with_kernel import as_recorded


@dataclass(frozen=True, eq=False)
class RunFacts:
    """A trace with what is computed from it once for all diagnoses.

    `facts` has each structure's facts about all accesses, and `accesses` their sum. `nodes` are
    those of `machine`, or None if all accesses would be local on it. In the trace, threads with the
    same place in successive teams are one thread.
    """

    trace: Trace
    facts: Mapping[int, Facts]
    sources: Sources
    machine: Machine
    nodes: Nodes | None

    @cached_property
    def accesses(self) -> int:
        """Accesses of the whole run."""
        return sum(facts.accesses for facts in self.facts.values())

    @cached_property
    def executed(self) -> int:
        """Instructions of the whole run; 0 if they were not counted."""
        return int(self.trace.instructions["instructions"].sum())

    @property
    def cpu_ns(self) -> float:
        """CPU time of the run; 0 if it is unknown.

        If instructions were counted, it is their time. Otherwise it is the measured time, without
        recording if that is known.
        """
        if self.executed:
            return self.executed * INSTRUCTION_NS
        times = self.trace.info.times
        return (times.native_cpu_s or times.cpu_s or 0.0) * 1e9

    @cached_property
    def owners(self) -> dict[int, Owner]:
        """For each structure, the part of the program that decides on its memory."""
        return {
            row["structure"]: owner_of(row) for row in self.trace.structures.iter_rows(named=True)
        }

    @cached_property
    def pages_by_node(self) -> dict[int, dict[int, int]]:
        """For each structure, the number of its pages on each node, if known."""
        return pages_by_node(self.trace.placement)

    @property
    def sampled(self) -> bool:
        """Whether the trace's accesses are samples of all accesses."""
        return self.trace.info.recorder.counts == "samples"

    @property
    def of_bursts(self) -> bool:
        """Whether only bursts were counted, and the trace has the accesses of each to each page."""
        return knows_bursts(self.trace)

    def executed_accesses(self, counted: float) -> float:
        """About how many accesses these counts stand for: more than that, if they are samples.

        A sample stands for a part of the CPU time.
        """
        if not self.sampled or not self.accesses:
            return counted
        cpu_ns = (self.trace.info.times.cpu_s or 0.0) * 1e9
        return max(counted, counted * cpu_ns / self.accesses / ACCESS_NS)

    @property
    def recorded(self) -> Trace:
        """The trace as it was recorded: all threads, and the accesses of the program alone."""
        return as_recorded(self.trace)

    @property
    def first_in_place(self) -> Mapping[int, int]:
        """For threads of repeated teams: the first thread in their place, which counts for them."""
        return self.trace.first if isinstance(self.trace, TraceOfTeams) else {}

    def touched_by(self, thread: int) -> int:
        """The number of pages that the thread touched first."""
        return self._pages_touched.get(thread, 0)

    @cached_property
    def _pages_touched(self) -> dict[int, int]:
        return dict(self.trace.first_touch.group_by("thread").len().iter_rows())

    @cached_property
    def openmp(self) -> bool:
        """Whether the program's threads are OpenMP's."""
        regions = self.trace.phases["name"].str.contains("parallel region ", literal=True).any()
        return bool(regions or (self.trace.structures["name"] == "OpenMP runtime").any())

    @cached_property
    def has_python(self) -> bool:
        """Whether it has arrays of a Python program."""
        return any(is_python(file) for file in self.trace.structures["file"].unique())

    def deals_out_tasks(self, phase: int) -> bool:
        """Whether OpenMP's tasks or sections give the phase's work to whichever thread is free."""
        return self.sources.deals_out_tasks(self.region(phase), in_calls=self._has_tasks)

    @cached_property
    def _has_tasks(self) -> bool:
        """Whether the program's own code has tasks or sections of OpenMP."""
        return any(map(self.sources.has_tasks, self._own_files))

    def has_dynamic_loop(self, phase: int) -> bool:
        """Whether a loop of the phase has a schedule that gives iterations to any free thread."""
        return self.sources.has_dynamic_loop(self.region(phase))

    @cached_property
    def takes_next_part(self) -> bool:
        """Whether threads of a program without OpenMP take the next part when they are free."""
        return not self.openmp and any(map(self.sources.takes_next_part, self._own_files))

    @cached_property
    def waits_for_work(self) -> bool:
        """Whether threads of a program without OpenMP wait for work from a queue or a channel."""
        return not self.openmp and any(map(self.sources.waits_for_work, self._own_files))

    @cached_property
    def gives_work_to_free_threads(self) -> bool:
        """Whether free threads may get the next part of the work: unless sources show otherwise."""
        if self.openmp or not self.sources_known:
            return True
        return self.takes_next_part or self.waits_for_work

    @cached_property
    def sources_known(self) -> bool:
        """Whether the sources of most of the program's own code can be read.

        It is the code that accesses the program's structures. The sources of libraries have no full
        path, or are not known at all.
        """
        own = [s for s, owner in self.owners.items() if owner is Owner.PROGRAM]
        lines = self.trace.source_lines.filter(pl.col("structure").is_in(own))
        sums = lines.group_by("function", "file").agg(
            uses=(pl.col("reads") + pl.col("writes")).sum()
        )
        known = unknown = 0
        for function, file, uses in sums.iter_rows():
            if self.sources.can_read(file):
                known += uses
            elif not is_library_code(function, file) and (not file or file.startswith("/")):
                unknown += uses
        return known > unknown

    @cached_property
    def _own_files(self) -> list[str]:
        """The source files of the program's own code."""
        files = self.trace.source_lines.select("function", "file").unique(maintain_order=True)
        return [file for function, file in files.iter_rows() if not is_library_code(function, file)]

    def region(self, phase: int) -> Place | None:
        """The parallel region or marked phase of this number, if its line is known."""
        row = self.trace.phases.row(phase, named=True)
        return Place(row["name"], row["file"], row["line"]) if row["file"] else None

    @cached_property
    def waited_on(self) -> frozenset[int]:
        """The structures that threads access mostly while they wait for another: no work."""
        return used_while_waiting(self.trace.source_lines, self.sources, self._least)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The accesses to the subjects, as in the trace's table."""
        wanted = [s for s, facts in self.facts.items() if facts.accesses >= self._least]
        return self.trace.accesses.filter(pl.col("structure").is_in(wanted))

    @cached_property
    def compared(self) -> float:
        """The number of accesses with which those of a structure are compared: accesses to memory.

        Stacks, variables, and memory that one thread uses alone, have many accesses that caches
        answer.
        """
        shared = sum(
            facts.accesses
            for structure, facts in self.facts.items()
            if self.owners[structure] is Owner.PROGRAM
            and facts.threads > 1
            and facts.touched_pages >= MIN_SHARED_PAGES
        )
        return max(float(shared), MIN_COMPARED_SHARE * self.accesses)

    @property
    def _least(self) -> float:
        return max(1.0, MIN_STRUCTURE_SHARE * self.compared)

    @property
    def work(self) -> pl.DataFrame:
        """The `rows` that are work on the structure."""
        return self.work_and_fills[0]

    @cached_property
    def work_and_fills(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The rows that are work, and those that only filled structures in parallel.

        If only first touches were recorded, all of them count as work.
        """
        if only_touches(self.trace):
            return self.rows, self.rows.clear()
        return kept_with(self.trace, "work", lambda: work_and_fills(self.trace, self.rows))
