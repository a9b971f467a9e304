# SPDX-License-Identifier: Apache-2.0
"""Threads with the same place in successive teams."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from numascape.machine import open_machine
from numascape.prediction.layout import laid_out_places
from numascape.trace import Trace
from numascape.trace.schema import SCHEMAS
from numascape.trace.teams import TraceOfTeams, by_lives, first_in_places
from synthetic.pattern import Pattern
from synthetic.write import write_pattern


def threads(*lives: tuple[int, int], process: int = 0, first: int = 0) -> pl.DataFrame:
    """The main thread, and threads with these times of creation and end."""
    rows: list[tuple[object, ...]] = [
        (first + number, process, 100 + number, "", created, ended, [], [])
        for number, (created, ended) in enumerate([(0, 1000), *lives])
    ]
    return pl.DataFrame(rows, schema=SCHEMAS["threads"], orient="row")


TEAM = ((10, 20), (11, 30))


def later(by: int) -> list[tuple[int, int]]:
    return [(created + by, ended + by) for created, ended in TEAM]


def test_the_threads_of_three_equal_teams_have_the_places_of_the_first() -> None:
    assert by_lives(threads(*TEAM, *later(20), *later(50))[1:]) == {
        1: 1,
        3: 1,
        5: 1,
        2: 2,
        4: 2,
        6: 2,
    }


@pytest.mark.parametrize(
    "lives",
    [
        pytest.param([*TEAM, *later(20)], id="two stages"),
        pytest.param([*TEAM, *later(19), *later(50)], id="the second begins before the first ends"),
        pytest.param([*TEAM, *later(20), (90, 91), (90, 92), (90, 93)], id="another size"),
        pytest.param([(10, 20), (20, 30), (30, 40)], id="one after the other"),
        pytest.param([], id="one thread"),
    ],
)
def test_other_threads_have_their_own_places(lives: list[tuple[int, int]]) -> None:
    assert by_lives(threads(*lives)[1:]) == {}


def test_teams_of_another_size_between_them_do_not_matter() -> None:
    found = by_lives(threads(*TEAM, (35, 36), *later(40), *later(70))[1:])
    assert found == {1: 1, 2: 2, 4: 1, 5: 2, 6: 1, 7: 2}


@pytest.fixture
def steps(tmp_path: Path) -> Trace:
    """Three steps of two threads; each thread writes its half of four pages."""
    pattern = Pattern("steps", 7)
    array = pattern.structure("A", 4)
    for number in range(1, 7):
        half = np.arange(2) + 2 * ((number - 1) % 2)
        pattern.access(array, half, number, 5, number)
    pattern.touch(array, np.array([0, 1]), 1)
    pattern.touch(array, np.array([2, 3]), 4)
    trace = write_pattern(pattern, tmp_path / "steps.numascape")
    vars(trace)["threads"] = threads(*TEAM, *later(20), *later(50))
    return trace


def test_they_count_as_one_thread(steps: Trace) -> None:
    teams = TraceOfTeams.of(steps)
    assert isinstance(teams, TraceOfTeams)
    rows = teams.accesses.sort("page").select("page", "thread", "reads", "writes").rows()
    assert rows == [(0, 1, 15, 9), (1, 1, 15, 9), (2, 2, 15, 12), (3, 2, 15, 12)]
    assert teams.first_touch.sort("page")["thread"].to_list() == [1, 1, 2, 2]
    assert teams.threads.height == 7


SHORT = [(10, 12), (13, 14)]
"""A team whose first thread ends before the second one is created."""


def of_parts(folder: Path, parts: list[list[int]], table: pl.DataFrame) -> Trace:
    """Each thread except main uses its part of the four pages of A, and all of B."""
    pattern = Pattern("parts", 1 + len(parts))
    array, other = pattern.structure("A", 4), pattern.structure("B", 4)
    for number, part in enumerate(parts, 1):
        pattern.access(array, np.array(part, np.int64), number, 5, 5)
        pattern.access(other, np.arange(4), number, 5, 0)
    pattern.touch(array, np.arange(4), 0)
    pattern.touch(other, np.arange(4), 0)
    trace = write_pattern(pattern, folder / "parts.numascape")
    vars(trace)["threads"] = table
    return trace


ALIKE = {1: 1, 2: 2, 3: 1, 4: 2, 5: 1, 6: 2}


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        pytest.param([[0, 1], [2, 3]] * 3, ALIKE, id="the same parts"),
        pytest.param([[0, 1], [1, 2, 3]] * 3, ALIKE, id="a border"),
        pytest.param([[0, 1], [2, 3], [2, 3], [0, 1], [0, 1], [2, 3]], {}, id="any part"),
        pytest.param([[0, 1, 2, 3]] * 6, {}, id="all of it"),
        pytest.param([[]] * 6, {}, id="no part"),
    ],
)
def test_pages_tell_the_places_in_short_teams(
    parts: list[list[int]], found: dict[int, int], tmp_path: Path
) -> None:
    lives = [(a + by, b + by) for by in (0, 20, 40) for a, b in SHORT]
    assert first_in_places(of_parts(tmp_path, parts, threads(*lives))) == found


def test_places_are_in_the_order_of_creation_also_if_threads_run_later(tmp_path: Path) -> None:
    # In the second team, the second thread runs first.
    late = [(10, 20), (11, 30), (42, 50), (41, 50), (70, 80), (71, 90)]
    assert by_lives(threads(*late)[1:]) == ALIKE
    parts = [[0, 1], [2, 3]] * 3
    assert first_in_places(of_parts(tmp_path, parts, threads(*late))) == ALIKE


def test_a_few_threads_that_happen_to_be_teams_are_none() -> None:
    alone = [(100 + 10 * number, 105 + 10 * number) for number in range(6)]
    assert by_lives(threads(*TEAM, *later(20), *later(50), *alone)[1:]) == {}
    assert by_lives(threads(*TEAM, *later(20), *later(50), *alone[:5])[1:]) == ALIKE


def test_threads_that_live_together_are_one_team(tmp_path: Path) -> None:
    together = threads(*[(10 + number, 90) for number in range(6)])
    assert first_in_places(of_parts(tmp_path, [[0, 1], [2, 3]] * 3, together)) == {}


@pytest.mark.parametrize(
    ("second", "found"),
    [
        pytest.param([[0, 1], [2, 3]], {1: 1, 2: 2, 3: 1, 4: 2}, id="fills, and computes"),
        pytest.param([[0, 2], [1, 3]], {}, id="another division"),
    ],
)
def test_two_teams_with_the_same_parts_have_the_same_places(
    second: list[list[int]], found: dict[int, int], tmp_path: Path
) -> None:
    parts = [[0, 1], [2, 3], *second, [0, 1, 2, 3]]
    assert first_in_places(of_parts(tmp_path, parts, threads(*TEAM, *later(20), (60, 70)))) == found


def test_the_last_repetition_may_end_after_its_first_stage(tmp_path: Path) -> None:
    stages = [[0], [1], [2], [3]]
    lives = [(20 * stage + at, 20 * stage + 15) for stage in range(5) for at in (0, 1)]
    parts = [*stages, *stages, *stages[:2]]
    found = first_in_places(of_parts(tmp_path, parts, threads(*lives)))
    assert found == {1 + at: 1 + at % 4 for at in range(10)}


def test_a_team_that_does_other_work_on_other_pages_has_its_own_places(tmp_path: Path) -> None:
    """Threads build B, and then teams of threads read their parts of A."""
    parts: list[list[int]] = [[], [], *[[0, 1], [2, 3]] * 4]
    lives = [(20 * team + at, 20 * team + 15) for team in range(5) for at in (0, 1)]
    trace = of_parts(tmp_path, parts, threads(*lives))
    builds = (pl.col("structure") == 1) & pl.col("thread").is_in([1, 2])
    vars(trace)["accesses"] = trace.accesses.with_columns(
        reads=pl.when(builds).then(0).otherwise("reads").cast(pl.UInt64),
        writes=pl.when(builds).then(5).otherwise("writes").cast(pl.UInt64),
    )
    assert first_in_places(trace) == {3 + at: 3 + at % 2 for at in range(8)}


def test_a_place_lives_as_in_the_longest_team(tmp_path: Path) -> None:
    # The threads of the first team have little to do: one has ended before the next one begins.
    short, long = [(10, 11), (12, 13)], [(30, 50), (31, 51)]
    table = threads(*short, *long)
    trace = TraceOfTeams.of(of_parts(tmp_path, [[0, 1], [2, 3]] * 2, table))
    assert isinstance(trace, TraceOfTeams)
    lives = trace.threads.select("created_ns", "ended_ns").rows()
    assert lives == [(0, 1000), *long, *long]


def test_teams_are_of_one_process(tmp_path: Path) -> None:
    both = pl.concat([threads(*TEAM), threads(*later(20), process=1, first=3)])
    parts = [[0, 1], [2, 3], [], [0, 1], [2, 3]]
    assert first_in_places(of_parts(tmp_path, parts, both)) == {}


def test_they_run_on_the_same_node(steps: Trace) -> None:
    nodes = laid_out_places(steps, open_machine("numa16")).tolist()
    assert nodes[1] == nodes[3] == nodes[5]
    assert nodes[2] == nodes[4] == nodes[6]
    assert len({nodes[0], nodes[1], nodes[2]}) == 3


def test_a_trace_without_repeated_teams_stays_itself(small_trace: Path) -> None:
    trace = Trace.read(small_trace)
    assert TraceOfTeams.of(trace) is trace


@pytest.mark.parametrize(("common", "places"), [(0.79, 0), (0.81, 6)])
def test_stages_of_equal_size_are_no_repetition(tmp_path: Path, common: float, places: int) -> None:
    """Each of three teams does so much of its work on the structure of all, at any entry."""
    pattern = Pattern("stages", 7)
    shared = pattern.structure("shared", 4)
    own = [pattern.structure(f"of stage {stage}", 1) for stage in range(3)]
    for thread in range(1, 7):
        pattern.access(shared, np.arange(4), thread, round(100 * common), 0)
        pattern.access(own[(thread - 1) // 2], np.array([0]), thread, round(400 * (1 - common)), 0)
    pattern.touch(shared, np.arange(4), 0)
    for structure in own:
        pattern.touch(structure, np.array([0]), 0)
    trace = write_pattern(pattern, tmp_path / "stages.numascape")
    vars(trace)["threads"] = threads(*TEAM, *later(20), *later(50))
    assert len(first_in_places(trace)) == places
