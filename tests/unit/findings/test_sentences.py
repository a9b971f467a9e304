# SPDX-License-Identifier: Apache-2.0
"""Sentences and advice follow the facts, also at borders."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from numascape.analysis.iterations import ParallelLoop
from numascape.analysis.ownership import Owner
from numascape.findings.advice import (
    initialise_by,
    initialise_in_parallel,
    interleave_pages,
    pin,
    replicate,
    use_contiguous_parts,
)
from numascape.findings.finding import Place
from numascape.findings.first_touches import read_first_touches
from numascape.findings.remedies import balanced
from numascape.findings.sources import Schedule, Sources
from numascape.prediction import demand_of, speeds_of
from numascape.prediction.initialisation import WithInitialisation
from unit.findings.sentence_cases import subject
from unit.prediction.made_up import machine_of, trace_of


def facts(share: float = 1.0, threads: int = 1, **known: Any) -> Any:
    place = known.get("place", ("init", "/src/a.c", 12))
    return SimpleNamespace(
        first_toucher=known.get("toucher", 3),
        first_toucher_share=share,
        first_touched_pages=40,
        threads=threads,
        place=place,
    )


def test_four_fifths_of_the_pages_are_a_touch_by_one_thread() -> None:
    assert read_first_touches(facts(0.8, 2), Owner.PROGRAM, {})[2] == "first touch by one thread"
    assert read_first_touches(facts(0.79, 2), Owner.PROGRAM, {})[2] == "touched by several"
    assert read_first_touches(facts(0.8, 2), Owner.RUNTIME, {})[1:] == ((), "")
    assert read_first_touches(facts(toucher=None), Owner.PROGRAM, {})[0] == (
        "No first touch of it was recorded.",
    )


@pytest.mark.parametrize(
    ("threads", "place", "end"),
    [
        (1, ("init", "/src/a.c", 12), " first (in init, a.c:12)."),
        (2, ("init", "/src/a.c", 0), " first (in init); 1 other thread touched the rest."),
        (3, ("", "a.c", 12), " first (a.c:12); 2 other threads touched the rest."),
        (1, ("", "", 5), " first."),
    ],
)
def test_first_touches_are_said_with_their_place(threads: int, place: Any, end: str) -> None:
    see = read_first_touches(facts(threads=threads, place=place), Owner.PROGRAM, {0: 40})[0]
    assert len(see) == 1  # on one node, the text does not mention nodes
    assert see[0].endswith(end)


def test_nodes_of_pages_are_said_in_order() -> None:
    see = read_first_touches(facts(), Owner.PROGRAM, {2: 10, 0: 30})[0]
    assert see[1] == "Its pages were on node 0: 75 %, node 2: 25 %."


def test_initialisation_is_advised_where_it_is_and_as_the_work() -> None:
    touched, used = Place("fill", "/src/a.c", 12), Place("work", "/src/b.c", 30)
    plain = initialise_in_parallel(subject(touched, used))
    assert "in parallel, with the same division of work as work (b.c:30): `#pragma omp" in plain
    assert "on the initialisation at a.c:12, if its iterations do not depend on each other" in plain
    for no_loop in (None, Place("__gnu_cxx::less", "/usr/include/c++/12/ops.h", 45)):
        assert "as in the work on it" in initialise_in_parallel(subject(touched, no_loop))
    threads = initialise_in_parallel(subject(touched, used, openmp=False))
    assert "instead of all parts in fill (a.c:12)" in threads
    assert "#pragma" not in threads
    fortran = initialise_in_parallel(subject(Place("fill", "/src/a.F90", 12), used))
    assert "`!$omp parallel do schedule(static)`" in fortran
    assert "on the initialisation, if" in initialise_in_parallel(subject(None, used))
    unknown = initialise_in_parallel(subject(Place("fill", "/src/a.c", 0), used))
    assert "on the initialisation at fill, if" in unknown
    assert "and not in fill (a.c:12). Its pages" in initialise_by(subject(touched), 5)
    assert "in thread 5, which uses it. Its pages" in initialise_by(subject(), 5)


def test_arrays_of_python_have_no_loop_to_change() -> None:
    touched, used = Place("DOUBLE_fill", "", 0), Place("DOUBLE_add_AVX2", "", 0)
    array = subject(touched, used, openmp=False, has_python=True, file="/src/heat.py")
    assert "Allocate it at heat.py:7 with `numpy.empty`" in initialise_in_parallel(array)
    assert "fill it in thread 3, which uses it, instead of at heat.py:7" in initialise_by(array, 3)
    assert "one contiguous part of it" in use_contiguous_parts(array)
    assert "(allocated at heat.py:7): `numascape run --plan`" in interleave_pages(array)
    assert "os.sched_setaffinity" in pin(array.run)
    for advice in (
        initialise_in_parallel(array),
        use_contiguous_parts(array),
        interleave_pages(array),
    ):
        assert "DOUBLE" not in advice
        assert "mbind" not in advice


def test_what_has_no_allocation_is_not_touched_by_it() -> None:
    place = ("std::fill", "/usr/include/c++/12/bits/stl_algo.h", 9)
    variable = interleave_pages(subject(kind="global", place=place))
    assert "before it is touched" in variable
    assert "after its allocation" not in variable
    unknown = interleave_pages(subject(line=0, place=("make", "/src/a.c", 0)))
    assert "`mbind` comes too late" not in unknown
    block = interleave_pages(subject(place=place))
    assert "the statement at a.c:7 that allocates it also touches it, so `mbind` comes" in block


def test_a_loop_that_cannot_run_in_parallel_is_not_told_to() -> None:
    touched, used = Place("fill", "/src/a.c", 12, loop=True), Place("work", "/src/b.c", 30)
    carried = ParallelLoop(0, "carries `s` from one iteration to the next")
    openmp = initialise_in_parallel(subject(touched, used, initial_loop=carried))
    assert openmp.startswith(
        "The loop at a.c:12 cannot run in parallel as it is: it carries `s` from one iteration to "
        "the next. Touch the pages before it, right after the allocation at a.c:7, in a parallel "
        "loop of their own: `#pragma omp parallel for schedule(static)` and `for (size_t i = 0; "
        "i < 8192; i += 4096) ((char *)grid->vx)[i] = 0;`, with the same division of work as work"
    )
    unnamed = subject(touched, used, initial_loop=carried, name="main+0x3", instances=2)
    assert "i < bytes; i += 4096) ((char *)p)[i] = 0;" in initialise_in_parallel(unnamed)
    threads = initialise_in_parallel(subject(touched, used, initial_loop=carried, openmp=False))
    assert "let each thread write one byte of each page of the part" in threads
    assert "#pragma" not in threads
    fortran = Place("fill", "/src/a.f90", 12, loop=True)
    own = initialise_in_parallel(subject(fortran, used, initial_loop=carried))
    assert (
        "`!$omp parallel do schedule(static)` over the dimension that the work divides, setting"
        in own
    )


def test_what_is_in_no_loop_is_not_told_to_run_in_parallel() -> None:
    used = Place("work", "/src/b.c", 30)
    called = initialise_in_parallel(
        subject(Place("put", "/src/a.c", 12), used, text="m->val[m->nnz] = v;")
    )
    assert called.startswith(
        "The code at a.c:12 that touches it first is in no loop of its function. Touch the pages "
        "before it, right after the allocation at a.c:7, in a parallel loop of their own: "
    )
    copied = subject(
        Place("setup", "/src/a.f90", 7), used, place=("__memcpy_avx", "memmove.S", 9), text="x"
    )
    assert initialise_in_parallel(copied).startswith("A function of the C library fills it. Touch")
    for text, known in (
        ("   a = 1.0d0 ! all", True),
        ("a(:, :) = 0._dp", True),
        ("a = f(b)", False),
    ):
        array = subject(Place("setup", "/src/a.f90", 9), used, text=text)
        whole = (
            "`!$omp parallel do schedule(static)` on the initialisation at a.f90:9, with the same"
        )
        assert (whole in initialise_in_parallel(array)) is known


@pytest.mark.parametrize(
    ("file", "text", "touches"),
    [
        ("/src/a.cpp", "Developer dev(raw);", True),
        ("/src/a.cpp", "auto *p = new double[n];", False),
        ("/src/a.cpp", "p = (double *)malloc(n);", False),
        ("/src/a.cpp", "", False),
        ("/src/a.c", "raw = decode(w, h);", False),
    ],
)
def test_a_class_with_a_container_is_touched_where_it_is_made(
    file: str, text: str, touches: bool
) -> None:
    place = ("__memset_avx2_unaligned_erms", "memset.S", 9)
    made = subject(Place("main", file, 7), place=place, file=file, text=text)
    assert ("that allocates it also touches it" in initialise_in_parallel(made)) is touches


def test_the_outermost_loop_that_can_is_named() -> None:
    touched = Place("fill", "/src/a.c", 12, loop=True)
    advice = initialise_in_parallel(subject(touched, initial_loop=ParallelLoop(10, "")))
    assert "`#pragma omp parallel for schedule(static)` on the loop at a.c:10," in advice
    loop = ParallelLoop(10, "", private=("j", "k"))
    advice = initialise_in_parallel(subject(touched, initial_loop=loop))
    assert "`#pragma omp parallel for private(j, k) schedule(static)` on the loop" in advice


def test_a_loop_that_is_parallel_already_is_divided_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    anywhere = False
    monkeypatch.setattr("numascape.findings.advice.fills_in_any_order", lambda *_: anywhere)
    touched, used = Place("fill", "/src/a.c", 12, loop=True), Place("work", "/src/b.c", 30)
    # This also holds if the parallel loop is around a loop that could be parallel.
    loop = ParallelLoop(12, "", (9, 12))
    found = subject(touched, used, already=True, serial=0.25, initial_loop=loop)
    found.run.trace, found.structure = None, 0
    assert initialise_in_parallel(found).startswith(
        "The loop at a.c:9 that initialises it is parallel already, but divides the work"
    )
    found = subject(touched, used, already=True, initial_loop=loop)
    found.run.trace, found.structure = None, 0
    assert "but thread 0 touched most pages first. There are two" in initialise_in_parallel(found)
    anywhere = True
    advice = initialise_in_parallel(found)
    assert "anywhere in it in the loop at a.c:9, so the thread that starts first touches" in advice
    found.whole.first_toucher_share = 0.25
    assert "so chance decides which of them touches a page first" in initialise_in_parallel(found)
    assert "in a parallel loop of their own" in advice


def test_a_directive_belongs_to_the_loop_below_it() -> None:
    lines = [
        "#pragma omp parallel for \\",
        "    schedule(static)",
        "for (i = 0; i < n; i++) a[i] = 0;",
        "for (i = 0; i < n; i++) b[i] = 0;",
        "#pragma omp parallel",
        "for (i = 0; i < n; i++) c[i] = 0;",
        "!$omp do",
        "",
        "do i = 1, n",
    ]
    files: Any = SimpleNamespace(lines=lambda _: lines)
    found = [Sources(files).is_parallel(Place("f", "/src/a.c", at)) for at in (3, 4, 6, 9)]
    assert found == [True, False, False, True]


@pytest.mark.parametrize(
    ("region", "deals_out"),
    [
        (["#pragma omp parallel", "#pragma omp single", "sort(keys, n);"], True),
        (["#pragma omp parallel", "{", "#pragma omp for", "#pragma omp single", "}"], False),
        (["#pragma omp parallel sections", "{", "#pragma omp section", "a();", "}"], True),
        (["#pragma omp parallel for", "for (;;) f();", "#pragma omp parallel", "task"], False),
        (["#pragma omp parallel", "{", "f();", "#pragma omp taskloop", "}"], True),
        (["!$omp parallel", "!$omp master", "call f()", "!$omp end parallel"], True),
        (["#pragma omp parallel for", "", "#pragma omp parallel", "#pragma omp single"], False),
    ],
)
def test_tasks_and_sections_are_dealt_out_by_time(region: list[str], deals_out: bool) -> None:
    files: Any = SimpleNamespace(lines=lambda _: ["", *region])
    assert Sources(files).deals_out_tasks(Place("f", "/src/a.c", 2)) == deals_out
    assert not Sources(None).deals_out_tasks(Place("f", "/src/a.c", 2))


@pytest.mark.parametrize(
    ("region", "dynamic"),
    [
        (["#pragma omp parallel for schedule(dynamic, 4)", "for (;;) f();"], True),
        (["#pragma omp parallel for \\", "  schedule(guided)"], True),
        (["#pragma omp parallel", "{", "#pragma omp for schedule(static)", "}"], False),
        (["#pragma omp parallel", "{", "#pragma omp for schedule(runtime)", "}"], True),
        (["#pragma omp parallel for", "", "", "#pragma omp parallel for schedule(dynamic)"], False),
    ],
)
def test_a_region_with_a_dynamic_loop(region: list[str], dynamic: bool) -> None:
    files: Any = SimpleNamespace(lines=lambda _: ["", *region])
    assert Sources(files).has_dynamic_loop(Place("f", "/src/a.c", 2)) == dynamic
    assert not Sources(None).has_dynamic_loop(Place("f", "/src/a.c", 2))


@pytest.mark.parametrize(
    ("file", "how"),
    [
        ("/src/a.c", "Allocate it with `malloc`, which does not touch large blocks"),
        ("/src/a.cpp", "Use an allocator whose `construct` does nothing"),
        ("/src/a.f90", "Allocate it without an initial value"),
        ("/src/a.rs", "Allocate it with `vec![0; n]`, which does not touch large blocks"),
    ],
)
def test_memory_that_its_allocation_touches_is_allocated_otherwise(file: str, how: str) -> None:
    found = subject(Place("make", file, 7), file=file, place=("make", file, 7))
    assert f"The statement at {Path(file).name}:7 that allocates it also touches it. {how}" in (
        initialise_in_parallel(found)
    )
    assert ("numa_vector.hpp" in interleave_pages(found)) is file.endswith(".cpp")
    assert "so `mbind` comes too late" in interleave_pages(found)
    # Functions of the C library have no place in the program's source.
    cleared = subject(Place("make", file, 7), file=file, place=("__libc_calloc", "", 0))
    assert "so `mbind` comes too late" in interleave_pages(cleared)


@pytest.mark.parametrize(
    ("file", "text", "late"),
    [
        ("/src/a.cpp", "std::vector<double> x(n);", True),
        ("/src/a.cpp", "double* x = new double[n];", False),
        ("/src/a.cpp", "", False),
    ],
)
def test_a_constructor_touches_through_the_c_library(file: str, text: str, late: bool) -> None:
    found = subject(Place("make", file, 7), file=file, place=("memset", "", 0), text=text)
    assert ("so `mbind` comes too late" in interleave_pages(found)) == late


@pytest.mark.parametrize(
    ("kind", "chunk", "start"),
    [
        ("dynamic", "", "Change schedule(dynamic) at b.c:30 to schedule(static)"),
        ("static", "4", "Change schedule(static, 4) at b.c:30 to schedule(static)"),
        ("static", "", "The loop at b.c:30 gives each thread a block of iterations, but"),
        ("", "", "The loop at b.c:30 gives each thread a block of iterations, but"),
        ("auto", "", "Change work (b.c:30) so that"),
    ],
)
def test_contiguous_parts_depend_on_the_schedule(kind: str, chunk: str, start: str) -> None:
    place = Place("work", "/src/b.c", 30)
    advice = use_contiguous_parts(subject(used=place, schedule=Schedule(place, kind, chunk)))
    assert advice.startswith(start)
    assert ("one block of consecutive iterations" in advice) == (kind == "auto")


def test_the_advice_is_about_the_loop_that_threads_divide() -> None:
    inner, region = Place("dist", "/src/b.c", 3, True), Place("all, region", "/src/b.c", 30)
    loop = Schedule(region, "static", "4")
    called = subject(used=inner, worked_in=region, region_loop=loop, is_used_in_call=True)
    assert use_contiguous_parts(called).startswith("Change schedule(static, 4) at b.c:30 to")
    called = subject(used=inner, worked_in=region, is_used_in_call=True)
    assert use_contiguous_parts(called).startswith(
        "Change how the parallel region at b.c:30 divides the work, so that each thread works on"
    )


def test_tasks_become_a_loop_that_always_divides_alike() -> None:
    region = Place("sort, parallel region at a.c:9", "/src/a.c", 9)
    advice = use_contiguous_parts(subject(used=region, worked_in=region, in_tasks=True))
    assert advice.startswith(
        "Instead of tasks or sections, divide the work at a.c:9 in the same way each time"
    )
    assert "divide the work in the same way" in use_contiguous_parts(subject(in_tasks=True))


def test_memory_is_named_by_its_allocation_and_size() -> None:
    heap = interleave_pages(subject())
    assert "mbind(start, 8192 bytes, MPOL_INTERLEAVE, ...)` after its allocation at a.c:7" in heap
    assert "after its allocation" not in interleave_pages(subject(kind="global"))
    machine = machine_of(3, without_cpus=(2,))
    copies = replicate(subject(nodes=SimpleNamespace(machine=machine)))
    assert "needs 4 KiB of memory per node, 8 KiB on the 2 nodes, and" in copies
    assert "needs 4 KiB of memory per node, and" in replicate(subject())
    assert replicate(subject(reuse=0.5)).endswith("makes every access local.")
    assert "it would be read less than once, so" in replicate(subject(reuse=0.49))
    assert "OMP_PROC_BIND" in pin(SimpleNamespace(openmp=True))  # type: ignore[arg-type]
    assert "pthread" in pin(SimpleNamespace(openmp=False, has_python=False))  # type: ignore[arg-type]


def test_balanced_work_is_divided_among_those_who_take_part() -> None:
    trace = trace_of([(0, 0, 30, 0), (1, 1, 10, 0)], 3, lines=[3, 1])
    demand = demand_of(trace, speeds_of(machine_of(1)))
    even = balanced(demand)
    assert even.accesses.tolist() == [[20.0, 20.0, 0.0]]
    assert even.lines.tolist() == [2.0, 2.0]
    assert even.moved.tolist() == [2.0, 2.0]
    assert even.rounds.tolist() == pytest.approx([2 / 3, 2.0])
    assert np.isfinite(even.accesses).all()


def test_the_initialisation_is_one_more_phase_that_ran_once() -> None:
    whole = trace_of([(0, 0, 0, 10)], 1, repetitions=5)
    with_it: Any = SimpleNamespace(whole=whole)
    phases: Any = WithInitialisation.phases
    phases = phases.func(with_it)
    assert phases["phase"].to_list() == [0, 1]
    assert phases["name"].to_list() == ["run", "initialisation"]
    assert phases["repetitions"].to_list() == [5, 1]
