# SPDX-License-Identifier: Apache-2.0
"""Separates the work on a structure from its initialisation and from checks.

The sharing of a structure is judged by the work alone. For example, one thread may fill a matrix
and sum it up, while several threads compute it: the matrix still counts as split among these
threads.

Accesses are work if they happen in a parallel region, or in a phase marked by the program, in which
several threads use the structure. A program that creates its threads itself has no such phases.
Outside of such phases, the accesses of these threads are left out:

- a thread that used the structure while no other thread lived;
- the thread that touched nearly all pages first, if it does not work like the others;
- the main thread, if it uses nearly all pages of a structure while each other user has a part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import polars as pl

from numascape.analysis.collecting import collected
from numascape.analysis.facts import Facts, per_thread_pages, structure_facts
from numascape.analysis.page_numbers import page_numbers, summed_by
from numascape.analysis.sharing import PAGE
from numascape.findings.fills import without_fills, without_fills_by_teams
from numascape.findings.sample_sizes import SAMPLED_PART
from numascape.findings.thresholds import (
    MAX_PARALLEL_SHARE,
    MAX_PART_OF_PAGES,
    MAX_WORK_OF_INITIALISER,
    MIN_ALONE_SHARE,
    MIN_ORDERED_SHARE,
    MIN_SERIAL_SHARE,
    MIN_WORK_OF_INITIALISER,
)
from numascape.trace import Trace
from numascape.trace.counting import misses_touches
from numascape.trace.format import PAGE_BYTES
from numascape.trace.phase import loose_phases

_COUNT = pl.col("reads") + pl.col("writes")


def work_and_fills(trace: Trace, accesses: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of `accesses` (some of the trace's) that are work, and those that only fill."""
    loose = pl.col("phase").is_in(loose_phases(trace))
    used = accesses.filter(_COUNT > 0)
    initialisers = _initialisers(trace, used)
    parallel = collected(_parallel(used).filter(~loose), used.height)
    bound = used.filter(~loose).join(parallel, on=["structure", "phase"], how="semi")
    bound, fills = without_fills(bound, trace.first_touch, trace.phases)
    free = used.filter(loose)
    free = _without(free, initialisers)
    free = used_while_others_lived(trace, free)
    free, by_teams = without_fills_by_teams(free, trace.first_touch, trace.threads)
    free = _without(free, _overseers(trace, free))
    # Outside regions, the few accesses of a single thread do not count as work of several threads.
    beside = free.join(bound.select("structure").unique(), on="structure", how="semi")
    several = collected(_parallel(beside), beside.height)
    beside = beside.join(several, on=["structure", "phase"], how="semi")
    alone = free.join(bound.select("structure").unique(), on="structure", how="anti")
    return pl.concat([bound, beside, alone]), pl.concat([fills, by_teams])


def measured_work(
    trace: Trace, work: pl.DataFrame, whole: Mapping[int, Facts], structures: Collection[int]
) -> tuple[dict[tuple[object, ...], pl.DataFrame], dict[int, Facts]]:
    """The rows of the work by structure, and the facts of the work on these structures.

    `whole` has the facts of all accesses. They are used for structures whose accesses are all work.
    """
    every = dict(trace.accesses.group_by("structure").len().iter_rows())
    parts = work.partition_by("structure", as_dict=True)
    complete = {s for (s,), rows in parts.items() if rows.height == every[s]}
    rest = [structure for structure in structures if structure not in complete]
    of_rest = pl.col("structure").is_in(rest)
    pages = per_thread_pages(work.filter(of_rest), trace.phases.height)
    touches = trace.first_touch.filter(of_rest)
    facts = structure_facts(pages, touches, of_known=misses_touches(trace))
    return parts, {**facts, **{structure: whole[structure] for structure in complete}}


def _parallel(accesses: pl.DataFrame) -> pl.LazyFrame:
    """The pairs of structure and phase in which several threads work on the structure."""
    by_thread = accesses.lazy().group_by("structure", "phase", "thread").agg(count=_COUNT.sum())
    return (
        by_thread.group_by("structure", "phase")
        .agg(top=pl.col("count").max(), total=pl.col("count").sum())
        .filter(pl.col("top") <= MAX_PARALLEL_SHARE * pl.col("total"))
        .select("structure", "phase")
    )


