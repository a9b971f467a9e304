# SPDX-License-Identifier: Apache-2.0
"""Divides the counts of pages of executables and libraries among the variables on them.

A page that several variables share is divided in proportion to their bytes on it, as the replay
does for heap blocks. But a large variable gets at most as much per byte as on its own next page.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from numascape._native.symbols import Global
from numascape.conversion.shards import MappedModule
from numascape.trace.format import PAGE_BYTES

_UNNAMED = "(anonymous namespace)::"
"""The compiler writes this before names in an unnamed namespace, and the source does not."""
_WEIGHT_OF_BYTE = 16
"""The weights of a page add up to 65 536, so a count is divided into parts of 1/65 536 of it."""


_WEIGHTS: Final = pl.Schema(
    {
        "owner": pl.UInt32(),
        "page": pl.UInt32(),
        "phase": pl.UInt32(),
        "variable": pl.UInt32(),
        "weight": pl.UInt64(),
    }
)

_Loaded = tuple[int, int, int]
"""The number of a module, its first address, and the one after its last."""

_OnPage = tuple[int, int, int, int, bool]
"""Module, page, variable, page of the variable, and whether it is large."""


@dataclass(frozen=True)
class ModuleVariable:
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
    modules: list[MappedModule], variables: Iterable[Global], own: Set[int] = frozenset()
) -> tuple[list[ModuleVariable], pl.DataFrame]:
    """Group the modules' variables, and find the module pages that they are on.

    Returns the variables and a frame (module, page, variable, variable_page, is_large, bytes).
    `module` is an index in the list. `page` counts from the first page of the module. A variable
    `is_large` if it has at least a page, or if its address is in `own`. `variable_page` then counts
    from its first page. `bytes` is how much of the page the variable covers.
    """
    found: list[ModuleVariable] = []
    covered: dict[_OnPage, int] = {}
    small: dict[int, int] = {}
    sizes: dict[int, int] = {}
    by_path: dict[str, list[_Loaded]] = {}
    for number, known in enumerate(modules):
        by_path.setdefault(known.path, []).append((number, known.start, known.end))
    for item in variables:
        address, size = item.address, item.size
        # A module has a place for each time that it was loaded.
        loaded = [one for one in by_path.get(item.module, ()) if one[1] <= address < one[2]]
        if not loaded or size == 0:
            continue
        is_large = size >= PAGE_BYTES or address in own
        if is_large:
            variable = len(found)
            found.append(_variable(item))
        else:
            number = loaded[0][0]
            if number not in small:
                small[number] = len(found)
                name = f"variables under a page of {module_name(item.module)}"
                found.append(ModuleVariable(name, module_name(item.module), 0, 0, "", 0, ""))
            variable = small[number]
            sizes[variable] = sizes.get(variable, 0) + size
        for one in loaded:
            _cover(covered, one, variable, (address, size), is_large=is_large)
    for variable, size in sizes.items():
        found[variable] = replace(found[variable], size=size)
    frame = pl.DataFrame(
        list(covered),
        schema={
            "module": pl.UInt32(),
            "page": pl.UInt32(),
            "variable": pl.UInt32(),
            "variable_page": pl.UInt32(),
            "is_large": pl.Boolean(),
        },
        orient="row",
    )
    return found, frame.with_columns(pl.Series("bytes", covered.values(), dtype=pl.UInt64()))


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


def _variable(item: Global) -> ModuleVariable:
    return ModuleVariable(
        item.name.replace(_UNNAMED, ""),
        module_name(item.module),
        item.address,
        item.size,
        item.file,
        item.line,
        item.function,
    )


def _cover(
    covered: dict[_OnPage, int],
    module: _Loaded,
    variable: int,
    extent: tuple[int, int],
    *,
    is_large: bool,
) -> None:
    """Add the bytes of a variable on each page of the module that it covers."""
    number, start, module_end = module
    address, size = extent
    end = min(address + size, module_end)
    first, before = address // PAGE_BYTES, start // PAGE_BYTES
    for page in range(first, (end - 1) // PAGE_BYTES + 1):
        index = page - before
        key = (number, index, variable, page - first if is_large else index, is_large)
        on_page = min(end, (page + 1) * PAGE_BYTES) - max(address, page * PAGE_BYTES)
        covered[key] = covered.get(key, 0) + on_page


def divide_among_variables(counts: pl.DataFrame, pages: pl.DataFrame) -> pl.DataFrame:
    """Divide `counts` (owner, page, thread, phase, and counts) among the variables on the pages.

    Returns the rows with two more columns, (variable, variable_page). `variable` is null for memory
    without a variable. Sums over the variables of a page are exact. `pages` has `seen_share` for
    what has a part of the use of the page that is known from samples, otherwise null.
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
    # Small variables get the part that the large ones do not get.
    rest = (by_bytes - pl.col("weight")).sum().over(key)
    joined = joined.with_columns(
        weight=pl.col("weight") + pl.when("is_large").then(0).otherwise(rest).cast(pl.UInt64)
    ).with_columns(weight=_as_seen(key))
    total = pl.col("weight").sum().over(key)
    upto = pl.col("weight").cum_sum().over(key)

    def part(column: str) -> pl.Expr:
        # Cumulative rounding: the parts add up to the whole.
        whole = pl.col(column)
        high = whole * upto // total
        low = whole * (upto - pl.col("weight")) // total
        return pl.when(pl.col("weight").is_null()).then(whole).otherwise(high - low)

    parts = {name: part(name) for name in counts.columns if name not in key}
    return joined.with_columns(**parts).drop("bytes", "weight", "is_large", "seen_share")


def _as_seen(key: list[str]) -> pl.Expr:
    """The weights by samples, for variables with known samples; the others share the rest."""
    seen = pl.col("seen_share")
    known = seen.is_not_null()
    whole = pl.col("weight").sum().over(key)
    others = pl.when(known).then(0).otherwise("weight").sum().over(key)
    left = (1 - seen.fill_null(0.0).sum().over(key)).clip(lower_bound=0)
    of_others = pl.col("weight") * left * whole / others.clip(lower_bound=1)
    weight = pl.when(known).then((seen * whole).clip(lower_bound=1)).otherwise(of_others)
    return pl.when(known.any().over(key)).then(weight.cast(pl.UInt64)).otherwise("weight")


def _limited_weights(counts: pl.DataFrame, pages: pl.DataFrame) -> pl.DataFrame:
    """Weights of the first and last pages of large variables that have more accesses than the next.

    The next page belongs to the variable alone. If it has fewer accesses, then most accesses to the
    shared page are to the small variable on it: for example, 256 bytes that all threads read,
    beside an array that they divide. So the variable gets at most as much per byte as on the next
    page. If the next page is not used in the phase, the numbers of bytes decide.

    Returns (owner, page, phase, variable, weight).
    """
    on_page = pl.len().over("owner", "page")
    has_small = (~pl.col("is_large")).any().over("owner", "page")
    ends = pages.filter((on_page > 1) & has_small).filter("is_large")
    if ends.is_empty():
        return pl.DataFrame(schema=_WEIGHTS)
    whole = pages.filter((on_page == 1) & (pl.col("bytes") == PAGE_BYTES))
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
