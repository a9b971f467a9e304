# SPDX-License-Identifier: Apache-2.0
"""Finds the accesses of code to structures that are known exactly, and not estimated from samples.

Accesses are known exactly in two cases:

- The recorder noted every execution of the code, not only samples. This is so for loops that are
  announced before they begin.
- All samples of the code are of one structure, and all code that uses this structure uses no other
  one. The counts of the code are exact, and so are the counts of the structure. If both sums are
  equal, the samples missed nothing: a missed access would make the sums differ.
"""

from __future__ import annotations

import polars as pl

_SITE = ["site", "phase"]
_PLACE = ["structure", "phase"]
_KINDS = ("reads", "writes")


def samples_of_phases(totals: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """`totals` (site, phase, ...) with structure and weight of each site's samples in its phase.

    If a phase was too short for a sample, the samples of the other phases are used.
    """
    anywhere = totals.join(samples, on=_SITE, how="anti").join(samples.drop("phase"), on="site")
    sampled = totals.join(samples, on=_SITE)
    columns = [*totals.columns, "structure", "weight"]
    both = pl.concat([sampled.select(columns), anywhere.select(columns)])
    return both.group_by([*totals.columns, "structure"]).agg(pl.col("weight").sum())


def known_cells(counts: pl.DataFrame, samples: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """The (site, phase, structure, times, executions) whose accesses are known exactly.

    `times` of the site's `executions` accessed this structure; both are 0 if all of them did.
    `counts` and `samples` are those of Sites, `targets` is (structure, phase, reads, writes).
    """
    totals = counts.group_by(_SITE).agg(pl.col(_KINDS).sum(), pl.col("executions").max())
    followed = _within(_followed(totals, samples), totals, targets)
    left = _left(followed, totals, targets)
    others = totals.join(followed, on=_SITE, how="anti")
    return pl.concat([followed, _adding_up(others, samples, left)])


def counts_of_cells(cells: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """(every column of `counts` but executions, structure): reads and writes of known `cells`."""
    part = pl.col("times") > 0
    joined = counts.drop("executions").join(cells, on=_SITE)
    return joined.with_columns(
        pl.when(part)
        .then(pl.col(kind) // pl.max_horizontal("executions", 1) * pl.col("times"))
        .otherwise(pl.col(kind))
        .alias(kind)
        for kind in _KINDS
    ).drop("times", "executions")


def _followed(totals: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """The sites of which every execution was noted."""
    noted = samples.group_by(_SITE).agg(noted=pl.col("whole").sum())
    complete = totals.join(noted, on=_SITE).filter(
        pl.col("executions") > 0, pl.col("noted") == pl.col("executions").cast(pl.Float64)
    )
    cells = complete.join(samples.filter(pl.col("whole") > 0), on=_SITE)
    return cells.select(*_SITE, "structure", pl.col("whole").cast(pl.UInt64).alias("times")).join(
        complete.select(*_SITE, "executions"), on=_SITE
    )


def _sums(cells: pl.DataFrame, totals: pl.DataFrame) -> pl.DataFrame:
    return counts_of_cells(cells, totals).group_by(_PLACE).agg(pl.col(_KINDS).sum())


def _left(cells: pl.DataFrame, totals: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """The structures' counts minus those of `cells`; negative if the cells have more."""
    both = targets.join(_sums(cells, totals), on=_PLACE, how="left", suffix="_known")
    return both.select(
        *_PLACE,
        *(
            (pl.col(kind).cast(pl.Int64) - pl.col(f"{kind}_known").fill_null(0).cast(pl.Int64))
            for kind in _KINDS
        ),
    )


def _within(cells: pl.DataFrame, totals: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """`cells` without structures that would get more accesses than they have.

    This happens if structures share a page, because its counts were divided by their sizes.
    """
    left = _left(cells, totals, targets)
    possible = left.filter((pl.col("reads") >= 0) & (pl.col("writes") >= 0))
    return cells.join(possible, on=_PLACE, how="semi")


def _adding_up(totals: pl.DataFrame, samples: pl.DataFrame, left: pl.DataFrame) -> pl.DataFrame:
    """The sites that use one structure only and together make all of its remaining accesses."""
    sampled = samples_of_phases(totals, samples).with_columns(
        alone=pl.len().over(_SITE) == 1,
    )
    sums = sampled.group_by(_PLACE).agg(pl.col(_KINDS).cast(pl.Int64).sum(), pl.col("alone").all())
    explained = sums.filter("alone").join(left, on=[*_PLACE, *_KINDS], how="semi")
    none = pl.lit(0, dtype=pl.UInt64)
    return sampled.join(explained, on=_PLACE, how="semi").select(
        *_SITE, "structure", none.alias("times"), none.alias("executions")
    )
