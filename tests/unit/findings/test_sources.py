# SPDX-License-Identifier: Apache-2.0
"""The loop, the directive and the schedule that the source has at a place."""

from __future__ import annotations

import polars as pl
import pytest

from numascape.findings.finding import Place
from numascape.findings.sources import Schedule, Sources
from unit.findings.conftest import Written

SOURCE = """\
void fill(double *a, int n) {
#pragma omp parallel for schedule(dynamic, 4)
  for (int i = 0; i < n; i++)
    a[i] = 0;
  a[0] = 1;
}
"""


def test_the_text_of_a_place_is_its_line(written: Written) -> None:
    sources, file = written(SOURCE)
    assert sources.text(Place("fill", file, 1)).startswith("void fill")
    assert sources.text(Place("fill", file, 6)) == "}"
    assert [sources.text(Place("fill", file, line)) for line in (0, 7)] == ["", ""]
    assert Sources(None).text(Place("fill", file, 1)) == ""


def test_variables_of_fortran_types_with_arrays_hold_descriptors(written: Written) -> None:
    sources, file = written(
        "  type, public :: csr  ! rows\n     integer :: n = 0\n"
        "     real(8), allocatable :: val(:)\n  end type csr\n"
        "  type point\n     real(8) :: x  ! no pointer\n  end type\n"
        "  type(csr) :: a\n  TYPE (CSR), save :: all(10)\n  type(point) :: p\n  real(8) :: r(10)\n"
        "  type(other) :: o\n"
    )
    held = [line for line in range(14) if sources.holds_descriptors(file, line)]
    assert held == [8, 9]
    assert not Sources(None).holds_descriptors(file, 8)


def test_the_busiest_place_is_the_loop_with_most_accesses(written: Written) -> None:
    sources, file = written(SOURCE)
    lines = pl.DataFrame(
        {
            "function": ["fill"] * 3,
            "file": [file] * 3,
            "line": [3, 4, 5],
            "reads": [1, 3, 3],
            "writes": [1, 1, 2],
        }
    )
    assert sources.busiest(lines) == Place("fill", file, 3, True, 6 / 11)
    assert sources.busiest(lines.filter(pl.col("line") == 5)) == Place("fill", file, 5, False, 1.0)
    assert sources.busiest(lines.with_columns(reads=0, writes=0)) is None
    unknown = lines.with_columns(function=pl.lit(""), file=pl.lit(""), line=0)
    assert sources.busiest(unknown) is None


def test_a_loop_is_parallel_if_a_directive_directly_above_it_divides_it(written: Written) -> None:
    sources, file = written(SOURCE)
    assert sources.is_parallel(Place("fill", file, 3))
    assert not sources.is_parallel(Place("fill", file, 2))
    assert not sources.is_parallel(Place("fill", file, 5))


@pytest.mark.parametrize(("between", "parallel"), [(0, True), (5, True), (6, False)])
def test_a_directive_belongs_to_a_loop_at_most_six_lines_below(
    written: Written, between: int, parallel: bool
) -> None:
    sources, file = written("#pragma omp for\n" + "\n" * between + "for (;;) ;\n")
    assert sources.is_parallel(Place("f", file, 2 + between)) is parallel


def test_a_directive_may_have_several_lines(written: Written) -> None:
    sources, file = written("#pragma omp parallel \\\n  for\nfor (;;) ;\n")
    assert not sources.is_parallel(Place("f", file, 3))  # `for` is not on the directive's line
    sources, file = written("#pragma omp parallel for \\\n  schedule(static)\nfor (;;) ;\n")
    assert sources.schedule(Place("f", file, 3)) == Schedule(Place("f", file, 1), "static", "")


