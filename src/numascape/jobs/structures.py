# SPDX-License-Identifier: Apache-2.0
"""The structures of a job: equal structures of several ranks are one."""

from __future__ import annotations

import polars as pl

from numascape.jobs.classes import structure_label
from numascape.jobs.tables import JobTables


def job_structures(tables: JobTables) -> pl.DataFrame:
    """One row per structure of the job, the most used first.

    Columns: label, name (the label, or the name if all ranks have the same), kind, ranks (their
    number), size (of the largest), reads, writes, known
    (accesses that are known to be local or remote), remote, share (of all accesses),
    imbalance (accesses of the busiest rank over the mean of the ranks that use it) and busiest
    (this rank).
    """
    total = pl.col("accesses")
    return (
        tables.sums.with_columns(
            label=structure_label(), accesses=pl.col("reads") + pl.col("writes")
        )
        .group_by("label", "kind", "rank")
        .agg(
            pl.col("reads", "writes", "known", "remote", "accesses").sum(),
            pl.col("size").max(),
            pl.col("name").unique(),
        )
        .sort("accesses", "rank", descending=[True, False])
        .group_by("label", "kind", maintain_order=True)
        .agg(
            names=pl.col("name").explode().unique(),
            ranks=pl.len(),
            size=pl.col("size").max(),
            reads=pl.col("reads").sum(),
            writes=pl.col("writes").sum(),
            known=pl.col("known").sum(),
            remote=pl.col("remote").sum(),
            imbalance=total.max() / total.mean(),
            busiest=pl.col("rank").first(),
            accesses=total.sum(),
        )
        .with_columns(
            name=pl.when(pl.col("names").list.len() == 1)
            .then(pl.col("names").list.first())
            .otherwise("label"),
            share=total / total.sum(),
        )
        .sort("accesses", "label", "kind", descending=[True, False, False])
        .drop("accesses", "names")
    )
