# SPDX-License-Identifier: Apache-2.0
"""Sums up what the ranks of each host and its nodes do."""

from __future__ import annotations

import polars as pl

from numascape.jobs.job import AnalysedJob


def job_places(job: AnalysedJob) -> pl.DataFrame:
    """One row per host and set of nodes on which ranks may run, with what these ranks did.

    Columns: host, nodes, on (the nodes as text), ranks, first (rank), threads, pages, known
    (accesses that are known to be local or remote), remote, imbalance (accesses of the busiest rank
    over the mean of the ranks), busiest (this rank) and accesses.
    """
    total = pl.col("reads") + pl.col("writes")
    remote = job.tables.sums.group_by("rank").agg(pl.col("known", "remote").sum())
    rows = (
        job.ranks.join(remote, on="rank", how="left")
        .with_columns(pl.col("known", "remote").fill_null(0), accesses=total)
        .group_by("host", "nodes")
        .agg(
            ranks=pl.len(),
            first=pl.col("rank").min(),
            threads=pl.col("threads").sum(),
            pages=pl.col("pages").sum(),
            known=pl.col("known").sum(),
            remote=pl.col("remote").sum(),
            imbalance=pl.col("accesses").max() / pl.col("accesses").mean(),
            busiest=pl.col("rank").sort_by("accesses", "rank", descending=[True, False]).first(),
            accesses=pl.col("accesses").sum(),
        )
        .sort("host", "first")
    )
    nodes = [", ".join(map(str, some)) for some in rows["nodes"].to_list()]
    return rows.with_columns(pl.Series("on", nodes, dtype=pl.String))
