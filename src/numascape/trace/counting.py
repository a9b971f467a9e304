# SPDX-License-Identifier: Apache-2.0
"""What a trace's counts are counts of, and how certain they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from numascape.trace.schema import SCHEMAS
from numascape.trace.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self

_SIGMAS = 1.96
"""Standard deviations around the mean in which 95 of 100 samplings lie."""


def share_error(samples: int) -> float:
    """How far a share of one half, from that many samples, may be off: 95 % are within, 0 to 1.

    Half the width of the binomial's interval; other shares are more certain.
    """
    return min(1.0, _SIGMAS * 0.5 / float(np.sqrt(samples))) if samples else 1.0


def only_touches(trace: Trace) -> bool:
    """Whether the trace says nothing about accesses after a page's first one."""
    return trace.info.recorder.counts == "first touches"


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
