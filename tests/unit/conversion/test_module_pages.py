# SPDX-License-Identifier: Apache-2.0
"""Variables of a module: large ones by themselves, small ones together."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pytest

from numascape.conversion.module_pages import divide_among_variables, variables_on_pages
from numascape.conversion.shards import MappedModule


@dataclass
class Variable:
    """A variable as the native module returns it."""

    name: str
    address: int
    size: int
    file: str = ""
    line: int = 0
    module: str = "/opt/code"
    function: str = ""


def test_small_variables_together_have_the_sum_of_their_sizes() -> None:
    module = MappedModule("/opt/code", 0x10000, 0x20000, 0x10000, 3)
    variables = [
        Variable("a", 0x11000, 100),
        Variable("b", 0x11800, 28),
        Variable("large", 0x12000, 8192),
        Variable("c", 0x14000, 4000),
    ]
    found, pages = variables_on_pages([module], variables)  # type: ignore[arg-type]
    assert {item.name: item.size for item in found} == {
        "variables under a page of code": 100 + 28 + 4000,
        "large": 8192,
    }
    assert pages["bytes"].sum() == 100 + 28 + 8192 + 4000


def pages_of_an_array_after_a_small_variable() -> pl.DataFrame:
    module = MappedModule("/opt/code", 0x10000, 0x20000, 0x10000, 3)
    variables = [Variable("centroids", 0x11000, 256), Variable("points", 0x11400, 0x3C00)]
    _, pages = variables_on_pages([module], variables)  # type: ignore[arg-type]
    return pages.rename({"module": "owner"})


def counted(*rows: tuple[int, int, int]) -> pl.DataFrame:
    """Counts (page, thread, reads) of the module."""
    table = pl.DataFrame(
        rows, schema={"page": pl.UInt32, "thread": pl.UInt32, "reads": pl.UInt64}, orient="row"
    )
    zero = pl.lit(0)
    return table.with_columns(
        owner=zero.cast(pl.UInt32), phase=zero.cast(pl.UInt32), writes=zero.cast(pl.UInt64)
    ).select("owner", "page", "thread", "phase", "reads", "writes")


def unseen(pages: pl.DataFrame) -> pl.DataFrame:
    return pages.with_columns(seen_share=pl.lit(None, pl.Float64))


@pytest.mark.parametrize("share", [0.0, 0.25, 0.9])
def test_samples_decide_how_much_of_a_page_is_of_a_variable(share: float) -> None:
    pages = unseen(pages_of_an_array_after_a_small_variable())
    small = pages.filter(~pl.col("is_large"))["variable"][0]
    own = pl.col("variable") == small
    seen = pages.with_columns(
        is_large=own | pl.col("is_large"),
        seen_share=pl.when(own).then(share).otherwise(None),
    )
    parts = divide_among_variables(counted((1, 1, 10_000)), seen).filter(pl.col("page") == 1)
    by_variable = dict(parts.group_by("variable").agg(pl.col("reads").sum()).iter_rows())
    assert sum(by_variable.values()) == 10_000
    assert by_variable[small] == pytest.approx(share * 10_000, abs=2)


def test_what_no_variable_covers_gets_its_part_by_samples() -> None:
    pages = unseen(pages_of_an_array_after_a_small_variable()).filter(pl.col("page") == 1)
    unnamed = pages.head(1).with_columns(
        variable=pl.lit(None, pl.UInt32),
        variable_page=pl.lit(None, pl.UInt32),
        is_large=pl.lit(value=False),
        bytes=pl.lit(0, pl.UInt64),
        seen_share=0.75,
    )
    parts = divide_among_variables(counted((1, 1, 10_000)), pl.concat([pages, unnamed]))
    reads = dict(parts.select("variable", "reads").iter_rows())
    assert reads[None] == pytest.approx(7500, abs=1)
    # By their numbers of bytes: 256 and 3072.
    assert sorted(reads.values()) == [
        pytest.approx(192, abs=1),
        pytest.approx(2308, abs=1),
        reads[None],
    ]
    assert sum(reads.values()) == 10_000


@pytest.mark.parametrize(
    ("hot", "next_page", "of_the_array"),
    [
        (3328, 4096, 3072),  # no hotter than the next page: by bytes, of which it has 12 of 13
        (4096, 4096, 3780),
        (1_000_000, 0, 923_076),  # the next page is not used: nothing is known
        (1_000_000, 4096, 3780),  # hotter: per byte no more than the next page
    ],
)
def test_a_hot_page_is_of_the_small_variable_on_it(
    hot: int, next_page: int, of_the_array: int
) -> None:
    pages = pages_of_an_array_after_a_small_variable()
    rows = counted((1, 1, hot // 2), (1, 2, hot - hot // 2), (2, 1, next_page))
    parts = divide_among_variables(rows, unseen(pages)).filter(pl.col("page") == 1)
    large = pages.filter("is_large")["variable"][0]
    by_variable = dict(parts.group_by("variable").agg(pl.col("reads").sum()).iter_rows())
    assert sum(by_variable.values()) == hot
    assert by_variable[large] == pytest.approx(of_the_array, abs=0.0001 * hot + 2)
