# SPDX-License-Identifier: Apache-2.0
"""Joins memory that a forked process only reads with the memory of the process that filled it.

After a fork, both processes map the same pages. The kernel copies a page when one of them writes
it. So a page that a child reads and never writes is still the page of its ancestor. It is on the
node where a thread of the ancestor touched it first. If a child writes a part of an instance, the
instance stays its own: counts do not show whether it read a page before or after it wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from numascape.conversion.shared_memory import INSTANCE, join

_SAME = ["address", "size", "name", "kind", "module", "function", "file", "line"]
"""The columns that are equal for an instance and its copy in a forked process."""


def join_inherited(
    tables: dict[str, pl.DataFrame], parents: Mapping[int, int]
) -> dict[str, pl.DataFrame]:
    """The tables of a trace, in which inherited instances are those of the ancestor.

    `parents` has the number of the process that each forked process came from.
    """
    ancestors = _ancestors(parents)
    if ancestors.is_empty():
        return tables
    moves = _moves(_private(tables), ancestors)
    return tables if moves.is_empty() else join(tables, moves, mapped_shared=False)


def _ancestors(parents: Mapping[int, int]) -> pl.DataFrame:
    """process, ancestor, distance."""
    rows = []
    for process in parents:
        ancestor, distance = parents[process], 1
        while True:
            rows.append((process, ancestor, distance))
            if ancestor not in parents or distance > len(parents):
                break
            ancestor, distance = parents[ancestor], distance + 1
    schema = {"process": pl.UInt32, "ancestor": pl.UInt32, "distance": pl.UInt32}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _private(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The instances that are not mapped shared; `read`: whether one is inherited and only read.

    A process has first touches only of pages that it did not inherit.
    """
    structures = tables["structures"].select("structure", "process", *_SAME[2:])
    changed = pl.concat(
        [
            tables["accesses"].filter(pl.col("writes") > 0).select(INSTANCE),
            tables["first_touch"].select(INSTANCE),
        ]
    ).unique()
    return (
        tables["instances"]
        .filter(pl.col("object") == "")
        .join(structures, on="structure")
        .join(changed.with_columns(read=pl.lit(value=False)), on=INSTANCE, how="left")
        .with_columns(pl.col("read").fill_null(value=True))
    )


def _moves(instances: pl.DataFrame, ancestors: pl.DataFrame) -> pl.DataFrame:
    """For each inherited instance, that of the nearest ancestor that filled it; see `join`."""
    filled = instances.filter(~pl.col("read")).select(
        *_SAME, ancestor="process", to_structure="structure", to_instance="instance"
    )
    found = (
        instances.filter("read")
        .join(ancestors, on="process")
        .join(filled, on=["ancestor", *_SAME])
        .filter(pl.col("distance") == pl.col("distance").min().over(INSTANCE))
        # If two blocks of the ancestor had this address, one after the other, it is unknown which
        # of them the process inherited.
        .unique(INSTANCE, keep="none")
        .select(*INSTANCE, "to_structure", "to_instance")
    )
    targets = found.select("to_structure", "to_instance").unique()
    both = pl.concat(
        [
            found,
            targets.select(
                structure="to_structure",
                instance="to_instance",
                to_structure="to_structure",
                to_instance="to_instance",
            ),
        ]
    )
    return both.with_columns(
        shift=pl.lit(0, dtype=pl.UInt64), pages=pl.lit(0, dtype=pl.UInt64)
    ).sort(INSTANCE)
