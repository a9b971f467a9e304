# SPDX-License-Identifier: Apache-2.0
"""Unmodified programs run correctly under plans.

The nodes of pages are tested on machines with several nodes: tests/vm/test_placer.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import numascape
from numascape.plan import Plan, StructureRule, ThreadRule
from numascape.plan.document import write_plan

CPUS = sorted(os.sched_getaffinity(0))
FIRST, LAST = CPUS[0], CPUS[-1]
INTERLEAVED = (
    StructureRule("block", "interleave", nodes=(0,)),
    StructureRule("slots[slot].memory", "parts", nodes=(0, 0), parts=(0, 0.3, 1)),
)


@dataclass(frozen=True)
class Planned:
    """A program's output and end under a plan, and the content of --json."""

    status: int
    output: str
    errors: str
    verified: dict[str, Any]

    def structure(self, name: str) -> dict[str, Any]:
        (found,) = (item for item in self.verified["structures"] if item["name"] == name)
        return dict(found)


RunPlanned = Callable[..., Planned]


@pytest.fixture
def run(tmp_path: Path, command: Path) -> RunPlanned:
    """Return run(plan, program, *arguments, options=(), environment={}) -> Planned."""

    def run_planned(
        plan: Plan,
        *words: object,
        options: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        text: str = "",
    ) -> Planned:
        write_plan(plan, tmp_path / "plan.toml")
        result = tmp_path / "result.json"
        arguments = ["run", "--plan", tmp_path / "plan.toml", "--json", result, *options, "--"]
        finished = subprocess.run(
            [str(word) for word in (command, *arguments, *words)],
            capture_output=True,
            text=True,
            input=text,
            timeout=300,
            check=False,
            env={**os.environ, **(environment or {})},
        )
        verified = json.loads(result.read_text()) if result.exists() else {}
        return Planned(finished.returncode, finished.stdout, finished.stderr, verified)

    return run_planned


def test_the_heap_stays_sound(run: RunPlanned, programs: Path) -> None:
    found = run(Plan(structures=INTERLEAVED), programs / "placed_heap")
    assert (found.status, found.output, found.errors) == (0, "sound\n", "")
    for name in ("block", "slots[slot].memory"):
        assert found.structure(name)["instances"] > 1000
        assert found.structure(name)["elsewhere"] == 0
        assert found.structure(name)["right"] > 0
    assert found.verified["processes"][0]["refused"] == 0
    assert found.verified["processes"][0]["unanswered"] == 0


def test_blocks_get_the_addresses_of_mappings_that_moved_or_ended(
    run: RunPlanned, programs: Path
) -> None:
    plan = Plan(
        structures=tuple(StructureRule(name, "bind", nodes=(0,)) for name in ("grid", "block"))
    )
    found = run(plan, programs / "placed_mappings")
    assert (found.status, found.output, found.errors) == (0, "sound\n", "")
    grid = found.structure("grid")
    assert (grid["instances"], grid["right"], grid["elsewhere"]) == (3, 3 * 256, 0)
    assert found.structure("block")["instances"] == 4 * 8


def test_more_blocks_than_mappings_go_to_the_heap(run: RunPlanned, programs: Path) -> None:
    plan = Plan(
        structures=(
            StructureRule("first[i]", "bind", nodes=(0,)),
            StructureRule("second[i]", "interleave", nodes=(0,)),
        )
    )
    found = run(plan, programs / "placed_many")
    assert (found.status, found.output) == (0, "sound\n")
    placed = sum(found.structure(name)["instances"] for name in ("first[i]", "second[i]"))
    assert placed > 10_000
    assert found.verified["processes"][0]["crowded"] == 100_000 - placed


