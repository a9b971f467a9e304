# SPDX-License-Identifier: Apache-2.0
"""Facts follow from the accesses' closed forms, and the words from the facts."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from numascape.findings import Finding, Kind, examine, findings_of
from numascape.findings.reading import Reading, reading_of
from numascape.findings.subject import Run
from numascape.quantities import counted, percent
from synthetic import patterns
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern

Described = tuple[Run, Finding | None, Reading]


@pytest.fixture
def describe() -> Callable[[Pattern, str], Described]:
    """The run, the structure's most important finding, and its reading."""

    def described(pattern: Pattern, name: str) -> Described:
        trace = trace_of(pattern)
        run = examine(trace)
        found = findings_of(run)
        number = int(trace.structures.filter(pl.col("name") == name)["structure"][0])
        first = next((finding for finding in found if finding.structure == number), None)
        return run, first, reading_of(run, number, found)

    return described


def on_one_node(pattern: Pattern) -> Pattern:
    """The pattern as recorded on a machine with one node, so that nothing is predicted."""
    whole = pattern.info()
    whole["machine"]["nodes"] = whole["machine"]["nodes"][:1]
    pattern.info = lambda: whole  # type: ignore[method-assign]
    return pattern


def test_serial_first_touch_of_split_data(describe: Callable[..., Described]) -> None:
    run, finding, reading = describe(on_one_node(patterns.seismic(1280, 64)), "grid->vx")
    facts = run.facts[0]
    assert facts.first_toucher == 0
    assert facts.first_toucher_share == 1
    assert facts.threads == 64
    assert facts.dominance > 0.75
    assert facts.own_share < 0.05
    assert facts.place == ("initialise_grid", "seismic.c", 131)
    assert finding is not None
    assert finding.kind is Kind.SERIAL_FIRST_TOUCH
    assert str(finding.place) == "initialise_grid (seismic.c:131)"
    assert reading.verdict == "serial first touch"
    assert reading.see[1].startswith(
        "Thread 0 touched 100 % of the pages first (in initialise_grid (seismic.c:131)), but 63 "
        "other threads do "
    )
    assert "seismic.c:131" in reading.advice[0]
    assert finding.threads == tuple(range(1, 64))


def test_parallel_first_touch_is_well_placed(describe: Callable[..., Described]) -> None:
    pattern = patterns.seismic(1280, 64, parallel=True)
    pattern.placed_by_first_touch = True
    run, finding, reading = describe(pattern, "grid->vx")
    assert run.facts[0].own_share > 0.9
    assert finding is not None
    assert finding.kind is Kind.PARTITIONED
    assert not finding.to_do
    assert "Keep each thread on the CPUs where it started" in reading.advice[0]


def test_data_that_all_threads_read(describe: Callable[..., Described]) -> None:
    _, finding, reading = describe(patterns.naive_matmul(512, 64), "B")
    assert finding is not None
    assert finding.kind is Kind.SHARED_READ_MOSTLY
    assert len(finding.threads) >= 63
    numbers = {evidence.what: evidence.value for evidence in finding.evidence}
    assert numbers["writes in parallel work"] == 0
    assert numbers["memory of a copy"] == 512 * 512 * 8
    assert "numactl --interleave=all" in reading.advice[0]
    assert "needs 2 MiB of memory per node, 8 MiB on the 4 nodes" in reading.advice[1]
    saved = re.search(r"Predicted for .*: (\d+) % of the run time saved", reading.advice[1])
    assert saved is not None
    assert 0 < int(saved[1]) < 75  # the node of main serves all four nodes


def test_data_that_all_threads_write(describe: Callable[..., Described]) -> None:
    _, finding, reading = describe(patterns.bucket_sort(1024, 64), "key_buff")
    assert finding is not None
    assert finding.kind is Kind.SHARED_WRITTEN
    assert "Interleave" in reading.advice[0]
    assert "contiguous part" in reading.advice[1]
    assert "Predicted for key_buff: at most " in reading.advice[1]


