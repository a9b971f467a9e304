# SPDX-License-Identifier: Apache-2.0
"""The input of a diagnosis: one of the structures of a run; and the run with all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from numascape.analysis.facts import Facts
from numascape.analysis.iterations import ParallelLoop
from numascape.analysis.ownership import Owner
from numascape.findings.earlier_blocks import earlier_owner
from numascape.findings.finding import Place
from numascape.findings.footprint import Footprint, footprint_of, sampled_footprint
from numascape.findings.judging import judged_use
from numascape.findings.page_use import Integers, PageUse, first_touchers, page_use, touched_alone
from numascape.findings.pattern import (
    Pattern,
    looked_up,
    main_users_change,
    pattern_of,
    users_change,
)
from numascape.findings.run_facts import RunFacts
from numascape.findings.sampled_use import SampledUse, in_blocks
from numascape.findings.seen_use import SeenUse
from numascape.findings.sources import Schedule
from numascape.findings.stages import looks_up_in_main_stage, reading_stage
from numascape.findings.thresholds import (
    MAX_REMOTE_SHARE,
    MAX_WRITTEN_SHARE,
    MIN_FOREIGN_SHARE,
)
from numascape.findings.work import busiest_phase, measured_work
from numascape.prediction.computing import computing_ns
from numascape.quantities import share_of
from numascape.trace.format import PAGE_BYTES
from numascape.trace.once import kept_with


@dataclass(frozen=True, eq=False)
class Subject:
    """A structure: its `row`, its facts for the run and for the work, and the `rows` of work."""

    run: Run
    row: dict[str, Any]
    whole: Facts
    work: Facts | None
    rows: pl.DataFrame = field(repr=False)

    @property
    def structure(self) -> int:
        """Its number."""
        return int(self.row["structure"])

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.row["name"])

    @property
    def owner(self) -> Owner:
        """The part of the program that decides on its memory."""
        return self.run.owners[self.structure]

    @property
    def share(self) -> float:
        """Its share of the run's accesses."""
        return share_of(self.whole.accesses, self.run.accesses)

    @cached_property
    def use(self) -> PageUse:
        """How threads divide its pages in the work; blocks of pages, if accesses were sampled."""
        if self.judged is not None:
            return self.judged.use
        return kept_with(self.run.trace, ("use", self.structure), lambda: page_use(self.rows))

    @cached_property
    def judged(self) -> SampledUse | None:
        """How threads divide its pages, judged from samples; None if all accesses were counted."""
        return judged_use(self.run.trace, self.structure, self.rows, self.own_share)

    @property
    def blocks(self) -> pl.DataFrame:
        """The `rows`; if accesses were sampled, with numbers of blocks that have enough samples."""
        return self.rows if self.judged is None else in_blocks(self.rows, self.judged.span)

    @cached_property
    def footprint(self) -> Footprint:
        """How much of it a thread uses in the work, and how often."""
        if self.rows.height and self.judged is not None:
            parts = len(self.threads) if self.pattern is Pattern.SPLIT else 1
            made = self.run.executed_accesses(self.working)
            return sampled_footprint(len(self.threads), self.touched_bytes / parts, made)
        return footprint_of(self.use, self.touched_bytes) if self.rows.height else Footprint()

    @cached_property
    def pattern(self) -> Pattern:
        """How threads share its pages in the work."""
        if not self.rows.height:
            return Pattern.ONE_THREAD
        if self.judged is not None:
            changing = self.judged.pattern is Pattern.CHANGING
            return Pattern.SHARED if changing and self.looked_up else self.judged.pattern
        found = kept_with(self.run.trace, ("pattern", self.structure), lambda: pattern_of(self.use))
        # Chance decides which thread looks up an entry next, also if all of them look up all
        # entries.
        shared = found is Pattern.CHANGING and self.looked_up
        if found in (Pattern.CHANGING, Pattern.GROUPS):
            shared = shared or looks_up_in_main_stage(self.run.trace, self.rows)
        return Pattern.SHARED if shared else found

    @property
    def is_shared_by_all(self) -> bool:
        """Whether all threads share its pages, although some of them may use it less than others.

        In a triangle, all threads use the first pages, and only one uses the last ones. If the
        first toucher of a page does most of the work on it, the pages are local enough.
        """
        if self.is_read_across:
            return True
        if self.pattern is not Pattern.GROUPS:
            return self.pattern is Pattern.SHARED
        return self._used_by_all and self.far_from(MIN_FOREIGN_SHARE)

    @cached_property
    def is_read_across(self) -> bool:
        """Whether threads with fixed parts of the work only read its pages, in no order.

        The sources show that no thread takes the next part when it is free. So the parts of the
        work need overlapping parts of the structure, as rays that cross a volume.
        """
        if self.pattern is not Pattern.CHANGING or self.run.gives_work_to_free_threads:
            return False
        writes, reads = int(self.rows["writes"].sum()), int(self.rows["reads"].sum())
        return writes <= MAX_WRITTEN_SHARE * (writes + reads)

    @property
    def is_shared_by_groups(self) -> bool:
        """Whether different pages have different groups of users."""
        return self.pattern is Pattern.GROUPS and not self._used_by_all

    @property
    def _used_by_all(self) -> bool:
        """Whether the usual users of some of its pages are all of its threads."""
        return len(self.threads) in map(len, self.use.usual_users)

    @cached_property
    def looked_up(self) -> bool:
        """Whether random threads use single entries; false if a schedule deals out the entries."""
        if self.in_tasks or (self.schedule is not None and self.schedule.is_dynamic):
            return False
        return self.uses_single_entries

    @property
    def uses_single_entries(self) -> bool:
        """Whether random threads use single entries, even if dealt out; samples do not show it."""
        if self.judged is not None:
            return self.judged.looks_up
        key = ("looked up", self.structure)
        return kept_with(self.run.trace, key, lambda: looked_up(self.use, self.touchers))

    @cached_property
    def last_read(self) -> pl.DataFrame | None:
        """The rows of the last team of threads, if it only looks up what others built."""
        if self.pattern not in (Pattern.CHANGING, Pattern.GROUPS):
            return None
        return reading_stage(self.run.trace, self.blocks)

    @cached_property
    def own_instances(self) -> bool:
        """Whether each instance was touched first by one thread, and each thread touched some."""
        own = pl.col("structure") == self.structure
        return touched_alone(self.run.trace.first_touch.filter(own), self.threads)

    @cached_property
    def touchers(self) -> Integers | None:
        """The threads that touched the pages of `use` first; None without first touches."""
        own = pl.col("structure") == self.structure
        return kept_with(
            self.run.trace,
            ("touchers", self.structure),
            lambda: first_touchers(self.use, self.run.trace.first_touch.filter(own)),
        )

    @cached_property
    def seen(self) -> SeenUse:
        """What samples show of its lines."""
        own = pl.col("structure") == self.structure
        lines = self.run.trace.seen_lines.filter(own, pl.col("thread").is_in(self.threads))
        if not lines.is_empty():
            fills = self.run.work_and_fills[1].filter(own)
            used = pl.concat([self.rows, fills])
            lines = lines.join(used, on=["thread", "phase"], how="semi")
        return SeenUse(lines, self.run.sampled)

    @cached_property
    def is_dealt_out(self) -> bool:
        """Whether threads take the next part when they are free, and each page has one user.

        Tasks and dynamic schedules do so. Without OpenMP, the users of pages are then in no order.
        A stencil's borders do not change main users.
        """
        if self.pattern is not Pattern.SPLIT:
            return False
        if self.in_dynamic_loop:
            return True
        if self.in_tasks and self.run.sources.has_only_tasks(self.worked_in):
            return True
        return (
            not self.run.openmp
            and self.row["instances"] == 1
            and users_change(self.use)
            and main_users_change(self.use)
        )

    @cached_property
    def threads(self) -> tuple[int, ...]:
        """The threads that work on it."""
        return tuple(int(thread) for thread in self.use.threads) if self.rows.height else ()

    @property
    def working(self) -> int:
        """Accesses that are work."""
        return self.work.accesses if self.work else 0

    @property
    def own_share(self) -> float:
        """Share of the work done by the thread that touched the page first."""
        return self.work.own_share if self.work else 1.0

    @property
    def foreign(self) -> int:
        """Accesses in the work to pages that another thread touched first.

        If nodes were observed: to pages on another node.
        """
        if self.remote is not None:
            return round(self.remote * self.working)
        if self.whole.first_toucher is None:
            return 0
        return round((1 - self.own_share) * self.working)

    @cached_property
    def traffic(self) -> pl.DataFrame | None:
        """The accesses of its work by thread_node and node; None if no nodes are known."""
        return self.run.nodes.traffic(self.rows) if self.run.nodes else None

    @cached_property
    def remote(self) -> float | None:
        """Share of the work that accessed another node; None if the nodes were not observed.

        What a program does wrong does not depend on the machine for which gains are predicted.
        """
        if self.run.nodes is None or not self.run.nodes.observed:
            return None
        table = self.traffic
        total = float(table["accesses"].sum()) if table is not None else 0.0
        if table is None or total == 0:
            return None
        away = table.filter(pl.col("thread_node") != pl.col("node"))
        return float(away["accesses"].sum()) / total

    def far_from(self, share: float) -> bool:
        """Whether at least `share` of the work goes to pages that another thread touched first.

        If nodes were observed, enough of the work must also access another node.
        """
        if self.whole.first_toucher is None or 1 - self.own_share < share:
            return False
        return self.remote is None or self.remote >= MAX_REMOTE_SHARE

    @property
    def touched_bytes(self) -> int:
        """Bytes of its touched pages; if it has one instance, at most its size."""
        pages = self.whole.touched_pages * PAGE_BYTES
        return min(pages, self.row["size"]) if self.row["instances"] == 1 else pages

    @cached_property
    def source_lines(self) -> pl.DataFrame:
        """The rows of `source_lines` for the structure, in the phases with work on it."""
        phases = self.rows["phase"].unique().to_list()
        own = self.run.trace.source_lines.filter(pl.col("structure") == self.structure)
        return own.filter(pl.col("phase").is_in(phases))

    @cached_property
    def used_at(self) -> Place | None:
        """The loop or line with most of the work; None if nothing is known."""
        return self.run.sources.busiest(self.source_lines)

    @cached_property
    def main_phase(self) -> int | None:
        """The phase with most of the work; None without work."""
        return busiest_phase(self.rows)

    @property
    def in_tasks(self) -> bool:
        """Whether OpenMP's tasks or sections do most of the work."""
        return self.main_phase is not None and self.run.deals_out_tasks(self.main_phase)

    @property
    def in_dynamic_loop(self) -> bool:
        """Whether a dynamic schedule, maybe of a loop that calls the code, deals out the work."""
        if self.schedule is not None:
            return self.schedule.is_dynamic
        return self.main_phase is not None and self.run.has_dynamic_loop(self.main_phase)

    @cached_property
    def worked_in(self) -> Place | None:
        """The parallel region or marked phase with most of the work, if its line is known."""
        return None if self.main_phase is None else self.run.region(self.main_phase)

    @cached_property
    def region_loop(self) -> Schedule | None:
        """The schedule of its parallel region, if the region is one loop that threads divide."""
        return self.run.sources.whole_loop(self.worked_in)

    @property
    def is_used_in_call(self) -> bool:
        """Whether the work is in a function that the parallel region calls."""
        return self.run.sources.is_called(self.used_at, self.worked_in)

    @cached_property
    def touched_at(self) -> Place | None:
        """The loop or line that touched most of its pages first."""
        allocated = (self.row["function"], self.row["file"], self.row["line"])
        return self.run.sources.touched(self.whole.place, allocated)

    @cached_property
    def touched_as(self) -> str | None:
        """The earlier structure for which most of its pages were touched; None: they were not."""
        return earlier_owner(self.run.trace, self.structure, self.whole.place)

    @cached_property
    def initial_loop(self) -> ParallelLoop | None:
        """Which loop around its first touches could run in parallel; None if none is known."""
        _, file, line = self.whole.place
        if self.touched_at is None or self.touched_at.file != file:
            return None
        return self.run.sources.parallel_loop(file, line)

    @cached_property
    def schedule(self) -> Schedule | None:
        """The schedule of the OpenMP loop that works on it, if the source can be read."""
        return self.run.sources.schedule(self.used_at)


