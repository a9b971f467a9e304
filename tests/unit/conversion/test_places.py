# SPDX-License-Identifier: Apache-2.0
"""Rows name only pages that their structures have."""

from __future__ import annotations

import polars as pl

from numascape.conversion.places import on_known_pages


def test_rows_on_other_pages_are_left_out() -> None:
    """A process ended between counting a transfer and counting the access."""
    tables = {
        "structures": pl.DataFrame({"structure": [0, 1], "pages": [5, 2]}),
        "transfers": pl.DataFrame({"structure": [0, 0, 1, 1], "page": [4, 5, 1, 2]}),
        "accesses": pl.DataFrame({"structure": [0], "page": [9]}),
    }
    found = on_known_pages(tables, "transfers", "seen_lines")
    assert found.keys() == {"transfers"}
    assert found["transfers"].rows() == [(0, 4), (1, 1)]
