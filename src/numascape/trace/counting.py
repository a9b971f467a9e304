# SPDX-License-Identifier: Apache-2.0
"""The meaning of a trace's counts, and their errors."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from numascape.errors import NumascapeError
from numascape.trace.format import BURST_GROUPS
from numascape.trace.info import PAGE_FAULTS, Counts, Recorder
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS
from numascape.trace.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self

_SIGMAS = 1.96
"""Standard deviations around the mean that contain 95 % of all samplings."""

T_OF_GROUPS = 2.365
"""The same for Student's distribution with 7 degrees of freedom: for 8 groups of bursts."""

_MOMENT_NS = 50_000_000
FEWEST_SAMPLES = 50
"""With fewer samples, a share has no meaning."""


def share_error(samples: int) -> float:
    """The largest error of a share of one half from this many samples, with 95 % confidence.

    It is half of the binomial's confidence interval; other shares have smaller errors.
    """
    return min(1.0, _SIGMAS * 0.5 / math.sqrt(samples)) if samples else 1.0


def sampling_error(recorder: Recorder, samples: int) -> float:
    """`share_error` of this many samples by this recorder; samples of one moment count as one."""
    return share_error(min(samples, recorder.moments or samples))


def structure_error(trace: Trace, structure: int) -> float:
    """`sampling_error` of one structure: a page has at most one sample of each scan."""
    rows = trace.accesses.filter(pl.col("structure") == structure)
    by_page = rows.group_by("instance", "page").agg(pl.col("reads", "writes").sum())
    samples = (by_page["reads"] + by_page["writes"]).to_list()
    bursts = trace.info.recorder.moments > 0
    counted = max(samples, default=0) if bursts else sum(samples)
    return sampling_error(trace.info.recorder, counted)


def counted_share(trace: Trace) -> float:
    """The share of the work that was counted, in bursts; 1 if all of it was."""
    recorder = trace.info.recorder
    changing = recorder.counted_work
    share = recorder.options.get("sample") if changing is None else changing.share
    return share if isinstance(share, float) and 0 < share < 1 else 1.0


def mean_weight(trace: Trace) -> float:
    """What a counted access stands for: the mean over the work of the inverse of its share."""
    changing = trace.info.recorder.counted_work
    return 1 / counted_share(trace) if changing is None else changing.weight


def _counted_for_sure(trace: Trace) -> float:
    """The share of the work that was counted, wherever in the run. If it changed: a lower bound."""
    return 0.0 if trace.info.recorder.counted_work is not None else counted_share(trace)


def knows_bursts(trace: Trace) -> bool:
    """Whether only bursts were counted, and the trace has the accesses of each to each page."""
    return counted_share(trace) < 1 and not trace.page_bursts.is_empty()


def estimate_errors(
    trace: Trace, by: Sequence[str], structures: Collection[int] | None = None
) -> pl.DataFrame:
    """The estimated accesses of a run of which only bursts were counted, and their errors.

    One row for each combination of the columns `by` of the table `burst_groups` (structure,
    thread, phase); none: one row for all. Only the accesses to `structures`, if they are given.
    `accesses` is the estimate, and `error` the half of its confidence interval of 95 %. The method
    is that of random groups (K. M. Wolter, Introduction to Variance Estimation, 2007): each group
    of bursts alone gives an estimate, and these differ by chance. They do not show that the first
    and the last period of a thread's work are incomplete, so an error is never smaller than what
    one burst of each thread stands for.
    """
    rows = trace.burst_groups.with_columns(
        accesses=(pl.col("reads") + pl.col("writes")).cast(pl.Float64), one=pl.lit(0)
    )
    if structures is not None:
        rows = rows.filter(pl.col("structure").is_in(structures))
    key = [*by, "one"]
    accesses = pl.col("accesses")
    sums = rows.group_by(*key, "group").agg(accesses.sum())
    # A group without a row has no accesses.
    squares = (accesses**2).sum() - accesses.sum() ** 2 / BURST_GROUPS
    variance = BURST_GROUPS * squares / (BURST_GROUPS - 1) * (1 - _counted_for_sure(trace))
    differing = sums.group_by(key).agg(accesses.sum(), chance=variance * T_OF_GROUPS**2)
    each = list(dict.fromkeys([*key, "thread"]))
    whole = rows.group_by(*each, "group").agg(accesses.sum(), pl.col("bursts").max())
    bursts = pl.col("bursts").sum().clip(lower_bound=1)
    by_thread = whole.group_by(each).agg(of_a_burst=(accesses.sum() / bursts) ** 2)
    least = by_thread.group_by(key).agg(pl.col("of_a_burst").sum())
    of_a_burst = pl.col("of_a_burst") if counted_share(trace) < 1 else pl.lit(0.0)
    error = (pl.col("chance") + of_a_burst).sqrt()
    found = differing.join(least, on=key).with_columns(error=error)
    if by:
        return found.select(*by, "accesses", "error").sort(by)
    return found.select(pl.col("accesses", "error").sum())


