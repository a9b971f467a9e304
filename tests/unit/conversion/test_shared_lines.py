# SPDX-License-Identifier: Apache-2.0
"""If variables share a cache line, a use of the line is one of the variable whose bytes it uses."""

from __future__ import annotations

import polars as pl
import pytest

from numascape.conversion.transfers import UNKNOWN_LINE, _in_variables

LARGE, SMALL = 0, 1


def owner_of(line: int, mask: int | None) -> int:
    """The structure of a use of page 1 of a module.

    An array of 4128 bytes begins at byte 32 of the module, so it ends at byte 64 of page 1, in the
    middle of the first line. A variable of 32 bytes follows.
    """
    rows = {"owner": [7], "page": [1], "line": [line]} | ({} if mask is None else {"bytes": [mask]})
    pages = pl.DataFrame(
        {
            "owner": [7, 7],
            "page": [1, 1],
            "variable": [LARGE, SMALL],
            "variable_page": [1, 0],
            "is_large": [True, True],
            "bytes": [32, 32],
            "seen_share": [None, 0.5],
        }
    )
    variables = pl.DataFrame(
        {
            "owner": [7, 7],
            "variable": [LARGE, SMALL],
            "structure": [LARGE, SMALL],
            "address": [0x1000, 0x2020],
            "size": [0x1020, 32],
            "pages": [2, 1],
            "instance": [0, 0],
        },
        schema_overrides={"address": pl.UInt64, "size": pl.UInt64},
    )
    types = {"line": pl.UInt32, "bytes": pl.UInt64}
    frame = pl.DataFrame(rows, schema_overrides=types)
    found = _in_variables(frame, pages, variables)
    assert found.height == 1
    return int(found["structure"][0])


@pytest.mark.parametrize(
    ("line", "mask", "owner"),
    [
        (0, 0xFF, LARGE),
        (0, 0xFF << 24, LARGE),
        (0, 0xFF << 32, SMALL),
        (0, 0xFF << 56, SMALL),
        (0, 0x3 << 31, LARGE),  # one byte of each
        (0, 0, LARGE),
        (0, None, LARGE),
        (UNKNOWN_LINE, 0, LARGE),
    ],
)
def test_the_used_bytes_decide(line: int, mask: int | None, owner: int) -> None:
    assert owner_of(line, mask) == owner
