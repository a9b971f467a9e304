# SPDX-License-Identifier: Apache-2.0
"""Facts follow from the accesses' closed forms, and the words from the facts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from numascape.analysis.facts import Facts, measure, per_thread_pages
from numascape.report import draft
from numascape.report.data import Reading
from numascape.report.reading import counted, percent
from synthetic import patterns
from synthetic.write import write_pattern

Described = tuple[Facts, Reading]


@pytest.fixture
def describe(tmp_path: Path) -> Callable[[patterns.Pattern, str], Described]:
    def described(pattern: patterns.Pattern, name: str) -> Described:
        trace = write_pattern(pattern, tmp_path / "run.numascape")
        facts = measure(per_thread_pages(trace.accesses, 1), trace.first_touch)
        entry = next(e for e in draft(trace).structures if e.name == name)
        return facts[entry.structure], entry.reading

    return described


def test_serial_first_touch_of_split_data(describe: Callable[..., Described]) -> None:
    facts, reading = describe(patterns.seismic(640, 64), "grid->vx")
    assert facts.first_toucher == 0
    assert facts.first_toucher_share == 1
    assert facts.threads == 64
    assert facts.dominance > 0.75
    assert facts.own_share < 0.05
    assert facts.place == ("initialise_grid", "seismic.c", 131)
    assert reading.verdict == "serial first touch"
    assert reading.see[-1] == (
        "Thread 0 touched 100 % of the pages first (in initialise_grid, seismic.c:131), "
        "but 63 other threads make 97 % of the accesses."
    )
    assert reading.advice[0].startswith("Initialise it in parallel")
    assert reading.stake == round((1 - facts.own_share) * facts.accesses)


def test_parallel_first_touch_is_well_placed(describe: Callable[..., Described]) -> None:
    facts, reading = describe(patterns.seismic(640, 64, parallel=True), "grid->vx")
    assert facts.own_share > 0.9
    assert reading.verdict == "split, near"
    assert reading.stake == 0
    assert reading.advice == (
        "Well placed: keep each thread on the CPUs where it started (pin the threads).",
    )


def test_data_that_all_threads_read(describe: Callable[..., Described]) -> None:
    facts, reading = describe(patterns.naive_matmul(256, 16), "B")
    # Every page: 16 threads with 2 * 16 * 256 reads each, and 512 writes by thread 0.
    page = 16 * 8192 + 512
    assert facts.accesses == 128 * page
    assert facts.dominance == pytest.approx((8192 + 512) / page)
    assert facts.threads_per_page == 16
    assert facts.writers == 1
    assert "16 threads use it, 1 of them writes" in reading.see[0]
    assert reading.verdict == "serial, shared by all"
    assert "Interleave" in reading.advice[0]
    assert "a copy per node" in reading.advice[1]


def test_data_that_all_threads_write(describe: Callable[..., Described]) -> None:
    _, reading = describe(patterns.bucket_sort(256, 16), "key_buff")
    assert "Interleave" in reading.advice[0]
    assert "contiguous part" in reading.advice[1]


def test_a_stack_is_its_threads_own(describe: Callable[..., Described]) -> None:
    facts, reading = describe(patterns.naive_matmul(256, 4), "Stack#2")
    assert (facts.threads, facts.busiest_thread, facts.own_share) == (1, 2, 1)
    assert reading.see[0].startswith("Only thread 2 uses it")
    assert reading.stake == 0


def test_data_of_one_thread_that_another_initialised(describe: Callable[..., Described]) -> None:
    pattern = patterns.Pattern("p", 2)
    s = pattern.structure("inbox", 8)
    pattern.access(s, np.arange(8), np.array(1), 100, 0)
    pattern.touch(s, np.arange(8), 0)
    _, reading = describe(pattern, "inbox")
    assert reading.advice == ("Let thread 1 initialise it, so that the pages are near it.",)
    assert reading.stake == 800


def checked_matmul(threads: int) -> patterns.Pattern:
    """The naive version's C: all threads write each page, and the first initialises and checks."""
    pattern = patterns.Pattern("matmul", threads + 1)
    page, thread = np.arange(64)[None, :], np.arange(threads + 1)[:, None]
    c = pattern.structure("C", 64)
    pattern.access(
        c, page, thread, (thread == 0) * 512, np.where(thread == 0, 4096, 512 // threads)
    )
    pattern.touch(c, page, 0)
    return pattern


def test_data_that_one_thread_initialises_and_checks(describe: Callable[..., Described]) -> None:
    facts, reading = describe(checked_matmul(4), "C")
    assert facts.busiest_share == 0.9
    assert facts.others_dominance == 0.25
    assert reading.see[0] == (
        "5 threads use it, but thread 0 makes 90 % of the accesses; the 4 others make 10 %, "
        "several of them on each page."
    )
    assert reading.verdict == "mainly one thread"
    assert reading.stake == 64 * 512
    assert "let them initialise it" in reading.advice[0]


def test_others_on_pages_of_their_own_are_told_apart(describe: Callable[..., Described]) -> None:
    pattern = patterns.Pattern("p", 3)
    s = pattern.structure("A", 2)
    pattern.access(s, np.arange(2), np.array(0), 900, 0)
    for page in (0, 1):
        pattern.access(s, np.array(page), np.array(page + 1), 100, 0)
    pattern.touch(s, np.arange(2), 0)
    facts, reading = describe(pattern, "A")
    assert facts.others_dominance == 1
    assert reading.see[0].endswith("the others make 10 %, each mainly on pages of its own.")


@pytest.mark.parametrize(
    "owned",
    [
        {"module": "/usr/lib/libgomp.so.1.0.0"},
        {"module": "/usr/lib/libmpi.so.40"},
        {"module": "/lib/ld-linux-x86-64.so.2"},
        {"name": "OpenMP runtime", "module": ""},
        {"name": "[vdso]", "kind": "mapping", "module": ""},
    ],
)
def test_memory_of_libraries_gets_no_advice_for_the_source(
    describe: Callable[..., Described], owned: dict[str, str]
) -> None:
    pattern = patterns.seismic(64, 8)
    pattern.structures[0].update(owned)
    _, reading = describe(pattern, owned.get("name", "grid->vx"))
    assert reading.stake == 0
    assert reading.advice == (
        "Memory of a library's own: nothing in the program's source decides on it.",
    )


def test_a_stack_gets_advice_only_when_others_use_it_most(
    describe: Callable[..., Described],
) -> None:
    pattern = patterns.seismic(64, 8)
    pattern.structures[0].update(name="Stack#0", kind="stack")
    _, reading = describe(pattern, "Stack#0")
    assert "firstprivate" in reading.advice[0]
    _, reading = describe(pattern, "Stack#3")
    assert (reading.advice[0][:17], reading.stake) == ("A thread's stack ", 0)


def test_a_machine_with_one_node_is_told_what_would_be_on_several(
    tmp_path: Path,
) -> None:
    pattern = patterns.seismic(64, 8)
    whole = pattern.info()
    whole["machine"]["nodes"] = whole["machine"]["nodes"][:1]
    pattern.info = lambda: whole  # type: ignore[method-assign]
    entry = draft(write_pattern(pattern, tmp_path / "run.numascape")).structures[0]
    assert entry.reading.advice[-1].startswith(
        "This machine has one node, so everything is local here. On a machine with several, up to "
    )
    assert not any("In this run" in sentence for sentence in entry.reading.see)


def test_what_went_to_other_nodes_is_said(describe: Callable[..., Described]) -> None:
    pattern = patterns.seismic(64, 64)
    _, reading = describe(pattern, "grid->vx")
    # All pages are on node 0, where 16 of the 64 threads run.
    assert any(sentence.startswith("In this run, 7") for sentence in reading.see)


def test_the_line_that_makes_most_accesses_is_named(describe: Callable[..., Described]) -> None:
    pattern = patterns.seismic(64, 4)
    pattern.used_at(0, "update", 41, 60, 30)
    pattern.used_at(0, "absorb", 90, 10, 0)
    _, reading = describe(pattern, "grid->vx")
    assert "90 % of its accesses come from update (seismic.c:41)." in reading.see


def test_a_structure_nobody_used(describe: Callable[..., Described]) -> None:
    pattern = patterns.sparse()
    trace_entry = describe(pattern, "reservation")
    assert trace_entry[0].touched_pages == 12


def test_small_shares_are_not_worth_advice(describe: Callable[..., Described]) -> None:
    pattern = patterns.naive_matmul(256, 4)
    s = pattern.structure("seed", 1)
    pattern.access(s, np.array(0), np.arange(4), 10, 10)
    pattern.touch(s, np.array([0]), 0)
    _, reading = describe(pattern, "seed")
    assert reading.stake == 0
    assert "look elsewhere first" in reading.advice[0]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.9999, "nearly 100 %"), (0.997, "over 99 %"), (0.5, "50 %"),
     (0.004, "0.4 %"), (0.00001, "under 0.01 %")],
)  # fmt: skip
def test_shares_are_never_rounded_to_all_or_nothing(share: float, text: str) -> None:
    assert percent(share) == text


def test_counts_have_units() -> None:
    assert counted(1, "access") == "1 access"
    assert counted(12_300, "access") == "12\u202f300 accesses"
    assert counted(4_100_000_000, "access") == "4.1 billion accesses"
