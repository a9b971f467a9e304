# SPDX-License-Identifier: Apache-2.0
"""Judges how threads use a structure, if not all of their accesses were counted."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from numascape.findings.page_use import first_touchers, page_use
from numascape.findings.sampled_use import (
    SampledUse,
    accesses_in_turn,
    in_blocks,
    least_of_block,
    own_share_error,
    sampled_use,
)
from numascape.trace import Trace
from numascape.trace.counting import knows_bursts, mean_weight


def judged_use(
    trace: Trace, structure: int, rows: pl.DataFrame, own_share: float
) -> SampledUse | None:
    """The use of a structure's pages in the work; None if all accesses were counted.

    `rows` are the structure's accesses in the work, and `own_share` is the share of them by the
    threads that touched the pages first.
    """
    if trace.info.recorder.counts == "samples":
        return sampled_use(page_use(rows), own_share)
    if not knows_bursts(trace):
        return None
    bursts = _bursts(trace, structure, rows)
    use = page_use(bursts.with_columns(reads="accesses", writes=pl.lit(0, pl.UInt64)))
    touches = trace.first_touch.filter(pl.col("structure") == structure)
    judged = sampled_use(use, own_share, own_share_error(use, first_touchers(use, touches)))
    return replace(judged, in_turn=accesses_in_turn(use, mean_weight(trace)))


def shows_phases(
    trace: Trace, structure: int, rows: pl.DataFrame, judged: SampledUse | None
) -> bool:
    """Whether enough is known to compare the users of a structure's blocks of pages by phase."""
    if judged is None:
        return True
    blocks = len(judged.use.page) * rows["phase"].n_unique()
    if not knows_bursts(trace):
        seen = int((rows["reads"] + rows["writes"]).sum())
    else:
        of_blocks = in_blocks(_bursts(trace, structure, rows), judged.span)
        seen = of_blocks.select("instance", "page", "thread", "phase", "group").n_unique()
    return bool(seen >= least_of_block(judged.use) * blocks)


def _bursts(trace: Trace, structure: int, rows: pl.DataFrame) -> pl.DataFrame:
    """The structure's rows of `page_bursts`, for the threads and phases of `rows`."""
    known = rows.select("thread", "phase").unique()
    own = trace.page_bursts.filter(pl.col("structure") == structure)
    return own.join(known, on=["thread", "phase"], how="semi")
