# SPDX-License-Identifier: Apache-2.0
"""Converts the shards of some processes: names owners and divides pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from numascape.conversion.bursts import BURSTS, with_own_bursts
from numascape.conversion.call_paths import CallPaths, path_access_table, with_paths
from numascape.conversion.kernel_accesses import kernel_access_table
from numascape.conversion.module_pages import divide_among_variables
from numascape.conversion.names import Names
from numascape.conversion.phases import ProcessPhases, process_phases
from numascape.conversion.places import PLACE, last_of_each, sum_of_each
from numascape.conversion.seen_lines import seen_line_table
from numascape.conversion.shard_groups import ShardGroup
from numascape.conversion.shards import SCATTERED
from numascape.conversion.source_lines import Samples, Sites, count_lines, samples_in_modules
from numascape.conversion.structures import (
    StructureTable,
    module_structures,
    owner_structures,
)
from numascape.conversion.transfers import transfer_table
from numascape.trace.format import BURST_GROUPS
from numascape.trace.schema import OPTIONAL_COLUMNS

if TYPE_CHECKING:
    from numascape.recording.session import Session

_EXTENT = ["structure", "instance", "address", "size", "pages"]


@dataclass(frozen=True)
class ProcessTables:
    """The rows of some `processes`.

    `extents`: structure, instance, address, size, pages, object, object_page, huge.

    Each process has its own phase numbers, as in `phases`. `bursts` (BURSTS) is empty unless only
    bursts were counted.
    """

    processes: tuple[int, ...]
    accesses: pl.DataFrame
    first_touch: pl.DataFrame
    placement: pl.DataFrame
    lines: pl.DataFrame
    transfers: pl.DataFrame
    kernel_accesses: pl.DataFrame
    seen_lines: pl.DataFrame
    bursts: pl.DataFrame
    path_accesses: pl.DataFrame
    extents: pl.DataFrame
    phases: dict[int, ProcessPhases]


@dataclass(frozen=True)
class _Owned:
    """The owners of the pages of a group: `owners` with one structure each, and modules.

    `pages` and `variables` are those of module_structures; `ranks` has the page numbers of small
    blocks.
    """

    group: ShardGroup
    owners: pl.DataFrame
    pages: pl.DataFrame
    variables: pl.DataFrame
    ranks: pl.DataFrame

    def located(self, rows: pl.DataFrame, values: list[str], *, divided: bool) -> pl.DataFrame:
        """Replace (owner, page) by (structure, instance, page)."""
        known_owners = self.owners.lazy().select("owner", "kind", "structure", "instance")
        owned = rows.lazy().join(known_owners, on="owner")
        scattered = pl.col("kind").is_in(SCATTERED)
        small = owned.filter(scattered).join(self.ranks.lazy(), on=["structure", "page"])
        small = small.with_columns(page="rank")
        whole = owned.filter(~scattered)
        columns = [*PLACE, *values]
        frames = (whole, small, self._in_variables(rows, divided=divided))
        return pl.concat([frame.select(columns) for frame in frames]).collect()

    def _in_variables(self, rows: pl.DataFrame, *, divided: bool) -> pl.LazyFrame:
        inside = rows.filter(pl.col("owner").is_in(self.group.owners_in_modules))
        places = self.pages.lazy().drop("bytes")
        found = (
            divide_among_variables(inside, self.pages).lazy()
            if divided
            else inside.lazy().join(places, on=["owner", "page"], how="left")
        )
        known = self.variables.lazy().select("owner", "variable", "structure", "instance")
        return found.join(known, on=["owner", "variable"], nulls_equal=True).with_columns(
            page=pl.coalesce("variable_page", "page")
        )

    def samples(self) -> Samples:
        """The group's samples, with the structures of those in modules."""
        group = self.group
        known = group.owners.select("owner").join(
            self.owners.select("owner", "structure"), on="owner", how="left", maintain_order="left"
        )["structure"]
        inside = group.samples.filter(pl.col("owner").is_in(group.owners_in_modules))
        return Samples(
            samples_in_modules(inside, self.pages, self.variables),
            group.samples,
            group.shared_samples,
            group.shares,
            known,
        )

    def extents(self) -> pl.DataFrame:
        """The addresses and sizes of all instances; see ProcessTables."""
        of_variables = self.variables.select(
            "structure",
            "instance",
            "address",
            "size",
            "pages",
            object=pl.lit(""),
            object_page=pl.lit(0, dtype=pl.UInt64()),
            huge=pl.lit(None, dtype=pl.Boolean()),
        )
        columns = [*_EXTENT, "object", "object_page", "huge"]
        return pl.concat([self.owners.select(columns), of_variables])


