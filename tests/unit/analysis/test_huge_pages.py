# SPDX-License-Identifier: Apache-2.0
"""Which memory has huge pages, and whose first touch places them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.analysis.huge_pages import (
    first_touches_of_blocks,
    has_huge_pages,
    huge_instances,
)
from numascape.trace.format import PAGE_BYTES
from numascape.trace.schema import SCHEMAS

HUGE = 512
START = 512 * 1000  # the page number of a multiple of 2 MiB
KINDS = [
    ("heap", "", False),
    ("stack", "", False),
    ("mapping", "", False),
    ("mapping", "/data/file", False),
    ("global", "program", False),
    ("heap", "", True),
]


def trace(
    mode: str,
    advice: list[tuple[int, int, bool]] | None = None,
    places: list[tuple[int, int, int, int]] | None = None,
) -> Any:
    """Structures of the KINDS, with the setting of the kernel; None: advice is unknown."""
    everywhere = [(number, 0, START * PAGE_BYTES, 1 << 30) for number in range(len(KINDS))]
    return SimpleNamespace(
        structures=pl.DataFrame(
            [(number, *kind) for number, kind in enumerate(KINDS)],
            schema={
                "structure": pl.UInt32,
                "kind": pl.String,
                "module": pl.String,
                "shared": pl.Boolean,
            },
            orient="row",
        ),
        instances=pl.DataFrame(places or everywhere, schema=SCHEMAS["instances"], orient="row"),
        huge_page_advice=pl.DataFrame(
            advice or [], schema=SCHEMAS["huge_page_advice"], orient="row"
        ),
        info=SimpleNamespace(
            host=SimpleNamespace(huge_pages=mode),
            tables={} if advice is None else {"huge_page_advice": None},
        ),
        _results={},
    )


def structures(found: pl.DataFrame | None) -> list[int] | None:
    return None if found is None else found["structure"].to_list()


@pytest.mark.parametrize(
    ("mode", "advice", "found"),
    [
        ("", [(0, 0, True)], None),
        ("always", None, [0, 2, 4]),
        ("always", [(2, 0, False), (0, 0, True)], [0, 4]),
        ("madvise", None, None),
        ("madvise", [], []),
        ("madvise", [(0, 0, True), (1, 0, True), (2, 0, False)], [0]),
        ("never", [(0, 0, True)], []),
    ],
)
def test_the_setting_and_the_advice_decide(
    mode: str, advice: list[tuple[int, int, bool]] | None, found: list[int] | None
) -> None:
    assert structures(huge_instances(trace(mode, advice))) == found
    expected = None if found is None else 0 in found
    assert has_huge_pages(trace(mode, advice), 0) is expected


def touchers(mode: str, pages: list[tuple[int, int]], first: int, count: int) -> dict[int, int]:
    """The threads of the pages of one instance that begins with the page `first`."""
    places = [(0, 0, first * PAGE_BYTES, count * PAGE_BYTES)]
    rows = pl.DataFrame(
        [(0, 0, page, thread) for page, thread in pages],
        schema=dict.fromkeys(("structure", "instance", "page", "thread"), pl.UInt32),
        orient="row",
    )
    found = first_touches_of_blocks(trace(mode, [], places), rows)
    assert found.columns == rows.columns
    assert found["page"].to_list() == rows["page"].to_list()
    return dict(found.select("page", "thread").iter_rows())


def test_the_first_toucher_of_a_huge_page_places_all_of_it() -> None:
    """The instance has pages 12 to 523 in one huge page; others are in incomplete ones."""
    pages = [(20, 3), (0, 1), (12, 2), (523, 1), (524, 2), (700, 1)]
    assert touchers("always", pages, START - 12, HUGE + 200) == {
        20: 3, 0: 1, 12: 3, 523: 3, 524: 2, 700: 1,
    }  # fmt: skip
    assert touchers("madvise", pages, START - 12, HUGE + 200) == dict(pages)
    assert touchers("", pages, START - 12, HUGE + 200) == dict(pages)


def test_an_instance_may_be_smaller_than_its_huge_page() -> None:
    pages = [(5, 3), (6, 1)]
    assert touchers("always", pages, START, HUGE - 1) == dict(pages)
    assert touchers("always", pages, START, HUGE) == {5: 3, 6: 3}
