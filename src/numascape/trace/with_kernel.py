# SPDX-License-Identifier: Apache-2.0
"""Counts what system calls read and wrote for threads as accesses of these threads.

A buffer that `read` refills is written, although the program executes no store to it. Diagnoses
count such writes. All displayed counts are those of the program alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from numascape.trace.counting import count_columns
from numascape.trace.derived import DerivedTrace
from numascape.trace.teams import TraceOfTeams
from numascape.trace.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self

_PAGE = ["structure", "instance", "page"]
_WORD = 8
"""Bytes of an access. The kernel copies words, like most code."""


@dataclass(frozen=True)
class TraceWithKernel(DerivedTrace):
    """The trace `whole`, whose accesses include those of the kernel for the threads."""

    same_pages: ClassVar[bool] = False

    @classmethod
    def of(cls, trace: Trace) -> Trace | Self:
        """`trace` itself, if no such accesses are known, or if its counts are no accesses."""
        known = trace.info.recorder.counts == "accesses" and not trace.kernel_accesses.is_empty()
        return cls(trace.path, trace.info, whole=trace) if known else trace

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """Reads and writes per page, thread and phase, by the program and for it."""
        table = self.whole.accesses
        counts = count_columns(table)
        keys = [name for name in table.columns if name not in counts]
        words = {"reads": "read_bytes", "writes": "written_bytes"}
        # Pages that the program itself never uses are left out: nobody waits for them.
        used = self.whole.kernel_accesses.join(table.select(_PAGE).unique(), on=_PAGE, how="semi")
        made = used.with_columns(
            # At least one access, if there is a byte.
            ((pl.col(words[name]) + _WORD - 1) // _WORD).alias(name)
            if name in words
            else pl.lit(0, dtype=pl.UInt64).alias(name)
            for name in counts
        ).select(table.columns)
        sums = pl.concat([table, made]).lazy().group_by(keys).agg(pl.col(counts).sum())
        return sums.sort(keys).collect().select(table.columns)


def as_recorded(trace: Trace) -> Trace:
    """The trace of which this one is derived: all threads, and accesses of the program alone."""
    whole = trace.whole if isinstance(trace, TraceOfTeams) else trace
    return whole.whole if isinstance(whole, TraceWithKernel) else whole
