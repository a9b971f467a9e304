# SPDX-License-Identifier: Apache-2.0
"""Counts of bursts become estimates, by the share of each thread's work that bursts saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest

from numascape.conversion import bursts
from numascape.conversion.shards import ShardPhase
from numascape.trace.format import BURST_GROUPS

GROUPS = BURST_GROUPS


@dataclass(frozen=True)
class OfShard:
    """What `estimated` uses of a shard."""

    tables: dict[str, pl.DataFrame]
    header: dict[str, Any] = field(
        default_factory=lambda: {"burst_groups": GROUPS, "burst_levels": 1}
    )
    phases: tuple[ShardPhase, ...] = ()
    switches: tuple[tuple[int, int], ...] = ()
    counted: tuple[int, int] = (0, 0)


def frame(columns: dict[str, list[int]]) -> pl.DataFrame:
    small = dict.fromkeys(("thread", "phase", "owner", "page", "level", "site"), pl.UInt32)
    return pl.DataFrame(columns, schema={name: small.get(name, pl.UInt64) for name in columns})


def header(levels: int) -> dict[str, Any]:
    return {"burst_groups": GROUPS, "burst_levels": levels}


def shard(counts: dict[str, list[int]], work: Sequence[tuple[int, ...]]) -> OfShard:
    """The work of each thread: units, counted units and bursts, then level and last length."""
    rows = [(*row, *(0, 125)[len(row) - 4 :]) for row in work]
    empty = {name: list[int]() for name in ("fetched_lines", "dirtied_lines")}
    zeros = {name: [0] * len(counts["reads"]) for name in empty}
    kinds = zip(*rows, strict=True) if rows else [[], [], [], [], [], []]
    names = ("thread", "units", "counted_units", "bursts", "level", "burst_units")
    return OfShard(
        {
            "counts": frame({**counts, **zeros}),
            "work": frame({n: list(v) for n, v in zip(names, kinds, strict=True)}),
            "instructions": frame({"thread": [0], "phase": [GROUPS + 3], "instructions": [10]}),
            "seen_lines": frame(
                {"thread": [0], "phase": [0], "times": [4], "alone": [2], "writing": [0]}
            ),
            "transfers": frame(
                {
                    "thread": [0],
                    "phase": [0],
                    "transfers": [3],
                    "travelling": [2],
                    "judged": [1],
                    "shared": [0],
                }
            ),
            "sites": frame({"phase": [2], "reads": [5], "writes": [5], "executions": [5]}),
            "samples": frame({"site": [0], "phase": [GROUPS + 3], "weight": [3]}),
            "shared_samples": frame({"site": [0], "phase": [2], "weight": [3]}),
            "seen_in_modules": frame({"owner": [0], "page": [0], "times": [6]}),
        },
        phases=(ShardPhase(GROUPS, 1, 1, 0, 0, 0, 0, "loop"),),
        switches=((GROUPS, 100),),
    )


def estimated(of: OfShard, share: float | str) -> Any:
    return bursts.estimated(of, share)  # type: ignore[arg-type]


def test_counts_are_divided_by_the_share_that_bursts_saw() -> None:
    counts = {
        "thread": [0, 1],
        "phase": [GROUPS + 3, 0],
        "reads": [10, 10],
        "writes": [1, 0],
    }
    found = estimated(shard(counts, [(0, 1000, 250, 20), (1, 1000, 100, 20)]), 0.2)
    rows = found.tables["counts"]
    assert rows["reads"].to_list() == [40, 100]
    assert rows["writes"].to_list() == [4, 0]
    assert rows["phase"].to_list() == [1, 0]
    assert found.tables["seen_in_modules"]["times"].to_list() == [round(6 * 144 / 21)]
    assert rows["burst_group"].to_list() == [3, 0]
    assert found.counted == (140, 4)
    assert found.tables["instructions"].row(0) == (0, 1, 40)
    assert found.phases[0].phase == 1
    assert found.switches == [(1, 100)]


@pytest.mark.parametrize("work", [[(0, 1000, 900, 2)], []])
def test_with_few_bursts_the_wanted_share_counts(work: list[tuple[int, int, int, int]]) -> None:
    counts = {"thread": [0], "phase": [0], "reads": [10], "writes": [0]}
    found = estimated(shard(counts, work), 0.02)
    assert found.tables["counts"]["reads"].to_list() == [500]


def test_groups_with_more_bursts_count_less() -> None:
    counts = {
        "thread": [0, 0],
        "phase": [0, 7],
        "reads": [30, 20],
        "writes": [0, 0],
    }
    # 20 bursts: the first four groups have three each, the others two.
    rows = estimated(shard(counts, [(0, 100, 100, 20)]), 0.5).tables["counts"]
    assert (rows["reads"] * rows["group_scale"]).to_list() == pytest.approx([25, 25])


def test_groups_without_bursts_leave_the_sum_as_it_is() -> None:
    counts = {"thread": [0, 0], "phase": [0, 1], "reads": [30, 20], "writes": [0, 0]}
    rows = estimated(shard(counts, [(0, 100, 50, 3)]), 0.5).tables["counts"]
    # Three bursts: the first three groups have one each, and two of them made accesses.
    assert (rows["reads"] * rows["group_scale"]).to_list() == pytest.approx([60, 40])


def test_a_shard_of_all_accesses_stays_as_it_is() -> None:
    counts = {"thread": [0], "phase": [9], "reads": [10], "writes": [0]}
    whole = OfShard(shard(counts, []).tables, {"burst_groups": 0, "burst_levels": 1})
    assert estimated(whole, 1.0) is whole


LEVELS = 3  # 1/2, 1/4 and 1/8 of the work


def number(phase: int, level: int, group: int) -> int:
    return (phase * LEVELS + level) * GROUPS + group


def of_levels(counts: dict[str, list[int]], work: Sequence[tuple[int, ...]]) -> OfShard:
    phase = ShardPhase(number(1, 0, 0), 1, 1, 0, 0, 0, 0, "loop")
    return OfShard(shard(counts, work).tables, header(LEVELS), (phase,))


def test_each_level_is_divided_by_its_own_share() -> None:
    counts = {
        "thread": [0, 0, 1],
        "phase": [number(1, 0, 3), number(1, 2, 3), number(1, 1, 5)],
        "reads": [10, 10, 10],
        "writes": [1, 0, 0],
    }
    # Thread 0 was in the largest share for half of its work. Of thread 1, little is known.
    work = [(0, 1000, 400, 16, 0, 125), (0, 1000, 100, 16, 2, 125), (1, 100, 90, 2, 1, 125)]
    found = estimated(of_levels(counts, work), "auto")
    rows = found.tables["counts"]
    assert rows["reads"].to_list() == [25, 100, 40]
    assert rows["writes"].to_list() == [2, 0, 0]
    assert rows["phase"].to_list() == [1, 1, 1]
    assert rows["burst_group"].to_list() == [3, 3, 5]
    assert "level" not in rows.columns
    assert found.phases[0].phase == 1
    assert found.tables["sites"]["reads"].to_list() == [pytest.approx(12, abs=1)]


def test_the_levels_of_a_killed_process_have_their_shares() -> None:
    counts = {
        "thread": [0, 0],
        "phase": [number(0, 0, 0), number(0, 2, 0)],
        "reads": [10, 10],
        "writes": [0, 0],
    }
    found = estimated(of_levels(counts, []), "auto")
    assert found.tables["counts"]["reads"].to_list() == [20, 80]


def test_samples_of_a_smaller_share_stand_for_more() -> None:
    counts = {"thread": [0], "phase": [0], "reads": [10], "writes": [0]}
    found = estimated(of_levels(counts, []), "auto")
    assert found.tables["samples"]["weight"].to_list() == [6]  # level 1
    assert found.tables["shared_samples"]["weight"].to_list() == [3]  # level 0


def test_the_counted_work_is_that_of_all_levels() -> None:
    counts = {"thread": [0], "phase": [0], "reads": [10], "writes": [0]}
    work = [(0, 1000, 500, 16, 0, 125), (0, 3000, 375, 3, 2, 125)]
    found = bursts.counted_work([estimated(of_levels(counts, work), "auto")])
    assert found is not None
    assert found.share == 875 / 4000
    assert found.weight == (1000 * 2 + 3000 * 8) / 4000
    unknown = bursts.counted_work([estimated(of_levels(counts, []), "auto")])
    assert unknown is not None
    assert unknown.share == 1 / unknown.weight < 0.001


@pytest.mark.parametrize(("levels", "share"), [(1, "auto"), (3, 0.1), (0, 0.1), (99, "auto")])
def test_levels_that_cannot_be_are_damage(levels: int, share: float | str) -> None:
    counts = {"thread": [0], "phase": [0], "reads": [10], "writes": [0]}
    with pytest.raises(ValueError, match="levels"):
        estimated(OfShard(shard(counts, []).tables, header(levels)), share)
