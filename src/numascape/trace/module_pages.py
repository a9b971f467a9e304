# SPDX-License-Identifier: Apache-2.0
"""Pages of executables and libraries: which variables lie on them, and their share of the counts.

A page that several variables share is divided in proportion to their bytes on it, as the replay
does for heap blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from numascape._native.symbols import Global
from numascape.trace.shards import MappedModule

PAGE = 4096


@dataclass(frozen=True)
class Variable:
    """A variable of at least a page, or (`address` 0) all smaller ones of a module together.

    `size` is in bytes, of all of them together.
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
    """Group the modules' variables, and say on which module pages they lie.

    Returns the variables and a frame (owner, page, variable, variable_page, bytes): `page` counts
    from the module's first page, `variable_page` from the variable's, `bytes` is how much of the
    page the variable covers.
    """
    found: list[Variable] = []
    rows: list[tuple[int, int, int, int, int]] = []
    small: dict[int, int] = {}
    for item in variables:
        module = next((m for m in modules if m.start <= item.address < m.end), None)
        if module is None or item.size == 0:
            continue
        if item.size >= PAGE:
            number = len(found)
            found.append(_variable(item))
        else:
            if module.owner not in small:
                small[module.owner] = len(found)
                name = f"variables under a page of {module_name(module.path)}"
                found.append(Variable(name, module_name(module.path), 0, 0, "", 0, ""))
            number = small[module.owner]
            found[number] = replace(found[number], size=found[number].size + item.size)
        rows.extend(_pages_of(item, module, number, found[number]))
    frame = pl.DataFrame(
        rows,
        schema={
            "owner": pl.UInt32(),
            "page": pl.UInt32(),
            "variable": pl.UInt32(),
            "variable_page": pl.UInt32(),
            "bytes": pl.UInt64(),
        },
        orient="row",
    )
    keys = ["owner", "page", "variable", "variable_page"]
    return found, frame.group_by(keys, maintain_order=True).agg(pl.col("bytes").sum())


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


def _pages_of(
    item: Global, module: MappedModule, number: int, variable: Variable
) -> Iterable[tuple[int, int, int, int, int]]:
    end = min(item.address + item.size, module.end)
    first = item.address // PAGE
    for page in range(first, (end - 1) // PAGE + 1):
        covered = min(end, (page + 1) * PAGE) - max(item.address, page * PAGE)
        index = page - module.start // PAGE
        yield module.owner, index, number, page - first if variable.address else index, covered


def divide(counts: pl.DataFrame, pages: pl.DataFrame) -> pl.DataFrame:
    """Divide `counts` (owner, page, thread, phase, and counts) among their pages' variables.

    Returns their rows with two more columns, (variable, variable_page); where no variable lies,
    `variable` is null. Sums over the variables of a page are exact.
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
