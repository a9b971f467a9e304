# SPDX-License-Identifier: Apache-2.0
"""Running programs are tuned, watched, and moved within the limits of their control groups.

The guest is that of test_live.py.
"""

from __future__ import annotations

import json

import polars as pl

import numascape
from integration.living import PAGE
from numascape.trace.counting import FEWEST_SAMPLES
from vm.live_guest import ANONYMOUS, ROOM, TABLE, Seen, account, bytes_moved


def test_a_move_that_makes_the_measure_worse_is_taken_back(two: Seen) -> None:
    step = two["tuned"]["worse"]
    assert step["measured"] == [8, 5]
    assert step["moved"] == step["verified"] == TABLE // 2 * PAGE
    assert step["taken back"] == TABLE // 2 * PAGE
    assert step["where"] == two["tuned"]["before worse"]
    assert step["CPUs"] == [[0, 1]] * 3
    assert any("the measure got worse" in line for line in step["lines"])


def test_a_move_that_makes_the_measure_better_stays(two: Seen) -> None:
    step = two["tuned"]["kept"]
    assert step["measured"] == [2, 5]
    assert step["taken back"] is None
    assert step["where"]["table"] == [0] * (TABLE // 2) + [1] * (TABLE // 2)
    assert step["CPUs"] == [[0], [0], [1]]


def test_a_measure_that_fails_after_the_move_takes_it_back(two: Seen) -> None:
    step = two["tuned"]["failed"]
    assert "ended with status 1" in step["failure"]
    assert step["moved"] == step["taken back"] == TABLE // 2 * PAGE
    assert step["where"] == two["tuned"]["before failed"]
    assert two["tuned"]["end"] == 0


def test_a_control_groups_limit_is_kept_while_more_is_moved(two: Seen) -> None:
    step = two["limits"]
    assert step["limited"]["status"] == 0
    assert bytes_moved(step["limited"]) >= (TABLE + ANONYMOUS) * PAGE > ROOM
    assert step["charged"] >= (TABLE + ANONYMOUS) * PAGE
    assert step["charged after"] <= step["charged"] + ROOM
    assert (step["killed"], step["end"]) == (0, 0)


def test_a_node_that_is_forbidden_in_mid_move_gets_no_more_pages(two: Seen) -> None:
    step = two["limits"]["forbidden"]
    assert step["status"] == 1
    found = account(step)
    (reason,) = found["not_moved"]
    assert reason == "the node is not allowed (cpuset)"
    assert bytes_moved(step) + found["not_moved"][reason] == found["tried"]
    # The kernel has moved back the pages that had arrived.
    assert step["where"]["table"] == [0] * TABLE
    assert step["where"]["anonymous"] == [0] * ANONYMOUS
    assert two["limits"]["refused"]["status"] == 2
    assert "may not use it (cpuset): it may use 0\n" in two["limits"]["refused"]["err"]


def test_tune_moves_what_it_advises_and_undo_puts_it_back(two: Seen) -> None:
    step = two["tuned whole"]
    found = json.loads(step["result"]["out"])
    done, advised = found["done"], found["advice"]["to_move"]
    assert (step["result"]["status"], found["failure"], found["taken_back"]) == (0, None, None)
    assert done["tried"] == done["verified"] == advised
    assert (found["metric_before"], found["metric_after"]) == ([1], [2])
    assert all(found[run]["accesses"] > 0 for run in ("before", "after"))
    assert step["recordings"] == ["after.numascape", "before.numascape"]
    assert "observing" in step["result"]["err"]
    assert "accesses are sampled" in step["result"]["err"]
    changed = sum(page != now for name, pages in step["first"].items()
                  for page, now in zip(pages, step["where"][name], strict=True))  # fmt: skip
    assert 0 < changed * PAGE <= advised
    assert (step["undo"]["status"], step["end"]) == (0, 0)
    assert step["where undone"] == step["first"]
    assert step["CPUs undone"] == [[0, 1], [1], [1]]


def test_tune_observes_the_kernels_hinting_faults(two: Seen) -> None:
    step = two["tuned whole"]["faults"]
    assert step["status"] == 0, step["err"]
    found = json.loads(step["out"])
    assert found["before"]["accesses"] >= FEWEST_SAMPLES
    assert "hinting faults" in step["err"]


def test_damon_sees_which_memory_is_used(two: Seen) -> None:
    step = two["watched"]
    assert step["result"]["status"] == 0, step["result"]["err"]
    trace = numascape.open(two["folder"] / "watched.numascape")
    assert (trace.info.recorder.name, trace.info.recorder.by_thread) == ("damon", False)
    names = trace.structures.select("structure", "name")
    used = trace.accesses.join(names, on="structure")
    sums = dict(used.group_by("name").agg(pl.col("reads").sum()).iter_rows())
    assert sum(reads for name, reads in sums.items() if name.startswith("blk.")) > 0
    anonymous, pages = step["areas"]["anonymous"]
    at = trace.instances.filter(
        pl.col("address") <= anonymous,
        pl.col("address") + pl.col("size") >= anonymous + pages * PAGE,
    )
    assert used.join(at, on=["structure", "instance"])["reads"].sum() > 0
    assert sums["table"] > 0
    # Its memory was touched first on node 0. Another process may have read its libraries elsewhere.
    assert set(trace.placement.join(at, on=["structure", "instance"])["node"]) == {0}
    assert "0.0–2.0 s" in trace.phases["name"].to_list()  # noqa: RUF001
    assert (step["left"], step["end"]) == ("0", 0)
