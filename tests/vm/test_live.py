# SPDX-License-Identifier: Apache-2.0
"""The nodes of running programs are shown as in the kernel, and programs move while they work.

One boot with two nodes, and one with four; live_states.py has the steps. The program living.c asks
the kernel itself where its pages are, and checks its data all the time. test_live_loops.py has the
tests of `tune` and of control groups.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from integration.living import LAYERS, PAGE
from numascape.live.mappings import parse_numa_maps
from vm.live_guest import (
    ANONYMOUS,
    HUGE,
    MIB,
    SHARED,
    TABLE,
    TENSOR_PAGES,
    Seen,
    account,
    bytes_moved,
)


@pytest.fixture(scope="module")
def moved(two: Seen) -> Seen:
    found: Seen = two["moved"]
    return found


def by_node(process: Seen, first: int, pages: int) -> dict[int, int]:
    """The pages by node of the parts inside a range of addresses, from `pages --json`."""
    counts: Counter[int] = Counter()
    for mapping in process["mappings"]:
        for part in mapping["parts"]:
            if first <= int(part["start"], 16) < first + pages * PAGE:
                for row in part["in_memory"]:
                    counts[row["node"]] += row["bytes"] // PAGE
    return dict(counts)


def structure(process: Seen, name: str) -> Seen:
    (found,) = [item for item in process["structures"] if item["name"] == name]
    result: Seen = found
    return result


@pytest.mark.parametrize(("pages", "where"), [("first pages", "first where"),
                                              ("pages after", "again")])  # fmt: skip
def test_pages_are_reported_where_the_program_has_them(moved: Seen, pages: str, where: str) -> None:
    (process,) = account(moved[pages])["processes"]
    own = moved[where].get("where", moved[where])
    assert by_node(process, *moved["areas"]["table"]) == Counter(own["table"])
    file = by_node(process, *moved["areas"]["file"])
    assert file == Counter(node for node in own["file"] if node >= 0)
    table = structure(process, "table")
    assert table["anonymous"] == TABLE * PAGE
    assert table["nodes"] == {str(n): count * PAGE for n, count in Counter(own["table"]).items()}
    on_nodes = sum(item["anonymous"] + item["mapped_file"] for item in process["nodes"])
    assert on_nodes == sum(item["anonymous"] + item["mapped_file"]
                           for item in process["structures"])  # fmt: skip


def test_anonymous_and_file_memory_are_apart(moved: Seen) -> None:
    (process,) = account(moved["first pages"])["processes"]
    for layer in range(LAYERS):
        tensor = structure(process, f"blk.{layer}.attn_q.weight")
        assert tensor["anonymous"] == 0
        assert abs(tensor["mapped_file"] - TENSOR_PAGES * PAGE) <= PAGE
    # The program, and its memory at first, were on node 0.
    assert moved["first where"]["anonymous"] == [0] * ANONYMOUS


def test_a_dry_run_moves_nothing(moved: Seen) -> None:
    assert moved["dry run"]["status"] == 0
    assert account(moved["dry run"])["to_move"] > 0
    assert moved["dry run"]["where"] == moved["first where"]


def test_interleaved_memory_is_where_the_policy_says(moved: Seen) -> None:
    step = moved["interleave"]
    assert step["status"] == 0
    first = {name: start // PAGE for name, (start, _) in moved["areas"].items()}
    for name, pages in (("table", TABLE), ("anonymous", ANONYMOUS)):
        expected = [(first[name] + page) % 2 for page in range(pages)]
        assert step["where"][name] == expected, name
    assert step["where"]["file"] == moved["first where"]["file"]
    assert account(step)["verified"] == account(step)["to_move"] == bytes_moved(step)


def test_what_is_in_place_is_not_moved_again(moved: Seen) -> None:
    assert moved["again"]["status"] == 0
    assert account(moved["again"])["to_move"] == 0
    assert account(moved["again"])["in_place"] >= (TABLE + ANONYMOUS) * PAGE


def test_undo_restores_every_page(moved: Seen) -> None:
    assert moved["undo"]["status"] == 0
    assert moved["after undo"] == moved["first where"]


def test_spread_makes_equal_parts(moved: Seen) -> None:
    assert moved["spread"]["status"] == 0
    assert moved["spread"]["where"]["table"] == [0] * (TABLE // 2) + [1] * (TABLE // 2)


def test_page_cache_moves_by_tensor_and_layer(moved: Seen) -> None:
    assert moved["tensor"]["status"] == 0
    (process,) = account(moved["pages after"])["processes"]
    shift = moved["areas"]["file"][0]
    starts = {part["name"]: (int(part["start"], 16) - shift) // PAGE
              for mapping in process["mappings"] for part in mapping["parts"]
              if part["kind"] == "tensor"}  # fmt: skip
    where = moved["tensor"]["where"]["file"]
    for name in ("blk.2.attn_q.weight", "blk.2.ffn_down.weight"):
        assert set(where[starts[name] : starts[name] + TENSOR_PAGES - 1]) == {1}
    assert moved["file"]["status"] == 0
    counts = Counter(moved["file"]["where"]["file"])
    assert abs(counts[0] - counts[1]) <= 2 * LAYERS + 1


def test_a_plan_places_pages_and_threads(moved: Seen) -> None:
    step = moved["plan"]
    assert step["status"] == 0
    assert step["where"]["table"] == [1] * (TABLE // 4) + [0] * (3 * TABLE // 4)
    assert moved["plan's CPUs"] == [[0, 1], [1], [1]]
    assert account(step)["not_found"] == ["absent"]
    assert moved["plan undone"]["status"] == 0
    assert moved["CPUs after undo"] == [[0, 1]] * 3


def test_pages_that_others_map_stay_unless_all_are_moved(moved: Seen) -> None:
    step = moved["bind all"]
    assert step["status"] == 1
    assert step["where"]["anonymous"] == [1] * ANONYMOUS
    assert step["where"]["table"] == [1] * TABLE
    assert step["where"]["shared"] == [0] * SHARED
    failed = account(step)["not_moved"]
    assert failed["other processes also map them, or this one maps them twice"] >= SHARED * PAGE
    assert moved["CPUs of bind"] == [[1]] * 3
    assert moved["shared"]["status"] == 0
    assert moved["shared"]["where"]["shared"] == [1] * SHARED
    # The undo file knows that pages were moved that others map.
    assert moved["shared undone"]["status"] == 0
    assert moved["shared after"]["shared"] == [0] * SHARED


def test_local_leaves_what_is_with_the_threads(moved: Seen) -> None:
    assert moved["local"]["status"] == 0
    assert moved["local"]["where"]["table"] == [1] * TABLE


def test_an_interruption_is_accounted_for(moved: Seen) -> None:
    step = moved["interrupted"]
    assert step["status"] == 130
    found = account(step)
    assert found["ended_early"] == "interrupted"
    assert 0 < found["tried"] < found["to_move"]
    on_1 = sum(nodes.count(1) for name, nodes in step["where"].items()
               if name in {"table", "anonymous"})  # fmt: skip
    assert 0 < on_1 * PAGE <= bytes_moved(step) == found["verified"] <= found["tried"]


def test_no_word_of_the_moved_program_was_lost(moved: Seen) -> None:
    assert moved["end"] == 0


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("as nobody", "run numascape as that user, or with sudo"),
        ("no node", "node 9 has no memory"),
        ("undo of an ended one", "which has ended"),
    ],
)
def test_errors_are_one_line(moved: Seen, step: str, message: str) -> None:
    assert moved[step]["status"] == 2
    assert message in moved[step]["err"]
    assert moved[step]["err"].count("\n") == 1


def test_a_process_may_end_in_the_middle(two: Seen) -> None:
    step = two["ended meanwhile"]
    assert step["status"] == 1
    found = account(step)
    assert found["ended_early"] == "the process has ended"
    assert 0 < bytes_moved(step) <= found["tried"] < found["to_move"]


def test_a_node_is_not_filled_below_its_watermarks(two: Seen) -> None:
    step = two["full"]
    assert step["status"] == 1
    assert account(step)["not_moved"]["the node has no free memory above its watermarks"] > 0
    assert step["free"] > step["minimum"]


def test_a_restless_program_loses_nothing(two: Seen) -> None:
    step = two["restless"]
    assert step["errors"] == []
    assert step["status"] == 0
    assert int(step["out"].split()[0]) >= 100
    assert step["moved"] > 0


def test_huge_pages_move_whole(two: Seen) -> None:
    step = two["huge"]
    assert int(step["transparent"]) * 1024 >= 4 * HUGE
    assert (step["moved"]["status"], step["undone"]["status"]) == (0, 0)
    for name, node in (("numa_maps", 1), ("numa_maps after", 0)):
        lines = [line for line in step[name].splitlines() if "huge" in line.split()]
        (explicit,) = parse_numa_maps("\n".join(lines)).values()
        assert (explicit.page_bytes, explicit.pages) == (HUGE, {node: 2})
    assert step["data"] == "True\n"


def test_ones_own_process_needs_no_privilege(two: Seen) -> None:
    own, shared = two["nobody"]["own"], two["nobody"]["shared"]
    assert own["status"] == 0
    assert bytes_moved(own) >= 4 * MIB
    assert shared["status"] == 2
    assert "CAP_SYS_NICE" in shared["err"]


def test_policies_use_the_nodes_that_have_cpus(four: Seen) -> None:
    steps = four["policies"]
    counts = {name: Counter(step["where"]["table"]) for name, step in steps.items()
              if "where" in step}  # fmt: skip
    # Node 3 has no CPUs: it is used only if it is named.
    assert max(counts["interleave"].values()) - min(counts["interleave"].values()) <= 1
    assert set(counts["interleave"]) == {0, 1, 2}
    assert steps["spread"]["where"]["table"] == sorted(steps["spread"]["where"]["table"])
    assert set(counts["spread"]) == {0, 1, 2}
    assert set(counts["bind:2,3"]) == {2, 3}
    assert set(counts["interleave:1,3"]) == {1, 3}
    assert counts["spread:3"] == {3: TABLE}
    (process,) = account(steps["pages"])["processes"]
    assert structure(process, "table")["nodes"] == {"3": TABLE * PAGE}
    assert steps["end"] == {"status": 0}


def test_threads_are_divided_among_the_nodes(four: Seen) -> None:
    assert four["policies"]["CPUs"]["list"] == [[0], [1], [2]]


def test_page_cache_is_moved_before_a_program_maps_it(four: Seen) -> None:
    steps = four["cache"]

    def cached(step: str) -> dict[int, int]:
        (file,) = json.loads(steps[step]["out"])
        return {int(node): pages for node, pages in file["nodes"].items() if pages}

    total = sum(cached("read").values())
    assert total >= 2 * LAYERS * TENSOR_PAGES
    assert steps["moved"]["status"] == 0
    spread = cached("spread")
    assert sum(spread.values()) == total
    assert abs(spread[0] - spread[1]) <= 2 * LAYERS + 1
    assert steps["undone"]["status"] == 0
    assert cached("back") == cached("read")
    assert steps["layer"]["status"] == 0
    assert abs(cached("after")[2] - 2 * TENSOR_PAGES) <= 1
    assert sum(cached("after").values()) == total