def convert_group(
    group: ShardGroup, names: Names, table: StructureTable, paths: CallPaths, session: Session
) -> ProcessTables:
    """Convert the tables of a group's processes.

    Their structures are added to `table`, and the call paths of their samples and first touches to
    `paths`.
    """
    owners = owner_structures(group, names, table)
    group.free_call_stacks()
    pages, variables = module_structures(group, names, table)
    owned = _Owned(group, owners, pages, variables, _scattered_pages(group, owners))
    module_pages, ranks = (pages, variables), owned.ranks
    # First all that needs names: what they were read from is freed before the large tables.
    places = names.lines(group.sites["pc"])
    first_touches = _first_touches(owned, names, paths)
    transfers = transfer_table(group, owners, module_pages, ranks, names.lines)
    path_accesses = path_access_table(group, owners, module_pages, ranks, names.calls, paths)
    phases = {
        member.process: process_phases(member.shard, names, group.begin) for member in group.members
    }
    names.have_names(len(group.members))
    sites = Sites(group.sites, places, owned.samples().by_structure())
    group.free_samples()
    accesses = _accesses(owned, session)
    lines = count_lines(sites, accesses)
    return ProcessTables(
        tuple(member.process for member in group.members),
        accesses,
        first_touches,
        last_of_each(owned.located(group.placement, ["node"], divided=False), PLACE),
        lines,
        transfers,
        kernel_access_table(group, owners, module_pages, ranks),
        seen_line_table(group, owners, module_pages, ranks),
        _bursts(owned),
        path_accesses,
        owned.extents(),
        phases,
    )


def _accesses(owned: _Owned, session: Session) -> pl.DataFrame:
    # A phase whose counters were retired has several rows for a page: sum them before dividing.
    traffic = OPTIONAL_COLUMNS["accesses"] if session.options.traffic else ()
    counted = ["reads", "writes", *traffic]
    known = sum_of_each(owned.group.counts, ["owner", "page", "thread", "phase"], counted)
    known = known.select("owner", "page", "thread", "phase", *counted)
    accesses = owned.located(known, ["thread", "phase", *counted], divided=True)
    accesses = sum_of_each(accesses, [*PLACE, "thread", "phase"], counted)
    return accesses.filter((pl.col("reads") > 0) | (pl.col("writes") > 0))


def _bursts(owned: _Owned) -> pl.DataFrame:
    counts = owned.group.counts
    if "burst_group" not in counts.columns:
        return pl.DataFrame(schema=BURSTS)
    # Accesses are divided among variables in each phase by itself. Here, each group of bursts is
    # also divided by itself, so a phase and a group have a common number.
    place, counted = ["owner", "page", "thread", "phase"], ["reads", "writes"]
    scaled = ((pl.col(name) * pl.col("group_scale")).round().cast(pl.UInt64) for name in counted)
    number = pl.col("phase") * BURST_GROUPS + pl.col("burst_group")
    by_group = counts.with_columns(scaled).with_columns(number.cast(pl.UInt32).alias("phase"))
    known = sum_of_each(by_group.select(*place, *counted), place, counted).select(*place, *counted)
    located = owned.located(known, ["thread", "phase", *counted], divided=True)
    by_group = located.with_columns(
        phase=pl.col("phase") // BURST_GROUPS,
        burst_group=(pl.col("phase") % BURST_GROUPS).cast(pl.UInt32),
    )
    known = with_own_bursts(by_group, owned.group.bursts).rename({"own_bursts": "bursts"})
    return known.select(BURSTS.names()).cast(BURSTS)


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


def _first_touches(owned: _Owned, names: Names, paths: CallPaths) -> pl.DataFrame:
    columns = ["thread", "phase", "time", "time_ns", "pc", "callers"]
    touches = owned.located(owned.group.touches, columns, divided=False)
    places = []
    for address in touches["pc"].unique().to_list():
        if address == 0:
            places.append((address, "the kernel, in a system call", "", 0))
            continue
        places.append((address, *names.place(address)))
    schema = {"pc": pl.UInt64(), "function": pl.String(), "file": pl.String(), "line": pl.UInt32()}
    lines = pl.DataFrame(places, schema=schema, orient="row")
    last = last_of_each(touches.sort("time"), PLACE)
    last = with_paths(last, owned.group, names.calls, paths)
    return last.join(lines, on="pc").drop("pc", "callers", "time")
