# SPDX-License-Identifier: Apache-2.0
"""Joins memory that several processes map: it is one structure, with the threads of all of them.

Memory is known by its object: the device and inode of its file, or the number that the kernel gave
to it. A page of the object has one number in all processes, wherever it is mapped.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from numascape.conversion.places import PLACE, last_of_each, sort_by, sum_of_each
from numascape.trace.format import PAGE_BYTES
from numascape.trace.schema import OPTIONAL_COLUMNS

INSTANCE = ["structure", "instance"]


def join_shared(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables of a trace, in which objects that several processes map are one instance.

    `instances` has the columns object ("": none) and object_page, the page of the object at which
    the instance begins.
    """
    if not (tables["instances"]["object"] != "").any():
        return tables
    moves = _moves(tables)
    return tables if moves.is_empty() else join(tables, moves, mapped_shared=True)


def join(
    tables: dict[str, pl.DataFrame], moves: pl.DataFrame, *, mapped_shared: bool
) -> dict[str, pl.DataFrame]:
    """The tables with some instances joined.

    `moves` has structure, instance, to_structure, to_instance, shift (in pages), and pages (of the
    joined instance). It also has rows for the instances to which others go.
    """
    joined = dict(tables)
    counted = [
        name
        for name in ("reads", "writes", *OPTIONAL_COLUMNS["accesses"])
        if name in tables["accesses"].columns
    ]
    accesses = _moved(tables["accesses"], moves)
    joined["accesses"] = sum_of_each(accesses, [*PLACE, "thread", "phase"], counted)
    # The kernel places a page once, when the first process touches it.
    touched = _moved(tables["first_touch"], moves).sort("order", descending=True)
    joined["first_touch"] = (
        last_of_each(touched, PLACE)
        .sort("order")
        .with_columns(order=pl.int_range(pl.len(), dtype=pl.UInt64()))
    )
    joined["placement"] = last_of_each(_moved(tables["placement"], moves), PLACE)
    for name in ("transfers", "kernel_accesses", "seen_lines", "path_accesses", "page_bursts"):
        if name in tables:
            joined[name] = _moved(tables[name], moves)
    if "burst_groups" in tables:
        joined["burst_groups"] = _groups(tables["burst_groups"], moves)
    joined["source_lines"] = _lines(tables["source_lines"], tables["structures"], moves)
    joined["instances"] = _first_instances(tables["instances"], moves)
    joined["huge_page_advice"] = tables["huge_page_advice"].join(
        joined["instances"], on=INSTANCE, how="semi"
    )
    structures = _structures(tables["structures"], joined, moves, mapped_shared=mapped_shared)
    return _renumbered(joined, structures)


def _groups(groups: pl.DataFrame, moves: pl.DataFrame) -> pl.DataFrame:
    """The groups of bursts with the structures that others were joined to."""
    names = moves.select("structure", "to_structure").unique("structure")
    joined = groups.join(names, on="structure", how="left", maintain_order="left")
    joined = joined.with_columns(structure=pl.coalesce("to_structure", "structure"))
    key = ["structure", "thread", "phase", "group"]
    sums = (pl.col("reads", "writes").sum(), pl.col("bursts").max())
    return joined.group_by(key).agg(*sums).sort(key)