def test_a_stack_is_its_threads_own(describe: Callable[..., Described]) -> None:
    _, finding, reading = describe(patterns.naive_matmul(256, 4), "Stack#2")
    assert finding is None
    assert reading.see[0].startswith("Only thread 2 uses it")


def test_data_of_one_thread_that_another_initialised(describe: Callable[..., Described]) -> None:
    pattern = Pattern("p", 20)
    s = pattern.structure("inbox", 64)
    pattern.access(s, np.arange(64), np.array(17), 100, 0)
    pattern.touch(s, np.arange(64), 0)
    _, finding, reading = describe(pattern, "inbox")
    assert finding is not None
    assert finding.kind is Kind.REMOTE_FIRST_TOUCH
    assert reading.advice[0].startswith("Initialise it in thread 17, which uses it")
    assert finding.nearer == 6400
    # The nodes of the machine are known here, but not the speed of its memory.
    assert finding.gain is not None
    assert finding.gain.share > 0


def checked_matmul(threads: int) -> Pattern:
    """C of the naive version: all threads write each page; one also initialises and checks."""
    pattern = Pattern("matmul", threads + 1)
    page, thread = np.arange(64)[None, :], np.arange(threads + 1)[:, None]
    c = pattern.structure("C", 64)
    pattern.access(
        c, page, thread, (thread == 0) * 512, np.where(thread == 0, 4096, 512 // threads)
    )
    pattern.touch(c, page, 0)
    return pattern


def test_data_that_one_thread_initialises_and_checks(describe: Callable[..., Described]) -> None:
    run, finding, reading = describe(on_one_node(checked_matmul(32)), "C")
    assert run.facts[0].busiest_share == 0.9
    assert reading.see[0].startswith("33 threads use it, but thread 0 makes 90 % of the accesses")
    # Only the other threads work: each of them writes its own elements on all pages.
    assert finding is not None
    assert finding.kind is Kind.PAGE_FALSE_SHARING
    assert finding.threads == tuple(range(1, 33))


def test_what_a_thread_only_checks_stays_the_others(describe: Callable[..., Described]) -> None:
    pattern = Pattern("p", 33)
    s = pattern.structure("A", 320)
    pattern.access(s, np.arange(320), np.array(0), 4000, 0)
    for thread in range(32):
        own = np.arange(10 * thread, 10 * thread + 10)
        pattern.access(s, own, np.array(thread + 1), 500, 500)
        pattern.touch(s, own, thread + 1)
    pattern.placed_by_first_touch = True
    _, finding, reading = describe(pattern, "A")
    assert finding is not None
    assert finding.kind is Kind.PARTITIONED
    assert reading.see[0].endswith("others make 20 %, each mainly on its own pages.")


@pytest.mark.parametrize(
    "owned",
    [
        {"module": "/usr/lib/libgomp.so.1.0.0"},
        {"module": "/usr/lib/libmpi.so.40"},
        {"module": "/lib/ld-linux-x86-64.so.2"},
        {"name": "OpenMP runtime", "module": ""},
        {"name": "[vdso]", "kind": "mapping", "module": ""},
        {"name": "liblzma.so.5.4.1 (code and unnamed data)", "kind": "mapping"},
        {"name": "variables under a page of libz.so.1", "kind": "global", "module": "/l/libz.so.1"},
    ],
)
def test_memory_of_libraries_gets_no_advice_for_the_source(
    describe: Callable[..., Described], owned: dict[str, str]
) -> None:
    pattern = patterns.seismic(64, 8)
    pattern.structures[0].update(owned)
    _, finding, reading = describe(pattern, owned.get("name", "grid->vx"))
    assert finding is None
    assert reading.advice == (
        "A library allocated this memory for itself. The program's source cannot change it.",
    )


def test_a_stack_gets_advice_only_when_others_use_it_most() -> None:
    pattern = Pattern("seismic", 64)
    page = np.arange(6400)
    shared = pattern.structure("Stack#0", 6400, kind="stack")
    pattern.access(shared, page, page // 100, 30_000, 10_000)
    pattern.touch(shared, page, 0)
    patterns.stacks(pattern)
    run = examine(trace_of(pattern))
    found = findings_of(run)
    assert [finding.kind for finding in found if finding.structure == shared] == [Kind.SHARED_STACK]
    assert "firstprivate" in reading_of(run, shared, found).advice[0]
    own = 1 + 3  # the stack of thread 3
    assert own not in {finding.structure for finding in found}
    assert reading_of(run, own, found).advice[0].startswith("A thread's stack ")


def test_what_went_to_other_nodes_is_said(describe: Callable[..., Described]) -> None:
    pattern = patterns.seismic(64, 64)
    _, _, reading = describe(pattern, "grid->vx")
    # All pages are on node 0, where 16 of the 64 threads run.
    assert any(sentence.startswith("In this run, 7") for sentence in reading.see)


def test_the_line_that_makes_most_accesses_is_named(describe: Callable[..., Described]) -> None:
    pattern = patterns.seismic(64, 4)
    pattern.used_at(0, "update", 41, 60, 30)
    pattern.used_at(0, "absorb", 90, 10, 0)
    _, _, reading = describe(pattern, "grid->vx")
    assert "90 % of its accesses come from update (seismic.c:41)." in reading.see


def test_a_structure_nobody_used(describe: Callable[..., Described]) -> None:
    _, finding, reading = describe(patterns.sparse(), "unused")
    assert finding is None
    assert reading.see


def test_small_shares_are_not_worth_advice(describe: Callable[..., Described]) -> None:
    pattern = patterns.naive_matmul(256, 4)
    s = pattern.structure("seed", 1)
    pattern.access(s, np.array(0), np.arange(4), 10, 10)
    pattern.touch(s, np.array([0]), 0)
    _, finding, reading = describe(pattern, "seed")
    assert finding is None
    assert "check other structures first" in reading.advice[0]


class Counted(Pattern):
    """A pattern with counted lines from memory: one line for this number of accesses."""

    accesses_per_line = 1

    def tables(self) -> dict[str, pl.DataFrame]:
        tables = super().tables()
        count = pl.col("reads") + pl.col("writes")
        lines = (count // self.accesses_per_line).cast(pl.UInt64)
        tables["accesses"] = tables["accesses"].with_columns(
            memory_lines=lines, written_lines=pl.lit(0, pl.UInt64)
        )
        return tables


@pytest.mark.parametrize(
    ("accesses_per_line", "kind"), [(8, Kind.SHARED_READ_MOSTLY), (4000, Kind.CACHE_RESIDENT)]
)
def test_counted_lines_say_what_is_cache_resident(
    describe: Callable[..., Described], accesses_per_line: int, kind: Kind
) -> None:
    pattern = Counted("p", 9)
    pattern.accesses_per_line = accesses_per_line
    s = pattern.structure("table", 8)
    pattern.access(s, np.arange(8)[None, :], np.arange(1, 9)[:, None], 100_000, 0)
    pattern.touch(s, np.arange(8), 0)
    _, finding, _ = describe(on_one_node(pattern), "table")
    assert finding is not None
    assert finding.kind is kind


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.9999, "> 99.9 %"), (0.997, "> 99 %"), (0.5, "50 %"),
     (0.004, "0.4 %"), (0.00001, "< 0.01 %")],
)  # fmt: skip
def test_shares_are_never_rounded_to_all_or_nothing(share: float, text: str) -> None:
    assert percent(share) == text
    assert percent(share) == text[0].upper() + text[1:]


def test_counts_have_units() -> None:
    assert counted(1, "access") == "1 access"
    assert counted(12_300, "access") == "12\u202f300 accesses"
    assert counted(4_100_000_000, "access") == "4.1 billion accesses"
