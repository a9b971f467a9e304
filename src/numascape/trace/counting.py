# SPDX-License-Identifier: Apache-2.0
"""What a trace's counts are counts of, and how certain they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.trace.info import Counts, Recorder
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS
from numascape.trace.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self

_SIGMAS = 1.96
"""Standard deviations around the mean in which 95 of 100 samplings lie."""

_MOMENT_NS = 50_000_000
FEWEST_SAMPLES = 50
"""With fewer, a share says nothing."""


def share_error(samples: int) -> float:
    """How far a share of one half, from that many samples, may be off: 95 % are within, 0 to 1.

    Half the width of the binomial's interval; other shares are more certain.
    """
    return min(1.0, _SIGMAS * 0.5 / float(np.sqrt(samples))) if samples else 1.0


def sampling_error(recorder: Recorder, samples: int) -> float:
    """`share_error` of so many samples by this recorder, those of one moment taken as one."""
    return share_error(min(samples, recorder.moments or samples))


def structure_error(trace: Trace, structure: int) -> float:
    """`sampling_error` of one structure: a page has at most one sample of each scan."""
    rows = trace.accesses.filter(pl.col("structure") == structure)
    by_page = rows.group_by("instance", "page").agg(pl.col("reads", "writes").sum())
    samples = by_page["reads"].to_numpy() + by_page["writes"].to_numpy()
    bursts = trace.info.recorder.moments > 0
    counted = samples.max(initial=0) if bursts else samples.sum()
    return sampling_error(trace.info.recorder, int(counted))


def count_moments(times_ns: npt.NDArray[Any]) -> int:
    """At how many moments samples that come in bursts were taken.

    What a scan of the kernel's balancing makes fault does so at once, and may all be used by the
    thread whose turn it was.
    """
    return len(np.unique(times_ns // _MOMENT_NS))


def counts_of_faults(hinting: int) -> Counts:
    """What a recording of page faults counts, with so many hinting faults among them."""
    return "samples" if hinting >= FEWEST_SAMPLES else "first touches"


def only_touches(trace: Trace) -> bool:
    """Whether the trace says nothing about accesses after a page's first one."""
    return trace.info.recorder.counts == "first touches"


def knows_touches(trace: Trace) -> bool:
    """Whether the trace says who touched pages first; samples need not."""
    return not trace.first_touch.is_empty()


MEMORY_LINES = tuple(OPTIONAL_COLUMNS["accesses"])
"""The columns of accesses that count cache lines: those from memory, and those back to it."""


def has_memory_lines(accesses: pl.DataFrame) -> bool:
    """Whether rows of the trace's accesses say which lines came from memory."""
    return set(MEMORY_LINES) <= set(accesses.columns)


def counted(accesses: pl.DataFrame) -> list[str]:
    """The columns of a trace's accesses that are counts: reads, writes, and lines if there."""
    return ["reads", "writes", *(MEMORY_LINES if has_memory_lines(accesses) else ())]


def as_memory_lines(accesses: pl.DataFrame) -> pl.DataFrame:
    """`accesses` with lines from memory for reads, and lines back to it for writes."""
    return accesses.drop("reads", "writes").rename(
        dict(zip(MEMORY_LINES, ("reads", "writes"), strict=True))
    )


@dataclass(frozen=True)
class TraceOfTouches(Trace):
    """A trace without accesses, with each page's first touch as one write of its thread.

    For what ranks or draws by counts: these then stand for pages.
    """

    whole: Trace = field(kw_only=True)

    @classmethod
    def of(cls, trace: Trace) -> Trace | Self:
        """`trace` itself, if it has accesses."""
        return cls(trace.path, trace.info, whole=trace) if only_touches(trace) else trace

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """One write for each page that was touched, by the thread that did it first."""
        counted = self.whole.first_touch.with_columns(
            reads=pl.lit(0, dtype=pl.UInt64), writes=pl.lit(1, dtype=pl.UInt64)
        )
        return counted.select(SCHEMAS["accesses"].names())

    @cached_property
    def first_touch(self) -> pl.DataFrame:
        """As recorded."""
        return self.whole.first_touch

    def _read(self, table: str) -> pl.DataFrame:
        return self.whole.table(table)