@pytest.mark.parametrize(
    ("clause", "kind", "chunk", "alike", "dynamic"),
    [
        ("schedule(dynamic, 4)", "dynamic", "4", False, True),
        ("schedule(guided)", "guided", "", False, True),
        ("schedule(RUNTIME)", "runtime", "", False, True),
        ("schedule(monotonic: static , n/2 )", "static", "n/2", False, False),
        ("schedule(static)", "static", "", True, False),
        ("", "", "", True, False),
    ],
)
def test_the_schedule_of_a_loop(
    written: Written, clause: str, kind: str, chunk: str, alike: bool, dynamic: bool
) -> None:
    sources, file = written(f"\n#pragma omp for {clause}\nfor (;;)\n  a();\n")
    found = sources.schedule(Place("f", file, 4))
    assert found == Schedule(Place("f", file, 2), kind, chunk)
    assert (found.always_divides_alike, found.is_dynamic) == (alike, dynamic)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#pragma omp for \\\n nowait \\\n schedule(dynamic)\nfor (;;) ;\n", "dynamic"),
        ("!$omp do &\n!$omp schedule(guided)\ndo i = 1, n\n", "guided"),
        ("!$omp do\n!$omp&schedule(guided)\ndo i = 1, n\n", "guided"),
        # Text below the continuation.
        ("#pragma omp for \\\n nowait\n// schedule(dynamic)\n#pragma omp do schedule(dynamic)", ""),
        # The clause of the next loop.
        ("#pragma omp for\nfor (;;) ;\n#pragma omp for schedule(dynamic)\nfor (;;) ;\n", ""),
    ],
)
def test_a_clause_is_in_the_directive_or_its_continuation(
    written: Written, text: str, kind: str
) -> None:
    sources, file = written(text)
    found = sources.schedule(Place("f", file, 2))
    assert found is not None
    assert found.kind == kind
    assert sources.has_dynamic_loop(Place("f", file, 1))  # one of the two, in the last case


def test_a_schedule_is_said_as_in_the_source() -> None:
    place = Place("f", "a.c", 1)
    assert Schedule(place, "dynamic", "4").clause == "schedule(dynamic, 4)"
    assert Schedule(place, "static", "").clause == "schedule(static)"


@pytest.mark.parametrize(("above", "found"), [(39, True), (40, False)])
def test_a_schedule_is_searched_in_forty_lines(written: Written, above: int, found: bool) -> None:
    sources, file = written("#pragma omp for\n" + "\n" * (above - 1) + "a();\n")
    assert (sources.schedule(Place("f", file, above + 1)) is not None) is found


def test_a_place_below_the_end_of_the_file_has_the_schedule_of_its_end(written: Written) -> None:
    sources, file = written("#pragma omp for\na();\n")
    assert sources.schedule(Place("f", file, 30)) == Schedule(Place("f", file, 1), "", "")
    assert sources.schedule(None) is None
    assert Sources(None).schedule(Place("f", file, 1)) is None


def test_a_directive_below_a_place_is_not_its_own(written: Written) -> None:
    sources, file = written("a();\n#pragma omp for\n")
    assert sources.schedule(Place("f", file, 1)) is None
    assert not sources.is_parallel(Place("f", file, 1))


def test_a_closed_region_has_no_schedule(written: Written) -> None:
    sources, file = written("!$omp do\nx\n!$omp end do\ny\n")
    assert sources.schedule(Place("f", file, 4)) is None
    assert sources.schedule(Place("f", file, 2)) is not None


@pytest.mark.parametrize(
    ("directives", "tasks"),
    [
        (["parallel", "single", "task"], True),
        (["parallel", "sections"], True),
        (["parallel", "single"], True),
        (["parallel", "masked"], True),
        (["parallel", "for", "single"], False),
        (["parallel", "for", "taskloop"], True),
        (["parallel"], False),
        (["parallel", "parallel single"], False),  # another region
    ],
)
def test_a_region_deals_out_tasks(written: Written, directives: list[str], tasks: bool) -> None:
    sources, file = written("\n" + "".join(f"#pragma omp {words}\n" for words in directives))
    assert sources.deals_out_tasks(Place("f", file, 2)) is tasks
    assert not sources.deals_out_tasks(Place("f", file, 0))
    assert not sources.deals_out_tasks(None)


@pytest.mark.parametrize("start", ["parallel", "task", "taskloop grainsize(8)", "sections"])
def test_a_loop_of_an_earlier_region_says_nothing(written: Written, start: str) -> None:
    sources, file = written(f"#pragma omp parallel for\na();\n#pragma omp {start}\nb();\n")
    assert sources.schedule(Place("f", file, 4)) is None
    assert sources.schedule(Place("f", file, 2)) is not None


