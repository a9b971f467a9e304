# SPDX-License-Identifier: Apache-2.0
"""Some threads fill the pages again and again, and other threads read what these wrote.

A ring of messages is used in this way, or the buffers between the stages of a pipeline. Each value
must go from one thread to another, wherever its page is. Therefore the nodes of the threads matter,
and those of the pages do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from numascape.analysis.page_numbers import page_numbers, summed_by
from numascape.analysis.sharing import PAGE
from numascape.findings.advice import pin
from numascape.findings.fills import without_fills_by_teams
from numascape.findings.finding import Evidence, Figure, Finding, Fix, Kind
from numascape.findings.pattern import Pattern
from numascape.findings.sampled_use import in_blocks_of
from numascape.findings.subject import Run, Subject
from numascape.findings.thread_groups import has_separate_groups
from numascape.findings.thresholds import (
    MAX_PAGE_WEIGHT,
    MAX_READS_PER_WRITE,
    MIN_CACHE_RESIDENT_BYTES,
    MIN_FILLS,
    MIN_GAIN,
    MIN_HANDED_SHARE,
    MIN_INSTANCES_OF_STREAM,
    MIN_ROLES,
    MIN_USER_SHARE,
    sureness,
)
from numascape.findings.wording import threads_text
from numascape.findings.work import used_while_others_lived
from numascape.quantities import percent, share_of
from numascape.trace.once import kept_with
from numascape.trace.phase import loose_phases


@dataclass(frozen=True)
class Handed:
    """How threads hand data to each other in a structure.

    `roles` is half the sum of the differences between the threads' shares of the reads and of the
    writes: 0 if all threads read and write alike, 1 if none does both. It is
    also small if all threads both read and write, each for others. `others` is the share of the
    reads by threads that do not write the page.
    """

    reads: int
    writes: int
    roles: float
    others: float
    producers: tuple[int, ...]
    consumers: tuple[int, ...]


def diagnose(subject: Subject) -> Finding | None:
    """Return the finding, or None."""
    run = subject.run
    if subject.row["size"] < MIN_CACHE_RESIDENT_BYTES:
        return None
    handed = kept_with(run.trace, "handed", lambda: _handed(run)).get(subject.structure)
    if handed is None or not _is_stream(subject, handed):
        return None
    if handed.others * handed.reads < MIN_GAIN * run.accesses:
        return None
    # If each group of threads can have its own node, the finding about groups advises that.
    if subject.pattern is Pattern.GROUPS and has_separate_groups(run):
        return None
    return Finding(
        kind=Kind.PRODUCER_CONSUMER,
        structure=subject.structure,
        name=subject.name,
        threads=tuple(sorted({*handed.producers, *handed.consumers})),
        why=(
            f"It is filled again and again by {threads_text(handed.producers)}, and read by "
            f"{threads_text(handed.consumers)}. {percent(handed.others)} of the reads are by "
            "threads that do not write the page. Wherever a page is, its data goes from one thread "
            "to another."
        ),
        fixes=(
            Fix(
                "No placement of its pages helps. Run these threads on one node, if it has a CPU "
                f"for each of them. {pin(run)} Keep it so small that it stays in the cache that "
                "they share."
            ),
        ),
        evidence=(
            Evidence("reads by threads that do not write the page", handed.others, "share"),
            Evidence("difference between readers and writers", handed.roles, "share"),
            Evidence("writes", handed.writes, "count"),
        ),
        figure=Figure.ACCESS_DISTRIBUTION,
        confidence=sureness(handed.others, MIN_HANDED_SHARE, 1.0),
        place=subject.used_at,
    )


def _is_stream(subject: Subject, handed: Handed) -> bool:
    """Whether data passes from thread to thread repeatedly, and is read about once."""
    less, more = sorted((handed.reads, handed.writes))
    # The blocks of this kind are smaller than a page.
    small = subject.row["kind"] == "small"
    blocks = subject.whole.touched_pages if small else subject.row["instances"]
    # Threads that build parts, and later read those of others, have many blocks, too.
    stream = blocks >= MIN_INSTANCES_OF_STREAM and handed.roles >= MIN_ROLES
    writes = subject.run.executed_accesses(handed.writes)
    again = writes >= MIN_FILLS * subject.touched_bytes or stream
    return again and more <= MAX_READS_PER_WRITE * less and handed.others >= MIN_HANDED_SHARE


def _handed(run: Run) -> dict[int, Handed]:
    """For each structure, how threads used it outside of parallel regions while others lived."""
    loose = run.rows.filter(pl.col("phase").is_in(loose_phases(run.trace)))
    together = used_while_others_lived(run.trace, loose)
    work, _ = without_fills_by_teams(together, run.trace.first_touch, run.trace.threads)
    spans = {one.structure: one.judged.span for one in run.subjects if one.judged is not None}
    pages = _without_control_words(in_blocks_of(work, spans) if spans else work)
    by_others = _read_by_others(pages)
    by_thread = pages.group_by("structure", "thread").agg(pl.col("reads", "writes").sum())
    found = {}
    for (structure,), table in (
        by_thread.sort("thread").partition_by("structure", as_dict=True).items()
    ):
        reads, writes = float(table["reads"].sum()), float(table["writes"].sum())
        if not reads or not writes:
            continue
        parts = table.with_columns(pl.col("reads") / reads, pl.col("writes") / writes)
        least = MIN_USER_SHARE / table.height
        found[int(structure)] = Handed(
            reads=round(reads),
            writes=round(writes),
            roles=float((parts["reads"] - parts["writes"]).abs().sum()) / 2,
            others=share_of(by_others.get(int(structure), 0.0), reads),
            producers=tuple(parts.filter(pl.col("writes") >= least)["thread"]),
            consumers=tuple(parts.filter(pl.col("reads") >= least)["thread"]),
        )
    return found


def _without_control_words(rows: pl.DataFrame) -> pl.DataFrame:
    """structure, thread, reads, writes, number (of the page); extreme pages count less.

    Both sides read and write the head and the tail of a ring, which are on one page. This says
    nothing about the data on the other pages.
    """
    used = summed_by(rows, [*PAGE, "thread"], ["reads", "writes"])
    number, bound = page_numbers(used)
    total = np.bincount(number, (used["reads"] + used["writes"]).to_numpy(), bound)
    structure = np.zeros(bound, np.uint32)
    structure[number] = used["structure"].to_numpy()
    present = np.bincount(number, minlength=bound) > 0
    pages = pl.DataFrame({"structure": structure[present], "total": total[present]})
    typical = np.zeros(int(structure.max(initial=0)) + 1)
    for of_structure, median in pages.group_by("structure").agg(pl.median("total")).iter_rows():
        typical[of_structure] = median
    most = MAX_PAGE_WEIGHT * typical[structure]
    counted = np.divide(most, total, out=np.ones(bound), where=total > most)[number]
    return used.select(
        "structure",
        "thread",
        reads=pl.Series(used["reads"].to_numpy() * counted),
        writes=pl.Series(used["writes"].to_numpy() * counted),
        number=pl.Series(number),
    )


def _read_by_others(pages: pl.DataFrame) -> dict[int, float]:
    """For each structure, reads of written pages by threads that do not write the page."""
    number, writes = (pages[name].to_numpy() for name in ("number", "writes"))
    written = np.bincount(number, writes)
    least = MIN_USER_SHARE * written / np.maximum(np.bincount(number), 1)
    by_others = pages.filter((writes <= least[number]) & (written > 0)[number])
    return dict(by_others.group_by("structure").agg(pl.col("reads").sum()).iter_rows())
