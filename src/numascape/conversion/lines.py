# SPDX-License-Identifier: Apache-2.0
"""Computes which source lines read and write which structure.

Two totals are known exactly: the accesses of each instruction, and the accesses to each structure.
For some instructions, the structure is known exactly (line_proofs.py); for the others, samples of
their executions show it. The shares of the samples are fitted to the two totals (iterative
proportional fitting, W. E. Deming and F. F. Stephan, 1940). Less certain values change more (the
scale factors of J.-C. Deville and C.-E. Särndal's generalised raking, 1992).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from numascape.conversion.line_proofs import counts_of_cells, known_cells, samples_of_phases
from numascape.trace.schema import OPTIONAL_COLUMNS, SCHEMAS

# A code address as function, file and line.
Place = tuple[str, str, int]

_NOWHERE: Place = ("", "", 0)
_KINDS = ("reads", "writes")
_SCHEMA = pl.Schema({**SCHEMAS["lines"], **OPTIONAL_COLUMNS["lines"]})
_ROUNDS = 30

_Numbers = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sites:
    """The accesses of code, as the recorder counted and sampled them.

    `counts` (site, phase, pc, reads, writes, executions) has the exact number of accesses of each
    instruction. All accesses of one execution of a site go to the same page. `executions` is how
    often each of them was executed, or 0 if that differs. `samples` (site, phase, structure,
    weight, whole) has the structures that were accessed; `whole` is the number of executions that
    are exact, because every one was noted.
    """

    counts: pl.DataFrame
    samples: pl.DataFrame


def structures_of_samples(
    samples: pl.DataFrame, owners: pl.DataFrame, pages: pl.DataFrame, variables: pl.DataFrame
) -> pl.DataFrame:
    """Samples (site, phase, owner, page, weight, whole) as (site, phase, structure, weight, whole).

    `owners` and (`pages`, `variables`) are those of owner_structures and module_structures. If
    variables share a page, its samples are divided in proportion to their bytes.
    """
    sums = ("weight", "whole")
    whole = samples.join(owners.select("owner", "structure"), on="owner")
    inside = samples.with_row_index("row").join(pages, on=["owner", "page"], how="left")
    share = (pl.col("bytes") / pl.col("bytes").sum().over("row")).fill_null(1.0)
    inside = inside.with_columns(
        weight=pl.col("weight") * share, whole=pl.when(share == 1.0).then("whole").otherwise(0.0)
    ).join(
        variables.select("owner", "variable", "structure"),
        on=["owner", "variable"],
        nulls_equal=True,
    )
    key = ["site", "phase", "structure"]
    located = pl.concat([frame.select(*key, *sums) for frame in (whole, inside)])
    return located.group_by(key).agg(pl.col(sums).sum()).sort(key)


def count_lines(
    sites: Sites, accesses: pl.DataFrame, place_of: Callable[[int], Place]
) -> pl.DataFrame:
    """The table `lines` of one process.

    Its sums over the lines of a structure and phase are those of `accesses` (structure, phase,
    reads, writes, ...). Accesses whose line is unknown have the line ("", "", 0). The column
    `estimated` is the number of the row's accesses that were assigned to the structure by
    estimation.
    """
    targets = accesses.group_by("structure", "phase").agg(pl.col(_KINDS).sum())
    if sites.counts.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    cells = known_cells(sites.counts, sites.samples, targets)
    certain = counts_of_cells(cells, sites.counts)
    others = _without(sites, cells, certain)
    left = _minus(targets, certain, ["structure", "phase"])
    sampled = _fitted(_cells(others), left)
    by_pc = others.counts.join(sampled, on=["site", "phase"], suffix="_cell").with_columns(
        (pl.col(kind) / pl.col(f"{kind}_site") * pl.col(f"{kind}_cell")).fill_nan(0.0).alias(kind)
        for kind in _KINDS
    )
    pcs = set(certain["pc"].to_list()) | set(by_pc["pc"].to_list())
    places = pl.DataFrame(
        [(pc, *place_of(pc)) for pc in sorted(pcs)],
        schema={"pc": pl.UInt64, "function": pl.String, "file": pl.String, "line": pl.UInt32},
        orient="row",
    )
    key = ["structure", "phase", "function", "file", "line"]
    known, estimates = (
        frame.join(places, on="pc").group_by(key).agg(pl.col(_KINDS).sum())
        for frame in (certain, by_pc)
    )
    none = pl.lit(0, dtype=pl.UInt64)
    return merged(
        frame.select(*key, *_KINDS, estimated=number)
        for frame, number in (
            (known.filter((pl.col("reads") > 0) | (pl.col("writes") > 0)), none),
            (_exact(estimates, left), pl.col("reads") + pl.col("writes")),
        )
    ).select(_SCHEMA.names())


def merged(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Join tables `lines`; each structure, phase and line is there once."""
    key = ["structure", "phase", "function", "file", "line"]
    summed = pl.concat(tables).group_by(key).agg(pl.col(*_KINDS, "estimated").sum())
    return summed.sort("structure", "phase", "file", "line", "function")


def _without(sites: Sites, cells: pl.DataFrame, certain: pl.DataFrame) -> Sites:
    """The sites without the certain accesses of known `cells`."""
    counts = _minus(sites.counts, certain, ["site", "phase", "pc"])
    samples = sites.samples.join(cells, on=["site", "phase", "structure"], how="anti")
    return Sites(counts.filter((pl.col("reads") > 0) | (pl.col("writes") > 0)), samples)


