# SPDX-License-Identifier: Apache-2.0
"""Converts the shards of some processes: names owners and divides pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from numascape.conversion.lines import Samples, Sites, count_lines, samples_in_modules
from numascape.conversion.module_pages import divide
from numascape.conversion.phases import ProcessPhases, process_phases
from numascape.conversion.places import PLACE, last_of_each, sum_of_each
from numascape.conversion.shard_groups import ShardGroup
from numascape.conversion.shards import SCATTERED
from numascape.conversion.structures import (
    Names,
    StructureTable,
    module_structures,
    owner_structures,
)
from numascape.conversion.transfers import transfer_table
from numascape.trace.schema import OPTIONAL_COLUMNS

if TYPE_CHECKING:
    from numascape.recording.session import Session

_EXTENT = ["structure", "instance", "address", "size", "pages"]


@dataclass(frozen=True)
class Part:
    """The rows of some `processes`.

    `extents`: structure, instance, address, size, pages, object, object_page.

    Each process has its own phase numbers, as in `phases`.
    """

    processes: tuple[int, ...]
    accesses: pl.DataFrame
    first_touch: pl.DataFrame
    placement: pl.DataFrame
    lines: pl.DataFrame
    transfers: pl.DataFrame
    extents: pl.DataFrame
    phases: dict[int, ProcessPhases]


def convert_group(group: ShardGroup, names: Names, table: StructureTable, session: Session) -> Part:
    """Convert the tables of a group's processes; their structures are added to `table`."""
    owners = owner_structures(group, names, table)
    pages, variables = module_structures(group, names, table)
    ranks = _scattered_pages(group, owners)
    modules = group.owners_in_modules
    known_owners = owners.lazy().select("owner", "kind", "structure", "instance")
    known_variables = variables.lazy().select("owner", "variable", "structure")
    places_on_pages = pages.lazy().drop("bytes")

    def located(rows: pl.DataFrame, values: list[str], divided: bool) -> pl.DataFrame:
        """Replace (owner, page) by (structure, instance, page)."""
        owned = rows.lazy().join(known_owners, on="owner")
        scattered = pl.col("kind").is_in(SCATTERED)
        small = owned.filter(scattered).join(ranks.lazy(), on=["structure", "page"])
        small = small.with_columns(page="rank")
        whole = owned.filter(~scattered)
        inside = rows.filter(pl.col("owner").is_in(modules))
        in_variables = (
            divide(inside, pages).lazy()
            if divided
            else inside.lazy().join(places_on_pages, on=["owner", "page"], how="left")
        )
        in_variables = in_variables.join(
            known_variables, on=["owner", "variable"], nulls_equal=True
        ).with_columns(
            instance=pl.lit(0, dtype=pl.UInt32()),
            page=pl.coalesce("variable_page", "page"),
        )
        columns = [*PLACE, *values]
        return pl.concat(
            [frame.select(columns) for frame in (whole, small, in_variables)]
        ).collect()

    # A phase whose counters were retired has several rows for a page: sum them before dividing.
    counted = ["reads", "writes", *(OPTIONAL_COLUMNS["accesses"] if session.options.cache else ())]
    known = sum_of_each(group.counts, ["owner", "page", "thread", "phase"], counted)
    known = known.select("owner", "page", "thread", "phase", *counted)
    accesses = located(known, ["thread", "phase", *counted], divided=True)
    accesses = sum_of_each(accesses, [*PLACE, "thread", "phase"], counted)
    accesses = accesses.filter((pl.col("reads") > 0) | (pl.col("writes") > 0))
    touches = located(
        group.touches, ["thread", "phase", "time", "time_ns", "pc", "flags"], divided=False
    )
    placement = located(group.placement, ["node"], divided=False)
    lines = count_lines(
        Sites(group.sites, _samples(group, owners, pages, variables)),
        counted_accesses(accesses, session),
        names.lines,
    )
    extents = pl.concat(
        [
            owners.select(*_EXTENT, "object", "object_page"),
            variables.select(
                "structure",
                pl.lit(0, dtype=pl.UInt32()).alias("instance"),
                "address",
                "size",
                "pages",
                object=pl.lit(""),
                object_page=pl.lit(0, dtype=pl.UInt64()),
            ),
        ]
    )
    return Part(
        tuple(member.process for member in group.members),
        accesses,
        _first_touches(touches, names),
        last_of_each(placement, PLACE),
        lines,
        transfer_table(group, owners, (pages, variables), ranks, names.lines),
        extents,
        {
            member.process: process_phases(member.shard, names, group.begin)
            for member in group.members
        },
    )


def _samples(
    group: ShardGroup, owners: pl.DataFrame, pages: pl.DataFrame, variables: pl.DataFrame
) -> Samples:
    known = group.owners.select("owner").join(
        owners.select("owner", "structure"), on="owner", how="left", maintain_order="left"
    )["structure"]
    inside = group.samples.filter(pl.col("owner").is_in(group.owners_in_modules))
    return Samples(
        samples_in_modules(inside, pages, variables),
        group.samples,
        group.shared_samples,
        group.shares,
        known,
    )


def counted_accesses(accesses: pl.DataFrame, session: Session) -> pl.DataFrame:
    """Leave out page faults that are not samples of accesses: see Shard."""
    if session.recorder not in {"faults", "samples"}:
        return accesses
    return accesses.filter(pl.col("reads") > 0).with_columns(writes=pl.lit(0, dtype=pl.UInt64))


def _scattered_pages(group: ShardGroup, owners: pl.DataFrame) -> pl.DataFrame:
    """Number the pages of scattered owners (small blocks): (structure, page, rank)."""
    scattered = owners.filter(pl.col("kind").is_in(SCATTERED)).select("owner", "structure")
    rows = [
        frame.select("owner", "page").join(scattered, on="owner")
        for frame in (group.counts, group.touches, group.placement)
    ]
    return (
        pl.concat(rows)
        .select("structure", "page")
        .unique()
        .with_columns(rank=(pl.col("page").rank("dense").over("structure") - 1).cast(pl.UInt32()))
    )


def _first_touches(touches: pl.DataFrame, names: Names) -> pl.DataFrame:
    places = []
    for address in touches["pc"].unique().to_list():
        if address == 0:
            places.append((address, "the kernel, in a system call", "", 0))
            continue
        places.append((address, *names.place(address)))
    schema = {"pc": pl.UInt64(), "function": pl.String(), "file": pl.String(), "line": pl.UInt32()}
    lines = pl.DataFrame(places, schema=schema, orient="row")
    return (
        last_of_each(touches.sort("time"), PLACE).join(lines, on="pc").drop("pc", "time", "flags")
    )
