# SPDX-License-Identifier: Apache-2.0
"""What numascape-cc, numascape-c++ and numascape-fc compile is counted as exactly as any program.

The programs and what is known of them are those of the binary recorder's tests.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from integration import test_counts_loops as loops
from integration import test_counts_processes as processes
from integration import test_counts_structures as structures
from integration import test_counts_threads as threads
from integration import test_lines as lines


@pytest.fixture(scope="module")
def heap(compiled: Any) -> Any:
    return compiled("heap")


@pytest.fixture(scope="module")
def strides(compiled: Any) -> Any:
    return compiled("strides")


# Not `misaligned`: what straddles two pages counts on the first one only.
@pytest.mark.parametrize(
    ("array", "pages", "reads", "writes"),
    [
        ("forward", loops.pages_of_loop(loops.WORDS, 8), 1, 0),
        ("backward", loops.pages_of_loop(loops.WORDS, -8, start=8 * loops.PAGE - 8), 0, 1),
        ("every_third", loops.pages_of_loop((loops.WORDS + 2) // 3, 24), 1, 0),
        ("one_a_page", loops.pages_of_loop(8, loops.PAGE), 0, 1),
        ("repeated", loops.pages_of_loop(loops.WORDS, 8), 1000, 0),
        ("added", loops.pages_of_loop(loops.WORDS, 8), 1, 1),
    ],
)
def test_loop_counts_exactly(
    strides: Any, array: str, pages: dict[int, int], reads: int, writes: int
) -> None:
    loops.test_loop_counts_exactly(strides, array, pages, reads, writes)


test_untouched_array_has_no_accesses = loops.test_untouched_array_has_no_accesses
test_page_aligned_block_counts_exactly = structures.test_page_aligned_block_counts_exactly
test_malloc_block_counts_exactly = structures.test_malloc_block_counts_exactly
test_reused_address_was_the_same = structures.test_reused_address_was_the_same


def test_small_blocks_at_one_address_never_mix(compiled: Any) -> None:
    structures.test_small_blocks_at_one_address_never_mix(compiled)


@pytest.mark.parametrize(
    ("structure", "kinds"), [("array", (0, 1)), ("grid->field", (1, 0)), ("values", (1, 1))]
)
def test_new_counts_exactly(compiled: Any, structure: str, kinds: tuple[int, int]) -> None:
    structures.test_new_counts_exactly(compiled, structure, kinds)


@pytest.mark.parametrize("program", ["globals_pie", "globals_no_pie"])
def test_globals_count_exactly(compiled: Any, built: Path, program: str) -> None:
    structures.test_globals_count_exactly(compiled, built, program)


# Without COMMON's variables: flang 19 writes no debug information for them.
@pytest.mark.parametrize(
    ("structure", "page_count"),
    [
        ("local", (0, 512)),
        ("module_allocatable", (512, 0)),
        ("grid%component", (0, 256)),
        ("fields::module_array", (0, 512)),
        ("saved", (0, 128)),
    ],
)
def test_fortran_arrays_count_exactly(
    compiled: Any, structure: str, page_count: tuple[int, int]
) -> None:
    structures.test_fortran_arrays_count_exactly(compiled, structure, page_count)


@pytest.mark.parametrize(
    ("program", "count", "first_thread"),
    [
        ("threads_pthread", 7, 1),
        ("threads_pthread", 64, 1),
        ("threads_openmp", 1, 0),
        ("threads_openmp", 4, 0),
        ("threads_cxx", 4, 1),
    ],
)
def test_matrix_product_reads_n_cubed(
    compiled: Any, program: str, count: int, first_thread: int
) -> None:
    threads.test_matrix_product_reads_n_cubed(compiled, program, count, first_thread)


@pytest.mark.parametrize("count", [1, 200])
def test_each_thread_has_its_own_counts(compiled: Any, count: int) -> None:
    threads.test_each_thread_has_its_own_counts(compiled, count)


@pytest.mark.parametrize(("items", "count"), [(5000, 3), (513, 1)])
def test_neighbours_share_boundary_pages(compiled: Any, items: int, count: int) -> None:
    threads.test_neighbours_share_boundary_pages(compiled, items, count)


def test_forks_count_apart(compiled: Any) -> None:
    processes.test_fork_gives_the_child_its_own_counts(compiled)
    processes.test_nested_forks_count_apart(compiled)


@pytest.mark.parametrize("mode", ["exec", "spawn"])
def test_program_after_exec_is_recorded(compiled: Any, mode: str) -> None:
    processes.test_program_after_exec_is_recorded(compiled, mode)


@pytest.mark.parametrize(
    ("mode", "status"),
    [("_exit", 6), ("thread_exit", 5), ("main_thread_ends", 0)],
)
def test_nothing_is_lost_at_the_end(compiled: Any, mode: str, status: int) -> None:
    processes.test_nothing_is_lost_at_the_end(compiled, mode, status)


@pytest.mark.parametrize("mode", ["abort", "crash", "kill"])
def test_nothing_is_lost_of_a_killed_program(compiled: Any, mode: str) -> None:
    recording = compiled("endings", mode)
    assert recording.total("data") == (0, 1024)
    assert recording.total("thread_data") == (0, 1024)


def test_signal_handlers_count(compiled: Any) -> None:
    processes.test_signal_handlers_count(compiled)


def test_a_compiled_program_runs_by_itself(built: Path) -> None:
    native = subprocess.run([built / "threads_pthread", "64", "7"], check=False)
    assert native.returncode == 0


# The loops whose lines are known in closed form; `copy` is an instruction of the assembler.
@pytest.mark.parametrize(
    ("structure", "line", "reads", "writes"),
    [
        ("a", "left", lines.N**3, 0),
        ("b", "right", lines.N**3, 0),
        ("c", "product", lines.N**3, lines.N**3),
        ("a", "start", 0, lines.N**2),
        ("b", "start", 0, lines.N**2),
        ("often", "gather", lines.WORDS, 0),
        ("seldom", "keep", 0, lines.WORDS // 4),
        ("often", "bump", lines.ROUNDS // 4 * 3 * 64, lines.ROUNDS // 4 * 3 * 64),
        ("seldom", "bump", lines.ROUNDS // 4 * 64, lines.ROUNDS // 4 * 64),
        ("often", "fill", 0, lines.WORDS),
        ("seldom", "fill", 0, lines.WORDS),
        ("vectors", "scale", lines.WORDS // 2, lines.WORDS // 2),
    ],
)
def test_lines_count_exactly(
    compiled: Any, structure: str, line: str, reads: int, writes: int
) -> None:
    found = lines.by_line(compiled("source_lines"), "source_lines.c")
    counted = found[structure, line]
    # What a line did with each of several structures comes from samples.
    exact = 0 if line not in ("bump",) else 0.05
    assert counted == pytest.approx((reads, writes), rel=exact)


def test_lines_of_parallel_regions_count_all_threads_and_in_their_phase(compiled: Any) -> None:
    lines.test_lines_of_parallel_regions_count_all_threads_and_in_their_phase(compiled)


@pytest.mark.parametrize("program", ["source_lines", "source_lines_openmp", "fields"])
def test_lines_add_up_to_the_accesses(compiled: Any, program: str) -> None:
    lines.assert_sums_are_those_of_accesses(compiled(program))


def test_time_in_code_that_is_not_counted_is_estimated(compiled: Any) -> None:
    sentence = compiled("uncounted").trace.info.unseen[0]
    found = re.search(r"about ([\d.]+)% of the CPU time outside the kernel \(libc\.so\.6", sentence)
    assert found is not None, sentence
    assert float(found[1]) > 80