def _minus(counts: pl.DataFrame, certain: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """`counts` minus the sums of the certain counts, which are never larger."""
    sums = certain.group_by(key).agg(pl.col(_KINDS).sum())
    both = counts.join(sums, on=key, how="left", suffix="_known")
    return both.with_columns(
        pl.col(kind) - pl.col(f"{kind}_known").fill_null(0) for kind in _KINDS
    ).select(counts.columns)


def _cells(sites: Sites) -> pl.DataFrame:
    """(site, phase, structure, reads, writes, reads_site, writes_site) from the samples alone."""
    key = ["site", "phase"]
    totals = sites.counts.group_by(key).agg(pl.col(_KINDS).sum().name.suffix("_site"))
    both = samples_of_phases(totals, sites.samples)
    share = pl.col("weight") / pl.col("weight").sum().over(key)
    return both.with_columns((pl.col(f"{kind}_site") * share).alias(kind) for kind in _KINDS)


def _fitted(cells: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """Fit `cells` exactly to the sites' totals, and as far as possible to the structures'."""
    rows = _numbered(cells, ["site", "phase"])
    columns = _numbered(cells, ["structure", "phase"])
    wanted = cells.select("structure", "phase").join(
        targets, on=["structure", "phase"], how="left", maintain_order="left"
    )
    fitted = {
        kind: _fit(
            cells[kind].to_numpy().astype(np.float64),
            (rows, cells[f"{kind}_site"].to_numpy().astype(np.float64)),
            (columns, wanted[kind].fill_null(0).to_numpy().astype(np.float64)),
        )
        for kind in _KINDS
    }
    return cells.with_columns(pl.Series(kind, values) for kind, values in fitted.items())


def _numbered(frame: pl.DataFrame, key: list[str]) -> _Indices:
    numbers = frame.select(pl.struct(key).rank("dense").cast(pl.Int64) - 1).to_series()
    return numbers.to_numpy()


def _fit(
    values: _Numbers, rows: tuple[_Indices, _Numbers], columns: tuple[_Indices, _Numbers]
) -> _Numbers:
    """Scale `values` to the sums of their columns and then of their rows, again and again.

    `rows` and `columns` give the row or column of each value, and the sum of each row or column. If
    a value is the share p of a row's n samples, its variance is sum ** 2 * p * (1 - p) / n.
    Relative to the value, this is about sum / n, where n grows like the logarithm of the sum.
    """
    if values.size == 0:
        return values
    uncertainty = rows[1] / np.log2(2 + rows[1])
    largest = np.zeros(columns[0].max(initial=0) + 1)
    np.maximum.at(largest, columns[0], uncertainty)
    most = largest[columns[0]]
    gives_way = np.divide(uncertainty, most, out=np.ones_like(most), where=most > 0)
    for _ in range(_ROUNDS):
        values = values * _scale(values, columns) ** gives_way
        values = values * _scale(values, rows)
    return values


def _scale(values: _Numbers, parts: tuple[_Indices, _Numbers]) -> _Numbers:
    """The factors that scale the values of each part to its sum."""
    numbers, sums = parts
    now = np.bincount(numbers, weights=values)[numbers]
    return np.divide(sums, now, out=np.zeros_like(now), where=now > 0)


def _exact(lines: pl.DataFrame, targets: pl.DataFrame) -> pl.DataFrame:
    """Round `lines` to whole numbers; what is missing to the sums in `targets` has no line."""
    key = ["structure", "phase"]
    both = targets.join(lines, on=key, suffix="_line", how="left").with_columns(
        pl.col("function", "file").fill_null(""), pl.col("line").fill_null(0)
    )
    both = both.sort([*key, "file", "line", "function"])
    for kind in _KINDS:
        both = _whole_numbers(both, kind, key)
    table = both.select(*key, "function", "file", "line", *_KINDS)
    rest = both.group_by(key).agg(pl.col(f"{kind}_rest").first().alias(kind) for kind in _KINDS)
    rest = rest.with_columns(
        function=pl.lit(_NOWHERE[0]),
        file=pl.lit(_NOWHERE[1]),
        line=pl.lit(_NOWHERE[2], dtype=pl.UInt32),
    )
    summed = (
        pl.concat([table, rest.select(table.columns)])
        .group_by([*key, "function", "file", "line"])
        .agg(pl.col(_KINDS).sum())
    )
    used = summed.filter((pl.col("reads") > 0) | (pl.col("writes") > 0))
    return used.sort([*key, "file", "line", "function"])


def _whole_numbers(both: pl.DataFrame, kind: str, key: list[str]) -> pl.DataFrame:
    """Round column `kind`; column `kind`_rest is the rest of the target."""
    line: Any = pl.col(f"{kind}_line").fill_null(0.0)
    target = pl.col(kind).cast(pl.Float64)
    total = line.sum().over(key)
    known = pl.min_horizontal(target, total.round())
    scaled = pl.when(total > 0).then(line / total * known).otherwise(0.0)
    # Cumulative rounding: the parts add up to the whole.
    upto = scaled.cum_sum().over(key).round().cast(pl.UInt64)
    parts = upto - upto.shift(1, fill_value=0).over(key)
    return both.with_columns(
        parts.alias(f"{kind}_part"), pl.col(kind).alias(f"{kind}_target")
    ).with_columns(
        pl.col(f"{kind}_part").alias(kind),
        (pl.col(f"{kind}_target") - pl.col(f"{kind}_part").sum().over(key)).alias(f"{kind}_rest"),
    )
