# SPDX-License-Identifier: Apache-2.0
"""Finds variables that are smaller than a page, and that several threads use often.

All other small variables of an executable or a library are one structure together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import polars as pl

from numascape._native.symbols import Global
from numascape.conversion.module_pages import PAGE
from numascape.conversion.shard_groups import ShardGroup
from numascape.conversion.transfers import LINE_BYTES, UNKNOWN_LINE

_MIN_SHARE: Final = 0.005
"""Share of the accesses, from which a small variable is a structure: half of what the findings
examine, because samples give estimates."""

HOT: Final = pl.Schema(
    {"owner": pl.UInt32(), "page": pl.UInt32(), "address": pl.UInt64(), "seen_share": pl.Float64()}
)


def hot_variables(group: ShardGroup, variables: Sequence[Global]) -> pl.DataFrame:
    """owner, page, address, seen_share: the variables, and their part of the use of each page."""
    seen = group.seen_lines.filter(pl.col("owner").is_in(group.owners_in_modules))
    if seen.is_empty():
        return pl.DataFrame(schema=HOT)
    on_page = seen.group_by("owner", "page").agg(every=pl.col("times").sum())
    known = seen.filter((pl.col("line") != UNKNOWN_LINE) & (pl.col("bytes") > 0))
    places = known.group_by("owner", "page", "line", "bytes").agg(pl.col("times").sum())
    starts = {
        owner: group.members[member].shard.modules[module].start
        for owner, module, member in group.module_owners.iter_rows()
    }
    small = sorted((item for item in variables if 0 < item.size < PAGE), key=lambda i: i.address)
    addresses = [item.address for item in small]
    rows = []
    for owner, page, line, bytes_, times in places.iter_rows():
        offset = (bytes_ & -bytes_).bit_length() - 1
        address = starts[owner] + page * PAGE + line * LINE_BYTES + offset
        at = bisect_right(addresses, address) - 1
        if at >= 0 and address < addresses[at] + small[at].size:
            rows.append((owner, page, addresses[at], times))
    schema = {name: HOT[name] for name in ("owner", "page", "address")}
    found = pl.DataFrame(rows, {**schema, "times": pl.UInt64}, orient="row")
    least = _MIN_SHARE * float(group.counts.select(pl.sum("reads") + pl.sum("writes")).item())
    return (
        found.group_by("owner", "page", "address")
        .agg(pl.col("times").sum())
        .filter(pl.col("times").sum().over("address") >= least)
        .join(on_page, on=["owner", "page"])
        .select("owner", "page", "address", seen_share=pl.col("times") / pl.col("every"))
        .cast(HOT)
        .sort("owner", "page", "address")
    )