def run_error(trace: Trace) -> float:
    """The error of the number of all accesses, as a share of it; 0 if all were counted."""
    if counted_share(trace) == 1.0:
        return 0.0
    accesses, error = estimate_errors(trace, []).row(0)
    return float(error / accesses) if accesses else 1.0


def count_moments(times_ns: pl.Series) -> int:
    """The number of moments at which samples were taken, if they come in bursts.

    After a scan of the kernel's NUMA balancing, many pages fault at the same time. All of these
    faults may come from the thread that was running then.
    """
    return (times_ns // _MOMENT_NS).n_unique()


def counts_of_faults(hinting: int) -> Counts:
    """The kind of counts of a recording of page faults, with this many hinting faults."""
    return "samples" if hinting >= FEWEST_SAMPLES else "first touches"


def samples_are_faults(recorder: Recorder) -> bool:
    """Whether the samples are all page faults, which do not show how much a page is used."""
    return recorder.counts == "samples" and recorder.options.get("event") == PAGE_FAULTS


def misses_touches(trace: Trace) -> bool:
    """Whether some accesses are to pages whose first touch was not seen.

    With samples or bursts, first touches come from page faults. There is none for memory that was
    freed and allocated again, nor for a page that the kernel filled before the program ran, such as
    the end of the main thread's stack.
    """
    return trace.info.recorder.counts == "samples" or counted_share(trace) < 1


def only_touches(trace: Trace) -> bool:
    """Whether the trace contains only first touches."""
    return trace.info.recorder.counts == "first touches"


def knows_touches(trace: Trace) -> bool:
    """Whether the trace has first touches; traces of samples may not have them."""
    return not trace.first_touch.is_empty()


def knows_threads(trace: Trace) -> bool:
    """Whether the trace has the thread that made an access, or touched a page first."""
    return trace.info.recorder.by_thread


def check_knows_threads(trace: Trace, what: str) -> None:
    """Raise NumascapeError if the trace has no threads of accesses; `what` needs them."""
    if not knows_threads(trace):
        raise NumascapeError(
            f"{what} needs to know which threads use the memory, but {trace.path} does not "
            "contain this: record without --recorder damon"
        )


MEMORY_LINES = tuple(OPTIONAL_COLUMNS["accesses"])
"""The columns of accesses that count cache lines: from memory, and back to it."""


def has_memory_lines(accesses: pl.DataFrame) -> bool:
    """Whether the trace's accesses have lines from memory."""
    return set(MEMORY_LINES) <= set(accesses.columns)


def count_columns(accesses: pl.DataFrame) -> list[str]:
    """The count columns of a trace's accesses: reads, writes and, if present, lines."""
    return ["reads", "writes", *(MEMORY_LINES if has_memory_lines(accesses) else ())]


def as_memory_lines(accesses: pl.DataFrame) -> pl.DataFrame:
    """`accesses` with lines from memory for reads, and lines back to it for writes."""
    return accesses.drop("reads", "writes").rename(
        dict(zip(MEMORY_LINES, ("reads", "writes"), strict=True))
    )


@dataclass(frozen=True)
class TraceOfTouches(Trace):
    """A trace without accesses, with each page's first touch as one write of its thread.

    Code that ranks or draws counts then shows pages.
    """

    whole: Trace = field(kw_only=True)

    @classmethod
    def of(cls, trace: Trace) -> Trace | Self:
        """`trace` itself, if it has accesses."""
        return cls(trace.path, trace.info, whole=trace) if only_touches(trace) else trace

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """One write per touched page, by the thread that touched it first."""
        counted = self.whole.first_touch.with_columns(
            reads=pl.lit(0, dtype=pl.UInt64), writes=pl.lit(1, dtype=pl.UInt64)
        )
        return counted.select(SCHEMAS["accesses"].names())

    @cached_property
    def first_touch(self) -> pl.DataFrame:
        """The recorded first touches."""
        return self.whole.first_touch

    def _read(self, table: str) -> pl.DataFrame:
        return self.whole.table(table)