@pytest.mark.parametrize("program", ["placed_openmp", "placed_openmp_clang"])
@pytest.mark.parametrize("binding", [{}, {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}])
def test_openmp_threads_run_where_the_plan_says(
    run: RunPlanned, programs: Path, program: str, binding: dict[str, str]
) -> None:
    plan = Plan(
        threads=(ThreadRule((LAST, FIRST), openmp="0-3"),),
        environment={"OMP_NUM_THREADS": "4"},
    )
    found = run(plan, programs / program, environment=binding)
    lines = found.output.splitlines()
    team = [f"{number} {(LAST, FIRST)[number % 2]}" for number in range(4)]
    # OpenMP sees all CPUs, and bindings by the program have no effect.
    assert lines == [f"procs {len(CPUS)}", *team, *team]
    threads = found.verified["threads"]
    assert [thread["openmp"] for thread in threads] == [0, 1, 2, 3]
    assert all(thread["is_right"] for thread in threads)


def test_other_numbers_of_threads_take_the_places_in_proportion(
    run: RunPlanned, programs: Path
) -> None:
    plan = Plan(threads=(ThreadRule((FIRST, LAST), order="0-1"),), recorded_threads=2)
    found = run(plan, programs / "placed_openmp", options=("--threads", "6"))
    placed = [thread["planned"] for thread in found.verified["threads"]]
    assert len(placed) == 6
    assert len({tuple(cpus) for cpus in placed[:3]}) == 1
    assert len({tuple(cpus) for cpus in placed[3:]}) == 1
    assert FIRST in placed[0]
    assert LAST in placed[5]


def test_what_the_environment_says_already_stays(run: RunPlanned, programs: Path) -> None:
    plan = Plan(environment={"OMP_NUM_THREADS": "3"})
    words = (programs / "placed_openmp",)
    assert run(plan, *words).output.count("\n") == 1 + 2 * 3
    found = run(plan, *words, environment={"OMP_NUM_THREADS": "2"})
    assert found.output.count("\n") == 1 + 2 * 2


