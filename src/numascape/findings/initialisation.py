# SPDX-License-Identifier: Apache-2.0
"""Moves the serial initialisations of a run into a separate phase, before the work.

A program that creates its threads itself has no phases. If its run were predicted as one phase, the
other threads would seem to wait for the thread that initialises everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from numascape.analysis.sharing import PAGE
from numascape.findings.subject import PAGE_BYTES, Run
from numascape.findings.thresholds import MIN_SERIAL_SHARE
from numascape.findings.work import loose_phases
from numascape.trace import Trace


@dataclass(frozen=True)
class WithInitialisation(Trace):
    """The trace `whole` with one more phase: writes of serial touchers to others' pages."""

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
        """The accesses, of which initialisations are in the additional phase."""
        rows = self.whole.accesses
        count = pl.col("reads") + pl.col("writes")
        keys = [*PAGE, "phase"]
        candidates = rows.join(self.touchers, on="structure", how="semi").filter(
            pl.col("phase").is_in(loose_phases(self.whole))
        )
        initial = (
            candidates.with_columns(most=count.max().over(keys))
            # At most one write per byte, and fewer accesses than the main user of the page.
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
    """The run's trace; if it has serial initialisations, they are in a separate phase."""
    rows = [
        (subject.structure, subject.whole.first_toucher)
        for subject in run.subjects
        if subject.whole.first_toucher is not None
        and subject.whole.first_toucher_share >= MIN_SERIAL_SHARE
    ]
    if not rows:
        return run.trace
    schema = {"structure": pl.UInt32, "thread": pl.UInt32}
    touchers = pl.DataFrame(rows, schema=schema, orient="row")
    return WithInitialisation(run.trace.path, run.trace.info, whole=run.trace, touchers=touchers)
