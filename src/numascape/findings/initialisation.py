# SPDX-License-Identifier: Apache-2.0
"""A run with its serial initialisations in a phase of their own, as they come before the work.

A program that makes its threads itself has no phases. Predicted as one, the thread that initialises
everything would seem to be what the others wait for during the work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.findings.subject import PAGE_BYTES, Run
from numascape.findings.thresholds import SERIAL
from numascape.findings.work import loose_phases
from numascape.trace import Trace


@dataclass(frozen=True)
class WithInitialisation(Trace):
    """The trace `whole`, with one phase more: what serial touchers write to others' pages."""

    whole: Trace = field(kw_only=True)
    touchers: pl.DataFrame = field(kw_only=True)
    """structure, thread."""

    @cached_property
    def phases(self) -> pl.DataFrame:
        """The phases of the run, and the initialisation."""
        last = self.whole.phases.tail(1).with_columns(
            phase=pl.lit(self.whole.phases.height, pl.UInt32),
            name=pl.lit("initialisation"),
            repetitions=pl.lit(1, pl.UInt32),
        )
        return pl.concat([self.whole.phases, last])

    @cached_property
    def accesses(self) -> pl.DataFrame:
        """As in the run, but for the phase of initialisations."""
        rows = self.whole.accesses
        count = pl.col("reads") + pl.col("writes")
        keys = [*PAGE, "phase"]
        candidates = rows.join(self.touchers, on="structure", how="semi").filter(
            pl.col("phase").is_in(loose_phases(self.whole))
        )
        initial = (
            candidates.with_columns(most=count.max().over(keys))
            # Byte by byte at most, and less than the one who works on the page.
            .filter(count < pl.col("most"), pl.col("writes") <= PAGE_BYTES)
            .join(self.touchers, on=["structure", "thread"], how="semi")
            .select(*keys, "thread", initial=pl.lit(value=True))
        )
        return (
            rows.join(initial, on=[*keys, "thread"], how="left", maintain_order="left")
            .with_columns(
                phase=pl.when("initial")
                .then(pl.lit(self.whole.phases.height, pl.UInt32))
                .otherwise("phase")
            )
            .drop("initial")
        )

    def _read(self, table: str) -> pl.DataFrame:
        return self.whole.table(table)


def with_initialisation(run: Run) -> Trace:
    """The run's trace, with serial initialisations apart where there are any."""
    rows = [
        (subject.structure, subject.whole.first_toucher)
        for subject in run.subjects
        if subject.whole.first_toucher is not None and subject.whole.first_toucher_share >= SERIAL
    ]
    if not rows:
        return run.trace
    schema = {"structure": pl.UInt32, "thread": pl.UInt32}
    touchers = pl.DataFrame(rows, schema=schema, orient="row")
    return WithInitialisation(run.trace.path, run.trace.info, whole=run.trace, touchers=touchers)
