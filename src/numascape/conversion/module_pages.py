# SPDX-License-Identifier: Apache-2.0
"""Divides the counts of pages of executables and libraries among the variables on them.

A page that several variables share is divided in proportion to their bytes on it, as the replay
does for heap blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from numascape._native.symbols import Global
from numascape.conversion.shards import MappedModule

PAGE = 4096


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

    Returns the variables and a frame (module, page, variable, variable_page, bytes): `module` is an
    index in the list, `page` counts from the first page of the module, `variable_page` from that of
    the variable, and `bytes` is how much of the page the variable covers.
    """
    found: list[Variable] = []
    rows: list[tuple[int, int, int, int, int]] = []
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
                rows.append((index, page, variable, variable_page, covered))
    for variable, size in sizes.items():
        found[variable] = replace(found[variable], size=size)
    frame = pl.DataFrame(
        rows,
        schema={
            "module": pl.UInt32(),
            "page": pl.UInt32(),
            "variable": pl.UInt32(),
            "variable_page": pl.UInt32(),
            "bytes": pl.UInt64(),
        },
        orient="row",
    )
    keys = ["module", "page", "variable", "variable_page"]
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
    joined = counts.join(pages, on=["owner", "page"], how="left")
    total = pl.col("bytes").sum().over(key)
    upto = pl.col("bytes").cum_sum().over(key)

    def part(column: str) -> pl.Expr:
        # Cumulative rounding: the parts add up to the whole.
        whole = pl.col(column)
        high = whole * upto // total
        low = whole * (upto - pl.col("bytes")) // total
        return pl.when(pl.col("variable").is_null()).then(whole).otherwise(high - low)

    parts = {name: part(name) for name in counts.columns if name not in key}
    return joined.with_columns(**parts).drop("bytes")
