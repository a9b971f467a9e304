# SPDX-License-Identifier: Apache-2.0
"""Findings of a job: each is reported once for all ranks that have it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from numascape.findings.finding import Kind, Place
from numascape.jobs.classes import structure_label
from numascape.jobs.tables import JobTables


@dataclass(frozen=True)
class JobFinding:
    """A finding that several ranks have about one structure, at one place in the source.

    `share` is the part of the accesses of all ranks that could become local. The text is that of
    the `worst` rank, in which the finding concerns most of its accesses (`worst_share`).
    """

    kind: Kind
    name: str
    ranks: tuple[int, ...]
    share: float
    worst: int
    worst_share: float
    why: str
    advice: tuple[str, ...]
    to_do: bool
    place: Place


def job_findings(tables: JobTables) -> list[JobFinding]:
    """The findings, those that concern most accesses first, and those without a fix last."""
    total = pl.col("reads") + pl.col("writes")
    by_rank = tables.sums.group_by("rank").agg(accesses=total.sum().cast(pl.Float64))
    rows = (
        tables.findings.with_columns(label=structure_label())
        .join(by_rank, on="rank", how="left")
        .with_columns(pl.col("accesses").fill_null(0.0))
        .sort("share", "rank", descending=[True, False])
    )
    # Findings without a fix, such as "no NUMA problem", are reported once, whatever they are about.
    rows = rows.with_columns(
        pl.when("to_do").then(pl.col(name)).otherwise(pl.lit(other)).alias(f"of_{name}")
        for name, other in (("label", ""), ("function", ""), ("file", ""), ("line", 0))
    )
    keys = ["kind", "to_do", "of_label", "of_function", "of_file", "of_line"]
    everything = float(by_rank["accesses"].sum()) or 1.0
    found = [_finding(part, everything) for part in rows.partition_by(keys, maintain_order=True)]
    return sorted(
        found, key=lambda one: (not one.to_do, -round(one.share, 6), one.kind.value, one.name)
    )


def _finding(rows: pl.DataFrame, everything: float) -> JobFinding:
    worst = rows.row(0, named=True)
    return JobFinding(
        kind=Kind(worst["kind"]),
        name=worst["name"],
        ranks=tuple(rows["rank"].unique().sort()),
        share=min(1.0, float((rows["share"] * rows["accesses"]).sum()) / everything),
        worst=worst["rank"],
        worst_share=worst["share"],
        why=worst["why"],
        advice=tuple(worst["advice"]),
        to_do=worst["to_do"],
        place=Place(worst["function"], worst["file"], worst["line"]),
    )