def test_input_output_and_status_are_the_programs(run: RunPlanned) -> None:
    found = run(
        Plan(structures=INTERLEAVED), "sh", "-c", "cat; echo no >&2; exit 41", text="through\n"
    )
    assert (found.status, found.output, found.errors) == (41, "through\n", "no\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL])
def test_an_ending_by_signal_is_passed_on(run: RunPlanned, number: signal.Signals) -> None:
    plan = Plan(threads=(ThreadRule((LAST,), order="0"),))
    found = run(plan, "bash", "-c", f"kill -{number.value} $$; :")
    assert found.status == -number
    ending = "not seen" if number == signal.SIGKILL else "signal"
    assert [process["ending"] for process in found.verified["processes"]] == [ending]


def test_signals_reach_the_program(tmp_path: Path, command: Path) -> None:
    write_plan(Plan(), tmp_path / "plan.toml")
    program = "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [command, "run", "--plan", tmp_path / "plan.toml", "--", "sh", "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            running.terminate()
            assert running.communicate(timeout=300)[0] == "caught\n"
        except BaseException:
            os.killpg(running.pid, signal.SIGKILL)
            raise
    assert running.returncode == 5


def test_programs_that_a_program_starts_are_under_the_plan(run: RunPlanned, programs: Path) -> None:
    heap = programs / "placed_heap"
    found = run(replace(Plan(structures=INTERLEAVED), program=str(heap)), "sh", "-c", f"{heap}; :")
    assert found.output == "sound\n"
    assert [Path(process["program"]).name for process in found.verified["processes"]] == [
        "placed_heap"
    ]
    assert found.structure("block")["instances"] > 1000


def test_children_close_files_while_commands_start(run: RunPlanned, programs: Path) -> None:
    found = run(Plan(), programs / "forks_beside_commands")
    assert (found.status, found.output) == (0, "closed\n")


def test_a_plan_for_another_program_does_nothing(run: RunPlanned) -> None:
    plan = Plan(threads=(ThreadRule((LAST,), order="0"),), program="other")
    found = run(plan, "sh", "-c", "exit 3", options=("--verify",))
    assert found.status == 3
    assert found.verified["processes"] == []
    assert found.errors == ("the plan was not applied: no process ran the program that it is for\n")


def test_variables_of_libraries_are_found(run: RunPlanned, programs: Path) -> None:
    names = ("shared_library_exported", "shared_library_static")
    plan = Plan(
        structures=(
            *(StructureRule(name, "interleave", nodes=(0,)) for name in names),
            StructureRule("nothing", "bind", kind="heap", nodes=(0,)),
        )
    )
    found = run(plan, programs / "globals_pie")
    assert found.status == 0
    for name in names:
        item = found.structure(name)
        assert (item["instances"], item["bytes"], item["elsewhere"]) == (1, 8192, 0)


def test_arrays_of_python_are_placed_by_their_variables(run: RunPlanned, tmp_path: Path) -> None:
    plan = Plan(
        threads=(ThreadRule((LAST,), order="0-7"),),
        structures=(
            StructureRule("a", "interleave", nodes=(0,)),
            StructureRule("grid.cells", "bind", nodes=(0,)),
        ),
    )
    program = tmp_path / "arrays.py"
    program.write_text(
        "import numpy\n"
        "class Grid:\n"
        "    def __init__(self, n):\n"
        "        self.cells = numpy.zeros(n)\n"
        "def ones(n):\n"
        "    return numpy.ones(n)\n"
        "a = ones(10**6)\n"
        "b = ones(10**6)\n"
        "grid = Grid(10**5)\n"
        "print(int(a.sum() + b.sum()))\n"
    )
    found = run(plan, sys.executable, program)
    assert (found.status, found.output) == (0, "2000000\n")
    for name, size in {"a": 8 * 10**6, "grid.cells": 8 * 10**5}.items():
        item = found.structure(name)
        assert item["instances"] == 1
        assert size <= item["bytes"] <= size + 4096
        assert item["elsewhere"] == 0


def test_a_recording_under_a_plan_has_the_same_structures(
    run: RunPlanned, programs: Path, tmp_path: Path, command: Path
) -> None:
    program = programs / "fields"
    names = ("local", "module_allocatable", "grid%component", "fields::module_array")
    plan = Plan(
        structures=tuple(StructureRule(name, "interleave", nodes=(0,)) for name in names),
        program="fields",
    )
    trace = tmp_path / "planned.numascape"
    found = run(plan, command, "record", "-q", "-o", trace, "--", program)
    assert found.status == 0
    assert [found.structure(name)["instances"] for name in names] == [1] * 4
    recorded = {row["name"]: row for row in numascape.open(trace).structures.to_dicts()}
    for name in names:
        assert recorded[name]["size"] == 64 * 4096, name
        assert recorded[name]["instances"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["su"], "runs with the rights of another user"),
        (["no-such-program"], "no-such-program cannot be run: there is no such program"),
    ],
)
def test_what_cannot_be_run_is_said(run: RunPlanned, words: list[str], said: str) -> None:
    found = run(Plan(structures=INTERLEAVED), *words)
    assert found.status == 2
    assert said in found.errors
    assert found.errors.count("\n") == 1


def test_static_programs_are_refused(run: RunPlanned, programs: Path) -> None:
    found = run(Plan(), programs / "placed_static")
    assert found.status == 2
    assert "placed_static is linked statically" in found.errors


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (Plan(threads=(ThreadRule((9000,), order="0"),)), "threads rule 1 needs CPU 9000"),
        (
            Plan(structures=(StructureRule("a", "bind", nodes=(900,)),)),
            "structures rule 1 (a) needs memory of node 900",
        ),
    ],
)
def test_what_the_machine_lacks_is_said_before_the_start(
    run: RunPlanned, plan: Plan, said: str
) -> None:
    found = run(plan, "echo", "started")
    assert (found.status, found.output) == (2, "")
    assert said in found.errors
    assert found.errors.count("\n") == 1