@pytest.mark.parametrize(
    ("region", "only"),
    [
        ("#pragma omp single\n#pragma omp taskloop", True),
        ("#pragma omp sections", True),
        ("#pragma omp for\n#pragma omp task", False),
        ("#pragma omp single", False),  # threads may divide the rest by their numbers
        ("", False),
    ],
)
def test_tasks_have_all_work_of_a_region(written: Written, region: str, only: bool) -> None:
    sources, file = written(f"#pragma omp parallel\n{region}\n")
    assert sources.has_only_tasks(Place("f", file, 1)) is only
    assert not sources.has_only_tasks(None)


def test_a_region_has_a_dynamic_loop(written: Written) -> None:
    sources, file = written("#pragma omp parallel\n#pragma omp for \\\n  schedule(guided)\n")
    assert sources.has_dynamic_loop(Place("f", file, 1))
    sources, file = written("#pragma omp parallel for\nx\n#pragma omp task schedule(guided)\n")
    assert not sources.has_dynamic_loop(Place("f", file, 1))
    assert not sources.has_dynamic_loop(None)


@pytest.mark.parametrize(("below", "found"), [(40, True), (41, False)])
def test_directives_of_a_region_are_in_forty_lines(
    written: Written, below: int, found: bool
) -> None:
    sources, file = written("#pragma omp parallel\n" + "\n" * (below - 1) + "#pragma omp task")
    assert sources.deals_out_tasks(Place("f", file, 1)) is found


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("for (int i = next_.fetch_add(1); i < n; i = next_.fetch_add(1)) work(i);", True),
        ("while ((i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < n) work(i);", True),
        ("size_t i = std::atomic_fetch_add(&pool->next, 1);", True),
        ("    let i = self.next.fetch_add(1, Relaxed);", True),
        ("return next.fetch_add(1);", True),
        ("hits[at].fetch_add(1, std::memory_order_relaxed);", False),  # a counter
        ("if (atomic_fetch_add(&arrived, 1) == threads - 1) open();", False),  # a barrier
        ("// int i = next.fetch_add(1);", False),
        ("while (i < n && !next.compare_exchange_weak(i, i + 1)) {", True),
        ("atomic_compare_exchange_strong(&next, &i, i + 1)", True),
        ("while (!sum.compare_exchange_weak(old, old + value)) {", False),  # an addition
        ("pthread_mutex_lock(&m);\nint i = next++;", True),
        ("std::lock_guard guard(m);\nif (next == n) return;\nint i = pool->next++;", True),
        ("pthread_mutex_lock(&m);\ndone++;", False),
        ("pthread_mutex_lock(&m);\nf();\npthread_mutex_unlock(&m);\n}\nint i = next++;", False),
        ("std::lock_guard guard(m);\nauto t = q.front();\nq.pop();", True),
        ("Task t = q->pop_back();\nstd::mutex m;", True),
        ("stack.pop();", False),  # of one thread
        ("std::mutex m;\nq.pop(3);", False),
        ("while let Ok(job) = jobs.lock().unwrap().recv() {\nlet m = Mutex::new(1);", True),
        ("tbb::parallel_for(0, n, f);", True),
        ("auto f = std::async(work);", True),
        ("rows.par_iter_mut().for_each(f); // rayon", False),
        ("use rayon::prelude::*;", True),
        ("", False),
    ],
)
def test_threads_take_the_next_part_when_they_are_free(
    written: Written, text: str, takes: bool
) -> None:
    sources, file = written(f"{text}\n")
    assert sources.takes_next_part(file) is takes
    assert not sources.takes_next_part("")
    assert not Sources(None).takes_next_part(file)


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("pthread_cond_wait(&q.some, &q.lock);\nq.head = (q.head + 1) % size;", True),
        ("cnd_wait(&q->some, &q->lock);\njob = q->jobs[q->head++ % size];", True),
        ("std::condition_variable some;\nhead = (head + 1) & mask;", True),
        ("pthread_cond_wait(&all, &lock);\narrived = 0;", False),  # a barrier
        ("next = (head + 1) % size;\npthread_cond_wait(&all, &lock);", False),
        ("head = (head + 1) % size;", False),  # of one thread
        ("while let Ok(job) = jobs.recv() {", True),
        ("// jobs.recv()", False),
        ("", False),
    ],
)
def test_threads_wait_until_there_is_work(written: Written, text: str, waits: bool) -> None:
    sources, file = written(f"{text}\n")
    assert sources.waits_for_work(file) is waits
    assert not Sources(None).waits_for_work(file)


