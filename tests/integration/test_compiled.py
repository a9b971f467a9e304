# SPDX-License-Identifier: Apache-2.0
"""Programs that the compilers of numascape build are counted as exactly as any other program.

The programs and the expected counts are those of the binary recorder's tests.
"""

import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration import test_counts_loops as loops
from integration import test_counts_processes as processes
from integration import test_counts_structures as structures
from integration import test_counts_threads as threads
from integration import test_phases as phases
from integration import test_source_lines as lines


@pytest.fixture(scope="module")
def heap(compiled: Any) -> Any:
    return compiled("heap")


@pytest.fixture(scope="module")
def strides(compiled: Any) -> Any:
    return compiled("strides")


# Not `misaligned`: an access to two pages counts on the first one only.
@pytest.mark.parametrize(
    ("array", "pages", "reads", "writes"),
    [
        ("forward", loops.pages_of_loop(loops.WORDS, 8), 1, 0),
        ("backward", loops.pages_of_loop(loops.WORDS, -8, start=8 * loops.PAGE - 8), 0, 1),
        ("every_third", loops.pages_of_loop((loops.WORDS + 2) // 3, 24), 1, 0),
        ("one_a_page", loops.pages_of_loop(8, loops.PAGE), 0, 1),
        ("repeated", loops.pages_of_loop(loops.WORDS, 8), 1000, 0),
        ("added", loops.pages_of_loop(loops.WORDS, 8), 1, 1),
        ("columns", loops.pages_of_columns(200, 10, 3072), 1, 0),
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


# Without variables of COMMON blocks: flang 19 writes no debug information for them.
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
    processes.test_memory_that_a_child_only_reads_is_that_of_its_ancestor(compiled)


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


def test_a_program_of_another_version_is_told(built: Path, command: Path, tmp_path: Path) -> None:
    program, name = tmp_path / "old", b"Numascape\0\0\0"
    content = bytearray((built / "strides").read_bytes())
    content[content.index(name) + len(name)] += 1
    program.write_bytes(content)
    program.chmod(0o755)
    run = [str(command), "record", "-o", str(tmp_path / "trace")]
    chosen = subprocess.run([*run, "--", str(program)], capture_output=True, text=True, check=True)
    assert "binary recorder: another version of numascape-cc built the program" in chosen.stderr
    forced = subprocess.run(
        [*run, "--recorder", "compiled", "--", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert forced.returncode != 0
    assert "built by another version" in forced.stderr
    assert len(forced.stderr.strip().splitlines()) <= 2


# The loops with known counts of lines; `copy` is an assembler instruction.
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
    assert found[structure, line] == (reads, writes)


def test_every_line_says_whether_it_is_exact(compiled: Any) -> None:
    for program in ("source_lines", "source_lines_openmp"):
        trace = compiled(program).trace
        wanted = trace.structures.filter(pl.col("kind") == "heap", pl.col("size") >= 1 << 15)
        rows = trace.source_lines.join(wanted, on="structure")
        assert rows.height >= 2
        assert rows["estimated"].sum() == 0
        assert (rows["line"] > 0).all()
    # Blocks on pages of their own are exact, although the same code uses variables that share
    # pages.
    trace = compiled("fields").trace
    rows = trace.source_lines.join(trace.structures, on="structure").filter(
        pl.col("kind") == "heap"
    )
    assert rows["estimated"].sum() == 0
    assert trace.source_lines["estimated"].sum() > 0


JOINED, JOINED_ROUNDS = 4096, 3


@pytest.mark.parametrize(
    ("structure", "kinds", "lines_of"),
    [
        ("cells", (0, 1), ["last", "first", "second", "third"]),
        ("points", (1, 1), ["x", "y", "z"]),
        ("wide", (0, 1), ["fill0", "fill1", "fill2", "fill3"]),
        ("swept", (0, 1), ["sweep0", "sweep1", "sweep2"]),
        ("forward", (0, 1), ["forward0", "forward1", "forward2"]),
        ("backward", (0, 1), ["backward0", "backward1", "backward2"]),
        ("plane", (0, 1 / 4), ["turn0", "turn1", "turn2", "turn3"]),
        ("scale", (1, 0), ["x", "y", "z"]),
    ],
)
def test_lines_that_are_counted_together_stay_exact(
    compiled: Any, structure: str, kinds: tuple[float, float], lines_of: list[str]
) -> None:
    recording = compiled("joined")
    found = lines.by_line(recording, "joined.c")
    each = tuple(int(kind * JOINED * JOINED_ROUNDS) for kind in kinds)
    assert [found[structure, line] for line in lines_of] == [each] * len(lines_of)


def pages_of_fields(bytes_each: int, offsets: list[int]) -> dict[int, int]:
    starts = (i * bytes_each + offset for i in range(JOINED) for offset in offsets)
    return Counter(start // 4096 for start in starts)


@pytest.mark.parametrize(
    ("structure", "pages", "kinds"),
    [
        ("cells", pages_of_fields(200, [0, 8, 16, 184]), (0, 1)),
        ("points", pages_of_fields(24, [0, 8, 16]), (1, 1)),
        ("wide", pages_of_fields(64, [0, 8, 16, 24]), (0, 1)),
        ("swept", pages_of_fields(200, [0, 8, 16]), (0, 1)),
        ("forward", pages_of_fields(24, [8, 16, 24]), (0, 1)),
        ("backward", pages_of_fields(24, [8, 16, 24]), (0, 1)),
        ("plane", pages_of_fields(8, [0]), (0, 1)),
    ],
)
def test_pages_of_what_is_counted_together_stay_exact(
    compiled: Any, structure: str, pages: dict[int, int], kinds: tuple[int, int]
) -> None:
    counted = compiled("joined").pages(structure)
    assert counted == {
        page: tuple(kind * count * JOINED_ROUNDS for kind in kinds) for page, count in pages.items()
    }


def test_marks_between_loops_without_a_call_are_where_they_are(compiled: Any) -> None:
    recording = compiled("joined")
    often, seldom = JOINED * JOINED_ROUNDS, 2 * JOINED_ROUNDS
    assert phases.by_phase(recording, "one") == {
        "one": (often + seldom, often + seldom),
        "two": (seldom, seldom),
    }
    assert phases.by_phase(recording, "two") == {"two": (often, often)}


def test_lines_of_parallel_regions_count_all_threads_and_in_their_phase(compiled: Any) -> None:
    lines.test_lines_of_parallel_regions_count_all_threads_and_in_their_phase(compiled)


@pytest.mark.parametrize("program", ["source_lines", "source_lines_openmp", "fields"])
def test_lines_add_up_to_the_accesses(compiled: Any, program: str) -> None:
    lines.assert_sums_are_those_of_accesses(compiled(program))


def test_time_in_code_that_is_not_counted_is_estimated(compiled: Any) -> None:
    sentence = compiled("uncounted").trace.info.unseen[0]
    found = re.search(r"about ([\d.]+) % of the CPU time outside .*\(libc\.so\.6", sentence)
    assert found is not None, sentence
    assert float(found[1]) > 80