def _moves(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The targets of moved pages: structure, instance, to_structure, to_instance, shift, pages.

    All instances of an object go to its instance in the first process. `pages` is the number of
    pages of the joined instance.
    """
    known = tables["instances"].filter(pl.col("object") != "")
    processes = tables["structures"].select("structure", "process")
    known = known.join(processes, on="structure").sort("process", *INSTANCE)
    first = pl.col("object_page").min().over("object")
    end = pl.col("object_page") + (pl.col("size") + PAGE_BYTES - 1) // PAGE_BYTES
    return (
        known.filter(pl.col("process").n_unique().over("object") > 1)
        .with_columns(
            to_structure=pl.col("structure").first().over("object"),
            to_instance=pl.col("instance").first().over("object"),
            shift=(pl.col("object_page") - first).cast(pl.UInt64),
            pages=end.max().over("object") - first,
        )
        # Pages have 32 bits: an object that is mapped at distant places stays in parts.
        .filter(pl.col("pages") < 1 << 32)
        .select(*INSTANCE, "to_structure", "to_instance", "shift", "pages")
    )


def _moved(rows: pl.DataFrame, moves: pl.DataFrame) -> pl.DataFrame:
    """The rows with the places of joined objects, and the columns as they were."""
    return (
        rows.join(moves, on=INSTANCE, how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("to_structure", "structure").alias("structure"),
            pl.coalesce("to_instance", "instance").alias("instance"),
            (pl.col("page") + pl.col("shift").fill_null(0)).cast(pl.UInt32).alias("page"),
        )
        .select(rows.columns)
    )


def _whole(structures: pl.DataFrame, moves: pl.DataFrame) -> pl.DataFrame:
    """The structures whose instances have all been moved: structure, to_structure."""
    return (
        moves.filter(pl.col("structure") != pl.col("to_structure"))
        .group_by("structure")
        .agg(moved=pl.len(), to_structure=pl.col("to_structure").min())
        .join(structures.select("structure", "instances"), on="structure")
        .filter(pl.col("moved") == pl.col("instances"))
        .select("structure", "to_structure")
    )


def _lines(lines: pl.DataFrame, structures: pl.DataFrame, moves: pl.DataFrame) -> pl.DataFrame:
    """Source lines belong to structures, not instances. They move if the whole structure does."""
    gone = lines.join(_whole(structures, moves), on="structure", how="left")
    counts = [name for name in ("reads", "writes", "estimated") if name in lines.columns]
    keys = [name for name in lines.columns if name not in counts]
    return (
        gone.with_columns(pl.coalesce("to_structure", "structure").alias("structure"))
        .select(lines.columns)
        .group_by(keys, maintain_order=True)
        .agg(pl.col(counts).sum())
        .select(lines.columns)
        .sort("structure", maintain_order=True)
    )


def _first_instances(instances: pl.DataFrame, moves: pl.DataFrame) -> pl.DataFrame:
    """The instances without those that have become a part of another one."""
    elsewhere = moves.filter(
        (pl.col("structure") != pl.col("to_structure"))
        | (pl.col("instance") != pl.col("to_instance"))
    )
    whole = moves.unique(["to_structure", "to_instance"], keep="first", maintain_order=True)
    whole = whole.select(structure="to_structure", instance="to_instance", whole="pages")
    # Addresses are those of one process, which may map only a part of the object.
    return (
        instances.join(elsewhere.select(INSTANCE), on=INSTANCE, how="anti")
        .join(whole, on=INSTANCE, how="left", maintain_order="left")
        .with_columns(size=pl.max_horizontal("size", pl.col("whole").cast(pl.UInt64) * PAGE_BYTES))
        .drop("whole")
    )


def _structures(
    structures: pl.DataFrame,
    joined: dict[str, pl.DataFrame],
    moves: pl.DataFrame,
    *,
    mapped_shared: bool,
) -> pl.DataFrame:
    """The structures that still have pages or instances, with their sizes."""
    used: Sequence[pl.DataFrame] = [
        joined[name].select("structure") for name in ("accesses", "first_touch", "placement")
    ]
    grown = moves.group_by(structure="to_structure").agg(
        whole=pl.col("pages").max(), shared_by=pl.len()
    )
    gone = _whole(structures, moves)["structure"].implode()
    kept = pl.concat(used).unique()["structure"].implode()
    return (
        structures.filter(~pl.col("structure").is_in(gone) | pl.col("structure").is_in(kept))
        .join(grown, on="structure", how="left", maintain_order="left")
        .with_columns(
            pages=pl.max_horizontal("pages", pl.col("whole").cast(pl.UInt32)),
            size=pl.max_horizontal("size", pl.col("whole").cast(pl.UInt64) * PAGE_BYTES),
            shared=pl.col("shared") | (pl.lit(mapped_shared) & pl.col("shared_by").is_not_null()),
        )
        .select(structures.columns)
    )


def _renumbered(
    tables: dict[str, pl.DataFrame], structures: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """The tables with structures numbered 0, 1, 2, ... in the order of the processes."""
    numbers = structures.select("structure", number=pl.int_range(pl.len(), dtype=pl.UInt32()))

    def renumbered(rows: pl.DataFrame) -> pl.DataFrame:
        return (
            rows.join(numbers, on="structure", how="inner", maintain_order="left")
            .with_columns(structure="number")
            .select(rows.columns)
        )

    named = {"structures": structures, **{k: v for k, v in tables.items() if k != "structures"}}
    result = {
        name: renumbered(frame) if "structure" in frame.columns else frame
        for name, frame in named.items()
    }
    result["accesses"] = sort_by(result["accesses"], [*PLACE, "thread", "phase"])
    result["placement"] = sort_by(result["placement"], PLACE)
    return result