def _initialisers(trace: Trace, accesses: pl.DataFrame) -> pl.DataFrame:
    """structure, thread: threads that touched nearly all pages first, and work unlike others.

    It has only structures that other threads use, too.
    """
    used = accesses.lazy()
    touched = trace.first_touch.lazy().join(used, on="structure", how="semi")
    touchers = touched.group_by("structure", "thread").agg(pages=pl.len())
    serial = touchers.filter(
        pl.col("pages") >= MIN_SERIAL_SHARE * pl.col("pages").sum().over("structure")
    )
    by_thread = used.group_by("structure", "thread").agg(
        pl.col("reads", "writes").sum(), count=_COUNT.sum()
    )
    rest = by_thread.join(serial, on=["structure", "thread"], how="anti")
    mean = rest.group_by("structure").agg(mean=pl.col("count").mean())
    # The accesses other than one write per byte, because an initialisation makes no more writes.
    again = pl.col("writes").cast(pl.Float64) - pl.col("pages") * PAGE_BYTES
    beside = pl.col("reads") + again.clip(lower_bound=0)
    found = (
        serial.join(by_thread, on=["structure", "thread"], how="left")
        .with_columns(pl.col("reads", "writes").fill_null(0))
        .join(mean, on="structure")
        .filter(
            (beside < MIN_WORK_OF_INITIALISER * pl.col("mean"))
            | (beside > MAX_WORK_OF_INITIALISER * pl.col("mean"))
        )
        .select("structure", "thread")
    )
    return collected(found, accesses.height)


def used_while_others_lived(trace: Trace, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows without those of threads that used a structure while no other thread lived."""
    return _without(rows, _alone(trace))


def _without(rows: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The rows without those of these structures and threads; usually there are no pairs."""
    if pairs.is_empty():
        return rows
    key = pl.col("structure").cast(pl.UInt64) * (1 << 32) + pl.col("thread")
    left_out = pairs.select(key).to_series()
    return rows.filter(~key.is_in(left_out.implode()))


def _alone(trace: Trace) -> pl.DataFrame:
    """structure, thread: who used the structure while no other thread lived, as samples saw it."""
    seen = trace.seen_lines.filter(pl.col("phase").is_in(loose_phases(trace)))
    sums = seen.group_by("structure", "thread").agg(pl.col("times", "alone").sum())
    alone = pl.col("alone") >= MIN_ALONE_SHARE * pl.col("times")
    # If threads only live one after the other, all of them were alone: none is left out.
    used = sums.filter(alone & ~alone.all().over("structure"))
    return used.select("structure", "thread")


def _overseers(trace: Trace, used: pl.DataFrame) -> pl.DataFrame:
    """structure, thread: the main thread, if it uses nearly all pages and others a part each."""
    main = trace.threads.group_by("process").agg(pl.col("thread").min())["thread"].to_list()
    is_main = pl.col("thread").is_in(main)
    # Only the pages of these structures have to be compared.
    users = used.lazy().group_by("structure", "thread").agg(pl.len())
    watched = users.group_by("structure").agg(main=is_main.sum(), others=(~is_main).sum())
    watched = watched.filter(pl.col("main") > 0, pl.col("others") > 1).select("structure")
    candidates = collected(watched, used.height)
    if candidates.is_empty():
        return candidates.with_columns(thread=pl.lit(0, pl.UInt32))
    used = used.filter(pl.col("structure").is_in(candidates["structure"].implode()))
    if trace.info.recorder.counts == "samples":
        # Samples miss many pages that the main thread uses, but hardly any such part of its memory.
        used = used.with_columns(pl.col("page") // SAMPLED_PART)
    pages = summed_by(used, [*PAGE, "thread"], [])
    number, bound = page_numbers(pages)
    mains = pages.select(is_main).to_series().to_numpy()
    by_others = np.zeros(bound, bool)
    by_others[number[~mains]] = True
    structure = np.zeros(bound, np.uint32)
    structure[number] = pages["structure"].to_numpy()
    total = pl.DataFrame({"structure": structure[by_others]}).group_by("structure").len("total")
    counts = pages.filter(mains <= by_others[number]).group_by("structure", "thread").len("pages")
    mean = (
        counts.filter(~is_main)
        .group_by("structure")
        .agg(mean=pl.col("pages").mean(), others=pl.len())
    )
    return (
        counts.filter(is_main)
        .join(total, on="structure")
        .join(mean, on="structure")
        .filter(
            pl.col("others") > 1,
            pl.col("pages") >= MIN_ORDERED_SHARE * pl.col("total"),
            pl.col("mean") < MAX_PART_OF_PAGES * pl.col("total"),
        )
        .select("structure", "thread")
    )


def busiest_phase(rows: pl.DataFrame) -> int | None:
    """The phase with most of the accesses of the rows; None if there are no rows."""
    counts = rows.group_by("phase").agg(count=(pl.col("reads") + pl.col("writes")).sum())
    if counts.is_empty():
        return None
    return int(counts.sort("count", "phase", descending=[True, False])["phase"][0])
