# SPDX-License-Identifier: Apache-2.0
"""Computes which source lines read and write which structure (src/native/source-lines)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import polars as pl

from numascape._native import source_lines as native
from numascape.conversion.places import packed
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS

# The numbers of the places of code addresses; and by number: function, file and line.
NumberedPlaces = tuple[pl.Series, pl.DataFrame]
PlacesOf = Callable[[pl.Series], NumberedPlaces]

_SCHEMA: Final = pl.Schema({**SCHEMAS["source_lines"], **OPTIONAL_COLUMNS["source_lines"]})
_PLACE: Final = ["file", "line", "function"]
_KEY: Final = ["structure", "phase", *_PLACE]
_OF_SAMPLES: Final = ["site", "phase", "structure", "weight", "whole"]
_OF_OWNERS: Final = ["site", "phase", "owner", "weight", "whole"]
_NO_STRUCTURE: Final = 0xFFFFFFFF


@dataclass(frozen=True)
class Samples:
    """The structures that code accessed, by samples.

    `located` (site, phase, structure, weight, whole) has samples with a known structure; `whole` is
    the number of executions that are exact, because every one was noted. `owned` (site, phase,
    owner, weight, whole) and `shared` (site, phase, group, weight) have samples of owners; the
    owners of a group share its samples as `shares` (group, owner, share) say. `structures` has the
    structure of each owner; null if the owner's samples are in `located`.
    """

    located: pl.DataFrame
    owned: pl.DataFrame
    shared: pl.DataFrame
    shares: pl.DataFrame
    structures: pl.Series

    def by_structure(self) -> native.StructureSamples:
        """The samples by structure: they need much less memory than those by owner."""
        structures = pl.DataFrame({"structure": self.structures.fill_null(_NO_STRUCTURE)})
        return native.structure_samples(
            _with_wide_sites(self.located),
            _with_wide_sites(self.owned.select(_OF_OWNERS)),
            _with_wide_sites(self.shared),
            self.shares,
            structures,
        )


@dataclass(frozen=True)
class Sites:
    """The accesses of code, as the recorder counted and sampled them.

    `counts` (site, phase, pc, reads, writes, executions) has the exact number of accesses of each
    instruction. All accesses of one execution of a site go to the same page. `executions` is how
    often each instruction of the row was executed; 0 if these numbers differ. `places` has those of
    the column `pc`.
    """

    counts: pl.DataFrame
    places: NumberedPlaces
    samples: native.StructureSamples


def samples_in_modules(
    samples: pl.DataFrame, pages: pl.DataFrame, variables: pl.DataFrame
) -> pl.DataFrame:
    """The samples (site, phase, owner, page, weight, whole) of modules, with their structures.

    `pages` and `variables` are those of module_structures. If variables share a page, its samples
    are divided as they used the page, or in proportion to their bytes where this is not known. A
    site may have several rows for a structure.
    """
    inside = samples.with_row_index("row").join(pages, on=["owner", "page"], how="left")
    inside = inside.with_columns(share=_share_of_page("row")).with_columns(
        weight=pl.col("weight") * pl.col("share"),
        whole=pl.when(pl.col("share") == 1.0).then("whole").otherwise(0.0),
    )
    return (
        inside.filter(pl.col("weight") > 0)
        .join(
            variables.select("owner", "variable", "structure"),
            on=["owner", "variable"],
            nulls_equal=True,
        )
        .select(_OF_SAMPLES)
    )


def _share_of_page(key: str) -> pl.Expr:
    """The share of each row of a page, of which `key` is the number; 1 if it is the only one."""
    seen, size = pl.col("seen_share"), pl.col("bytes")
    others = pl.when(seen.is_null()).then(size)
    left = (1 - seen.sum().over(key)).clip(lower_bound=0.0)
    share = seen.fill_null(others * left / others.sum().over(key))
    return (share / share.sum().over(key)).fill_nan(None).fill_null(1.0)


def count_lines(sites: Sites, accesses: pl.DataFrame) -> pl.DataFrame:
    """The table `source_lines` of one process.

    Its sums over the lines of a structure and phase are those of `accesses` (structure, phase,
    reads, writes, ...). Accesses whose line is unknown have the line ("", "", 0). The column
    `estimated` is the number of the row's accesses that were assigned to the structure by
    estimation.
    """
    if sites.counts.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    totals = accesses.group_by("structure", "phase").agg(pl.col("reads", "writes").sum())
    places, numbers, nowhere = _numbered(*sites.places)
    counts = sites.counts.with_columns(numbers.alias("place"))
    lines = native.count_lines(_with_wide_sites(counts.drop("pc")), sites.samples, totals, nowhere)
    found = pl.DataFrame(lines)
    return found.with_columns(places[found["place"]].get_columns()).select(_SCHEMA.names())


def _numbered(numbers: pl.Series, places: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series, int]:
    """The distinct places in their order, the number of each row, and that of the unknown place."""
    nowhere = pl.DataFrame({"function": [""], "file": [""], "line": [0]}, schema=places.schema)
    rows = pl.concat([places, nowhere]).select(_PLACE)
    distinct = rows.unique().sort(_PLACE).with_row_index("place")
    ranks = rows.join(distinct, on=_PLACE, how="left", maintain_order="left")["place"]
    # A build of Polars may number rows with 64 bits.
    return distinct.drop("place"), ranks.cast(pl.UInt32).gather(numbers), int(ranks[-1])


def _with_wide_sites(frame: pl.DataFrame) -> pl.DataFrame:
    # Sites of several processes have 64 bits (shard_groups.py).
    return frame.with_columns(pl.col("site").cast(pl.UInt64))


def merged(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Join tables `source_lines`; each structure, phase and line is there once."""
    rows = pl.concat(tables)
    summed = rows.group_by(_KEY).agg(pl.col("reads", "writes", "estimated").sum())
    return summed.sort(_KEY).select(_SCHEMA.names())


def joined_lines(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Like `merged`, if no two tables have the same structure, and each is in order of places."""
    rows = pl.concat(tables).select(_SCHEMA.names())
    return rows.sort(packed(rows, ["structure", "phase"]), maintain_order=True)