@dataclass(frozen=True, eq=False)
class Run(RunFacts):
    """A run with its subjects.

    These are the structures with at least MIN_STRUCTURE_SHARE of the accesses that they are
    `compared` with, most used first.
    """

    @cached_property
    def computes(self) -> bool:
        """Whether it uses the CPU for so long that its accesses hardly matter.

        Each access to entries that random threads look up may wait for memory. Loops that wait for
        another thread use CPU time, too, so nothing is said of a run that has them.
        """
        if not computing_ns(self.trace) or self.waited_on:
            return False
        shared = (one for one in self.subjects if one.pattern is Pattern.SHARED)
        looked_up = sum(one.working for one in shared if one.looked_up)
        return computing_ns(self.trace, looked_up) > 0

    def subject(self, structure: int) -> Subject | None:
        """The subject of this structure; None if the structure has too few accesses."""
        return next((one for one in self.subjects if one.structure == structure), None)

    @cached_property
    def subjects(self) -> tuple[Subject, ...]:
        """The structures with enough accesses for a diagnosis, most used first."""
        wanted = {s for s, facts in self.facts.items() if facts.accesses >= self._least}
        of = self.trace, self.work, self.facts, wanted
        parts, facts = kept_with(self.trace, "parts", lambda: measured_work(*of))
        empty = self.work.clear()
        return tuple(
            Subject(
                run=self,
                row=row,
                whole=self.facts[row["structure"]],
                work=facts.get(row["structure"]),
                rows=parts.get((row["structure"],), empty),
            )
            for row in sorted(
                self.trace.structures.filter(pl.col("structure").is_in(list(wanted))).iter_rows(
                    named=True
                ),
                key=lambda row: (-self.facts[row["structure"]].accesses, row["structure"]),
            )
        )
