# SPDX-License-Identifier: Apache-2.0
"""Divides the counts of pages of executables and libraries among the variables on them.

A page that several variables share is divided in proportion to their bytes on it, as the replay
does for heap blocks. But a large variable gets no more per byte than on its own next page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from numascape._native.symbols import Global
from numascape.conversion.shards import MappedModule

PAGE = 4096
_WEIGHT_OF_BYTE = 16
"""Of a page, the weights add up to 65 536: parts of 1/65 536 of a count are told apart."""


@dataclass(frozen=True)
class Variable:
    """A variable of at least a page, or (`address` 0) all smaller variables of a module.

    `size` is the sum of their sizes in bytes.
    """

    name: str
    module: str
    address: int
    size: int
    file: str
    line: int
    function: str


def variables_on_pages(
    modules: list[MappedModule], variables: Iterable[Global]
) -> tuple[list[Variable], pl.DataFrame]:
    """Group the modules' variables, and find the module pages that they are on.

    Returns the variables and a frame (module, page, variable, variable_page, is_large, bytes):
    `module` is an index in the list, `page` counts from the first page of the module,
    `variable_page` from that of the variable if it `is_large` (at least a page), and `bytes` is how
    much of the page the variable covers.
    """
    found: list[Variable] = []
    rows: list[tuple[int, int, int, int, bool, int]] = []
    small: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for item in variables:
        # One address for each time that the module was loaded.
        loaded = [
            index
            for index, m in enumerate(modules)
            if m.start <= item.address < m.end and m.path == item.module
        ]
        if not loaded or item.size == 0:
            continue
        number = loaded[0]
        module = modules[number]
        if item.size >= PAGE:
            variable = len(found)
            found.append(_variable(item))
        else:
            if number not in small:
                small[number] = len(found)
                name = f"variables under a page of {module_name(module.path)}"
                found.append(Variable(name, module_name(module.path), 0, 0, "", 0, ""))
            variable = small[number]
            sizes[variable] = sizes.get(variable, 0) + item.size
        for index in loaded:
            for page, variable_page, covered in _pages_of(item, modules[index], item.size >= PAGE):
                rows.append((index, page, variable, variable_page, item.size >= PAGE, covered))
    for variable, size in sizes.items():
        found[variable] = replace(found[variable], size=size)
    frame = pl.DataFrame(
        rows,
        schema={
            "module": pl.UInt32(),
            "page": pl.UInt32(),
            "variable": pl.UInt32(),
            "variable_page": pl.UInt32(),
            "is_large": pl.Boolean(),
            "bytes": pl.UInt64(),
        },
        orient="row",
    )
    keys = ["module", "page", "variable", "variable_page", "is_large"]
    return found, frame.group_by(keys, maintain_order=True).agg(pl.col("bytes").sum())


def layers(modules: list[MappedModule]) -> list[list[MappedModule]]:
    """Modules in order of loading; those with overlapping addresses are in different lists."""
    found: list[list[MappedModule]] = []
    for module in modules:
        for layer in found:
            if all(_fit_together(module, other) for other in layer):
                layer.append(module)
                break
        else:
            found.append([module])
    return found


def _fit_together(one: MappedModule, other: MappedModule) -> bool:
    same = one.path == other.path and one.load_bias == other.load_bias
    return same or one.end <= other.start or other.end <= one.start


def module_name(path: str) -> str:
    """The last part of a module's path."""
    return path.rpartition("/")[2] or path


def _variable(item: Global) -> Variable:
    return Variable(
        item.name,
        module_name(item.module),
        item.address,
        item.size,
        item.file,
        item.line,
        item.function,
    )


def _pages_of(item: Global, module: MappedModule, own: bool) -> Iterable[tuple[int, int, int]]:
    """Pages of the module, pages of the variable (the module's unless `own`), and bytes."""
    end = min(item.address + item.size, module.end)
    first = item.address // PAGE
    for page in range(first, (end - 1) // PAGE + 1):
        covered = min(end, (page + 1) * PAGE) - max(item.address, page * PAGE)
        index = page - module.start // PAGE
        yield index, page - first if own else index, covered


def divide(counts: pl.DataFrame, pages: pl.DataFrame) -> pl.DataFrame:
    """Divide `counts` (owner, page, thread, phase, and counts) among the variables on the pages.

    Returns the rows with two more columns, (variable, variable_page). `variable` is null for memory
    without a variable. Sums over the variables of a page are exact.
    """
    key = ["owner", "page", "thread", "phase"]
    joined = counts.join(pages, on=["owner", "page"], how="left").join(
        _limited_weights(counts, pages),
        on=["owner", "page", "phase", "variable"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    by_bytes = pl.col("bytes") * _WEIGHT_OF_BYTE
    joined = joined.with_columns(weight=pl.coalesce("weight", by_bytes))
    # What the large variables do not get is the small ones'.
    rest = (by_bytes - pl.col("weight")).sum().over(key)
    joined = joined.with_columns(
        weight=pl.col("weight") + pl.when("is_large").then(0).otherwise(rest).cast(pl.UInt64)
    )
    total = pl.col("weight").sum().over(key)
    upto = pl.col("weight").cum_sum().over(key)

    def part(column: str) -> pl.Expr:
        # Cumulative rounding: the parts add up to the whole.
        whole = pl.col(column)
        high = whole * upto // total
        low = whole * (upto - pl.col("weight")) // total
        return pl.when(pl.col("variable").is_null()).then(whole).otherwise(high - low)

    parts = {name: part(name) for name in counts.columns if name not in key}
    return joined.with_columns(**parts).drop("bytes", "weight", "is_large")


def _limited_weights(counts: pl.DataFrame, pages: pl.DataFrame) -> pl.DataFrame:
    """Weights of the first and last pages of large variables that have more accesses than the next.

    The next page belongs to the variable alone. If it has fewer accesses, then most accesses to the
    shared page are to the small variable on it: for example, 256 bytes that all threads read,
    beside an array that they divide. So the variable gets no more per byte than on the next page.
    If the next page is not used in the phase, nothing is known, and bytes decide.

    Returns (owner, page, phase, variable, weight).
    """
    on_page = pl.len().over("owner", "page")
    has_small = (~pl.col("is_large")).any().over("owner", "page")
    ends = pages.filter((on_page > 1) & has_small).filter("is_large")
    whole = pages.filter((on_page == 1) & (pl.col("bytes") == PAGE))
    inner = pl.col("page").cast(pl.Int64) + pl.when(pl.col("variable_page") == 0).then(1).otherwise(
        -1
    )
    by_phase = counts.group_by("owner", "page", "phase").agg(
        accesses=(pl.col("reads") + pl.col("writes")).sum()
    )
    return (
        ends.with_columns(next=inner.cast(pl.UInt32))
        .join(
            whole.select("owner", "variable", next="page"),
            on=["owner", "variable", "next"],
            how="semi",
        )
        .join(by_phase, on=["owner", "page"])
        .join(
            by_phase.rename({"page": "next", "accesses": "next_accesses"}),
            on=["owner", "next", "phase"],
        )
        .filter((pl.col("next_accesses") > 0) & (pl.col("accesses") > 0))
        .with_columns(
            weight=(
                pl.col("bytes")
                * _WEIGHT_OF_BYTE
                * pl.min_horizontal("next_accesses", "accesses")
                / pl.col("accesses")
            ).cast(pl.UInt64)
        )
        .select("owner", "page", "phase", "variable", "weight")
    )
