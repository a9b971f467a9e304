# SPDX-License-Identifier: Apache-2.0
"""Running programs are seen where the kernel has them, and moved while they work.

One boot with two nodes, one with four; live_states.py says what is done there. The program
living.c asks the kernel itself where its pages are, and checks its data all the time.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import make
from integration.living import LAYERS, PAGE, write_model
from numascape.live.mappings import parse_numa_maps
from vm.conftest import Boot
from vm.emulated_polars import NoPolarsError, emulated_polars, polars_variables
from vm.guest import GuestNode

PROGRAMS = Path(__file__).parent / "programs"
STEPS = Path(__file__).with_name("live_states.py")
TESTS = Path(__file__).parents[1]
LIMIT_S = 550
MIB = 1 << 20
TENSOR_PAGES = 128
TABLE, ANONYMOUS, SHARED = 256, 1024, 64
HUGE = 2 * MIB
ROOM = MIB  # as in limit_states.py
Seen = dict[str, Any]


def seen_in_guest(
    request: pytest.FixtureRequest,
    boot: Boot,
    folder: Path,
    nodes: list[GuestNode],
    *steps: str,
    polars: Path | None = None,
) -> Seen:
    build = request.config.cache.mkdir("guest-programs")
    make(PROGRAMS, f"BUILD={build}", f"{build}/living", f"{build}/restless")
    write_model(folder / "model.gguf", TENSOR_PAGES)
    words = [sys.executable, str(STEPS), str(build), "/run/work/model.gguf", *steps]
    variables = polars_variables(polars) if polars else {"PYTHONPATH": ""}
    variables["PYTHONPATH"] = f"{TESTS}:{variables['PYTHONPATH']}"
    job = [
        "set -e",
        "mount -t cgroup2 none /sys/fs/cgroup",
        "echo +memory +cpuset >/sys/fs/cgroup/cgroup.subtree_control",
        *(f"export {name}={shlex.quote(value)}" for name, value in variables.items()),
        f"{shlex.join(words)} >result.json",
    ]
    boot(nodes, "\n".join(job), folder, LIMIT_S)
    seen: Seen = json.loads((folder / "result.json").read_text())
    return seen


@pytest.fixture(scope="module")
def two(
    request: pytest.FixtureRequest, boot: Boot, tmp_path_factory: pytest.TempPathFactory
) -> Seen:
    steps = ("moved", "ended meanwhile", "full", "restless", "huge", "nobody", "limits", "tuned",
             "tuned whole")  # fmt: skip
    try:
        polars = emulated_polars()
    except NoPolarsError as error:
        pytest.skip(f"no guest: {error}")
    folder = tmp_path_factory.mktemp("two")
    return seen_in_guest(request, boot, folder, [GuestNode(1, 448)] * 2, *steps, polars=polars)


@pytest.fixture(scope="module")
def four(
    request: pytest.FixtureRequest, boot: Boot, tmp_path_factory: pytest.TempPathFactory
) -> Seen:
    folder = tmp_path_factory.mktemp("four")
    nodes = [*[GuestNode(1, 256)] * 3, GuestNode(0, 128)]
    return seen_in_guest(request, boot, folder, nodes, "policies", "cache")


@pytest.fixture(scope="module")
def moved(two: Seen) -> Seen:
    found: Seen = two["moved"]
    return found


def account(step: Seen) -> Seen:
    found: Seen = json.loads(step["out"])
    return found


def bytes_moved(step: Seen) -> int:
    return sum(row["bytes"] for row in account(step)["moved"])


def by_node(process: Seen, first: int, pages: int) -> dict[int, int]:
    """The pages of a range of addresses, as `pages --json` has them, of parts inside it."""
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
    assert failed["other processes also map them"] >= SHARED * PAGE
    assert moved["CPUs of bind"] == [[1]] * 3
    assert moved["shared"]["status"] == 0
    assert moved["shared"]["where"]["shared"] == [1] * SHARED


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
    # The kernel has moved back those that had arrived.
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
    changed = sum(page != now for name, pages in step["first"].items()
                  for page, now in zip(pages, step["where"][name], strict=True))  # fmt: skip
    assert 0 < changed * PAGE <= advised
    assert (step["undo"]["status"], step["end"]) == (0, 0)
    assert step["where undone"] == step["first"]
    assert step["CPUs undone"] == [[0, 1], [1], [1]]


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
    assert steps["layer"]["status"] == 0
    assert abs(cached("after")[2] - 2 * TENSOR_PAGES) <= 1
    assert sum(cached("after").values()) == total