SHRINKS = """\
void eliminate(double *a, int n) {
  for (int k = 0; k < n; k++) {
    double pivot = a[k * n + k];
#pragma omp parallel for schedule(static)
    for (int i = %s; i < n; i++)
      for (int j = k; j < n; j++)
        a[i * n + j] -= pivot;
  }
}
"""


@pytest.mark.parametrize(
    ("begin", "variable"), [("k + 1", "k"), ("0", None), ("n / 2", None), ("next(k)", "k")]
)
def test_the_range_of_a_divided_loop_moves_with_an_outer_loop(
    written: Written, begin: str, variable: str | None
) -> None:
    sources, file = written(SHRINKS % begin)
    found = sources.moving_range(Place("eliminate", file, 4))
    assert found == (variable and (Place("eliminate", file, 4, loop=True), variable))
    assert sources.moving_range(Place("eliminate", file, 0)) is None
    assert sources.moving_range(Place("eliminate", file + "?", 4)) is None
    assert sources.moving_range(None) is None


def test_a_divided_loop_can_get_a_new_range_each_time(written: Written) -> None:
    sources, file = written(
        "void levels(int n) {\n  while (n) {\n    int next = 0;\n"
        "#pragma omp parallel for schedule(dynamic, 64)\n"
        "    for (int i = 0; i < n; i++) visit(i, &next);\n    n = next;\n  }\n}\n"
    )
    schedule = sources.schedule(Place("levels", file, 5))
    assert schedule is not None
    assert schedule.is_dynamic
    assert sources.has_new_range(schedule)
    assert not sources.has_new_range(None)
    assert not Sources(None).has_new_range(schedule)
    sources, file = written(
        "#pragma omp for schedule(dynamic)\nfor (int i = 0; i < n; i++) g(i);\n"
    )
    assert not sources.has_new_range(sources.schedule(Place("f", file, 2)))


CALLED = """\
static double dist(const double *a, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i];
  return sum;
}
void all(double *a, int n) {
#pragma omp parallel for schedule(static, 8) \\
    private(n)
  for (int i = 0; i < n; i++) {
    a[i] = dist(a, i);
  }
#pragma omp parallel
  { a[0] = dist(a, 3); }
}
static double late(const double *a) { return a[0]; }
"""


@pytest.mark.parametrize(("line", "chunk"), [(7, "8"), (9, None), (12, None), (3, None)])
def test_a_region_may_be_one_divided_loop(written: Written, line: int, chunk: str | None) -> None:
    sources, file = written(CALLED)
    region = Place("all", file, line)
    found = sources.whole_loop(region)
    expected = None if chunk is None else Schedule(region, "static", chunk)
    assert found == expected
    assert sources.whole_loop(None) is None
    assert Sources(None).whole_loop(region) is None


@pytest.mark.parametrize(
    ("line", "called"), [(3, True), (7, False), (10, False), (13, False), (15, True), (0, False)]
)
def test_work_may_be_in_a_function_that_the_region_calls(
    written: Written, line: int, called: bool
) -> None:
    sources, file = written(CALLED)
    region = Place("all", file, 7)
    assert sources.is_called(Place("f", file, line), region) is called
    assert sources.is_called(Place("f", "/other.c", 8), region)
    assert not sources.is_called(None, region)
    assert not sources.is_called(region, None)


def test_fortran_ends_its_procedures_with_a_line(written: Written) -> None:
    sources, file = written("!$omp parallel do\nx = 1\n  END SUBROUTINE f\nsubroutine g\ny = 2\n")
    region = Place("f", file, 1)
    assert [sources.is_called(Place("g", file, line), region) for line in (2, 3, 5)] == [
        False, False, True,
    ]  # fmt: skip
