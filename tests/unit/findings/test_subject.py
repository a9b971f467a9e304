# SPDX-License-Identifier: Apache-2.0
"""The values that are computed for a structure, from given facts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from numascape.analysis.iterations import ParallelLoop
from numascape.analysis.ownership import Owner
from numascape.findings.finding import Place
from numascape.findings.pattern import Pattern, main_users_change, users_change
from numascape.findings.run_facts import RunFacts
from numascape.findings.sources import Sources
from numascape.findings.subject import Run, Subject
from numascape.trace.format import PAGE_BYTES
from unit.findings.pattern_cases import use

LOOP = ParallelLoop(3, "")


def value(name: str, **known: Any) -> Any:
    """A property of a subject that has these attributes."""
    found: Any = vars(Subject)[name]
    compute: Any = found.fget if isinstance(found, property) else found.func
    return compute(SimpleNamespace(**known))


@pytest.mark.parametrize(
    ("touched", "loop"),
    [
        (Place("f", "/src/a.c", 3), LOOP),
        (Place("f", "/src/b.c", 3), None),  # that of the allocation, in another file
        (None, None),
    ],
)
def test_the_loop_of_the_first_touches_is_in_their_file(touched: Any, loop: Any) -> None:
    sources = SimpleNamespace(parallel_loop=lambda file, line: LOOP if (file, line) else None)
    run, whole = SimpleNamespace(sources=sources), SimpleNamespace(place=("f", "/src/a.c", 3))
    assert value("initial_loop", touched_at=touched, whole=whole, run=run) is loop


@pytest.mark.parametrize(
    ("function", "place"),
    [
        ("fill", ("fill", "/src/a.c", 9)),
        ("memset", ("make", "/src/a.c", 7)),
        ("__memset_avx2_unaligned", ("make", "/src/a.c", 7)),
        ("_int_malloc", ("make", "/src/a.c", 7)),
        ("_IO_file_xsgetn", ("make", "/src/a.c", 7)),
        ("my_memset", ("my_memset", "/src/a.c", 9)),
    ],
)
def test_what_the_c_library_touches_is_the_allocations(function: str, place: Any) -> None:
    sources = Sources(None)
    whole = SimpleNamespace(place=(function, "/src/a.c", 9))
    row = {"function": "make", "file": "/src/a.c", "line": 7}
    run = SimpleNamespace(sources=sources)
    assert value("touched_at", whole=whole, row=row, run=run) == Place(*place)
    unknown = SimpleNamespace(place=("", "", 0))
    assert value("touched_at", whole=unknown, row=row, run=run) is None


@pytest.mark.parametrize(
    ("size", "instances", "bytes_"),
    [(100, 1, 100), (100, 2, 3 * PAGE_BYTES), (9 * PAGE_BYTES, 1, 3 * PAGE_BYTES)],
)
def test_one_instance_has_at_most_its_size(size: int, instances: int, bytes_: int) -> None:
    row, whole = {"size": size, "instances": instances}, SimpleNamespace(touched_pages=3)
    assert value("touched_bytes", row=row, whole=whole) == bytes_


def test_accesses_to_others_pages_are_counted_by_node_if_nodes_are_known() -> None:
    whole = SimpleNamespace(first_toucher=1)
    known: dict[str, Any] = {"own_share": 0.25, "working": 80, "whole": whole}
    assert value("foreign", remote=0.5, **known) == 40
    assert value("foreign", remote=0.0, **known) == 0
    assert value("foreign", remote=None, **known) == 60
    whole.first_toucher = None
    assert value("foreign", remote=None, **known) == 0
    assert value("own_share", work=None) == 1.0
    assert value("working", work=None) == 0


def test_remote_work_is_on_another_node_than_the_thread() -> None:
    table = pl.DataFrame({"thread_node": [0, 1, 1], "node": [0, 0, 1], "accesses": [3, 4, 1]})
    observed = SimpleNamespace(nodes=SimpleNamespace(observed=True))
    assert value("remote", run=observed, traffic=table) == 0.5
    assert value("remote", run=observed, traffic=table.clear()) is None
    observed.nodes.observed = False
    assert value("remote", run=observed, traffic=table) is None


@pytest.mark.parametrize(
    ("accesses", "tasks", "schedule", "single"),
    [
        (127, False, None, True),
        (128, False, None, False),
        (127, True, None, False),
        (127, False, "dynamic", False),
        (127, False, "static", True),
    ],
)
def test_random_threads_use_single_entries_unless_a_schedule_deals_them_out(
    accesses: int, tasks: bool, schedule: str | None, single: bool
) -> None:
    known = schedule and SimpleNamespace(is_dynamic=schedule == "dynamic")
    used = use([[accesses, 0], [0, accesses]])
    run = SimpleNamespace(trace=SimpleNamespace(_results={}))
    of: dict[str, Any] = {"use": used, "touchers": None, "in_tasks": tasks, "schedule": known}
    of |= {"run": run, "structure": 0, "judged": None}
    of["uses_single_entries"] = value("uses_single_entries", **of)
    assert of["uses_single_entries"] is (accesses < 128)
    assert value("looked_up", **of) is single


@pytest.mark.parametrize(
    ("known", "dealt_out"),
    [
        ({}, True),
        ({"pattern": Pattern.CHANGING}, False),
        ({"run": SimpleNamespace(openmp=True)}, False),
        ({"row": {"instances": 2}}, False),
        ({"owner": np.arange(256) // 64}, False),
        ({"owner": np.arange(256) // 64, "in_tasks": True}, True),
        ({"pattern": Pattern.SHARED, "in_tasks": True}, False),
        ({"owner": np.arange(256) // 64, "in_dynamic_loop": True}, True),
    ],
)
def test_threads_that_take_the_next_part_have_pages_in_no_order(
    known: dict[str, Any], dealt_out: bool
) -> None:
    owner = known.pop("owner", np.random.default_rng(3).integers(0, 4, 256))
    given = {
        "pattern": Pattern.SPLIT,
        "run": SimpleNamespace(
            openmp=False, sources=SimpleNamespace(has_only_tasks=lambda at: at == "tasks")
        ),
        "row": {"instances": 1},
        "use": use(np.eye(4)[owner]),
        "in_tasks": False,
        "in_dynamic_loop": False,
        "worked_in": "tasks",
    }
    assert value("is_dealt_out", **(given | known)) is dealt_out


@pytest.mark.parametrize(
    ("openmp", "files", "takes"),
    [
        (False, ["/src/a.cpp", "/src/pool.cpp"], True),
        (False, ["/src/a.cpp"], False),
        (True, ["/src/pool.cpp"], False),
        (False, ["/usr/include/c++/12/pool.cpp"], False),
        (False, [], False),
    ],
)
def test_who_takes_the_next_part_is_said_by_the_program_itself(
    openmp: bool, files: list[str], takes: bool
) -> None:
    lines = pl.DataFrame(
        {"function": ["work"] * len(files), "file": files},
        schema={"function": pl.String, "file": pl.String},
    )
    sources = SimpleNamespace(takes_next_part=lambda file: file.endswith("pool.cpp"))
    run: Any = SimpleNamespace(
        openmp=openmp, sources=sources, trace=SimpleNamespace(source_lines=lines)
    )
    run._own_files = cast(Any, Run._own_files).func(run)
    assert cast(Any, Run.takes_next_part).func(run) is takes
    sources.waits_for_work = sources.takes_next_part
    assert cast(Any, Run.waits_for_work).func(run) is takes


@pytest.mark.parametrize(
    ("uses", "known"),
    [
        ({"/src/a.cpp": 60, "/src/hidden.cpp": 40}, True),
        ({"/src/a.cpp": 40, "/src/hidden.cpp": 60}, False),
        ({"/src/a.cpp": 40, "": 60}, False),  # without -g
        ({"/src/a.cpp": 40, "malloc/malloc.c": 60}, True),  # as distributions build the C library
        ({"/src/a.cpp": 40, "/usr/include/c++/12/vector": 60}, True),
        ({}, False),
    ],
)
def test_sources_are_known_if_most_of_the_own_code_can_be_read(
    uses: dict[str, int], known: bool
) -> None:
    rows = [("work", file, 0, 0, count, 0) for file, count in uses.items()]
    # The code of the dynamic linker accesses its own memory.
    rows.append(("do_lookup_x", "", 0, 1, 1000, 0))
    columns = ["function", "file", "line", "structure", "reads", "writes"]
    lines = pl.DataFrame(rows, columns, orient="row")
    run: Any = SimpleNamespace(
        owners={0: Owner.PROGRAM, 1: Owner.RUNTIME},
        sources=SimpleNamespace(can_read=lambda file: file == "/src/a.cpp"),
        trace=SimpleNamespace(source_lines=lines),
    )
    assert cast(Any, Run.sources_known).func(run) is known


@pytest.mark.parametrize(
    ("openmp", "known", "taken", "waits", "free"),
    [
        (False, True, False, False, False),
        (False, True, True, False, True),
        (False, True, False, True, True),
        (False, False, False, False, True),
        (True, True, False, False, True),
    ],
)
def test_only_known_sources_show_that_no_work_goes_to_free_threads(
    openmp: bool, known: bool, taken: bool, waits: bool, free: bool
) -> None:
    run: Any = SimpleNamespace(
        openmp=openmp, sources_known=known, takes_next_part=taken, waits_for_work=waits
    )
    assert cast(Any, Run.gives_work_to_free_threads).func(run) is free


def test_the_borders_that_a_stencil_reads_are_not_dealt_out() -> None:
    """The neighbour also reads every second one of the eight pages beside a border."""
    page = np.arange(256)
    counts = np.eye(4)[page // 64]
    near = (page % 64 >= 56) & (page < 248) & (page % 2 == 0)
    counts[near] = 0.7 * np.eye(4)[page[near] // 64] + 0.3 * np.eye(4)[page[near] // 64 + 1]
    used = use(counts)
    assert users_change(used)
    given = {"pattern": Pattern.SPLIT, "run": SimpleNamespace(openmp=False), "in_tasks": False}
    given["in_dynamic_loop"] = False
    assert not value("is_dealt_out", row={"instances": 1}, use=used, **given)


@pytest.mark.parametrize(
    ("known", "dynamic"),
    [
        ({"schedule": SimpleNamespace(is_dynamic=True)}, True),
        ({"schedule": SimpleNamespace(is_dynamic=False)}, False),
        ({"main_phase": 2}, True),
        ({"main_phase": 1}, False),
        ({"main_phase": None}, False),
    ],
)
def test_a_dynamic_loop_may_call_the_code_of_the_work(known: dict[str, Any], dynamic: bool) -> None:
    run = SimpleNamespace(has_dynamic_loop=lambda phase: phase == 2)
    given = {"schedule": None, "main_phase": 2, "run": run}
    assert value("in_dynamic_loop", **(given | known)) is dynamic


@pytest.mark.parametrize(("changes", "often"), [(12, False), (13, True)])
def test_main_users_change_more_than_three_times_for_each_thread(changes: int, often: bool) -> None:
    owner = np.minimum(np.arange(256) // 4, changes) % 4
    assert main_users_change(use(np.eye(4)[owner])) is often


def test_a_structure_without_work_has_no_phase() -> None:
    rows = pl.DataFrame(schema={"phase": pl.Int64, "reads": pl.Int64, "writes": pl.Int64})
    assert value("main_phase", rows=rows) is None
    assert value("worked_in", main_phase=None) is None
    assert value("threads", rows=rows) == ()
    run = SimpleNamespace(deals_out_tasks=lambda phase: phase == 0)
    assert [value("in_tasks", main_phase=p, run=run) for p in (None, 0, 1)] == [False, True, False]


@pytest.mark.parametrize(("accesses", "least"), [(0, 1.0), (50, 1.0), (1000, 10.0)])
def test_a_structure_is_examined_from_a_hundredth_of_the_accesses_but_one_at_least(
    accesses: int, least: float
) -> None:
    compute: Any = vars(RunFacts)["_least"].fget
    assert compute(SimpleNamespace(compared=accesses)) == least
