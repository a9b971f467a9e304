# SPDX-License-Identifier: Apache-2.0
"""Only hinting faults of the kernel's NUMA balancing are samples of accesses."""

import polars as pl
import pytest

from numascape.analysis.run_description import describe_run
from numascape.trace.counting import structure_error
from vm.conftest import GuestRun

# As tests/vm/programs/balanced.c has them; thread 0 is main.
PART_ENDS = [0, 64, 96, 112, 128]
OWNERS = {
    page: thread
    for thread in range(1, 5)
    for page in range(PART_ENDS[thread - 1], PART_ENDS[thread])
}
BOUND = ("bound_copied", "bound_read_first", "bound_mapped")


def shares(run: GuestRun, structure: str) -> tuple[dict[int, float], float]:
    """The threads' shares of the samples of a structure, and their error."""
    rows = run.rows("accesses", structure)
    total = int(rows["reads"].sum())
    by_thread = dict.fromkeys(range(1, 5), 0)
    for thread, reads in rows.select("thread", "reads").iter_rows():
        by_thread[thread] += reads
    error = structure_error(run.trace, int(rows["structure"][0]))
    return {thread: reads / total for thread, reads in by_thread.items()}, error


def test_the_trace_says_that_it_is_sampled(balanced_run: GuestRun) -> None:
    trace = balanced_run.trace
    assert trace.info.recorder.name == "faults"
    assert trace.info.recorder.counts == "samples"
    assert 0 < trace.info.recorder.moments <= trace.info.totals.reads
    assert "samples of accesses" in describe_run(trace)[2]
    assert "hinting faults" in trace.info.unseen[0]
    assert not any("looked like" in sentence for sentence in trace.info.unseen)


def test_each_part_is_sampled_by_its_thread(balanced_run: GuestRun) -> None:
    rows = balanced_run.rows("accesses", "parts")
    found = set(rows.select("page", "thread").iter_rows())
    assert found
    assert found <= set(OWNERS.items())
    assert rows["writes"].sum() == 0


@pytest.mark.parametrize(
    ("structure", "expected"),
    [("parts", {1: 1 / 2, 2: 1 / 4, 3: 1 / 8, 4: 1 / 8}), ("turns", {1: 3 / 4, 2: 1 / 4})],
)
def test_shares_are_the_programs_within_their_error(
    balanced_run: GuestRun, structure: str, expected: dict[int, float]
) -> None:
    found, error = shares(balanced_run, structure)
    for thread, share in found.items():
        assert share == pytest.approx(expected.get(thread, 0.0), abs=error), thread
        assert share == 0 or thread in expected


def test_samples_are_at_the_line_that_accessed(balanced_run: GuestRun) -> None:
    parts = balanced_run.trace.structures.filter(pl.col("name") == "parts").select("structure")
    lines = balanced_run.trace.source_lines.join(parts, on="structure")
    assert set(lines["function"]) == {"write_words"}


def test_a_sample_is_no_first_touch(balanced_run: GuestRun) -> None:
    assert balanced_run.first_threads("parts") == OWNERS
    assert balanced_run.first_threads("turns") == dict.fromkeys(range(64), 0)
    assert balanced_run.first_threads("once") == dict.fromkeys(range(64), 0)
    # One fault allocates a whole huge page; if none is available, each page has its own fault.
    huge = balanced_run.first_threads("two")
    assert len(huge) in (1, 512)
    assert set(huge.values()) - {2} == {0}


def test_other_faults_of_pages_in_memory_are_no_samples(balanced_run: GuestRun) -> None:
    named = set(balanced_run.trace.structures["name"])
    assert named >= set(BOUND)
    for structure in BOUND:
        assert balanced_run.rows("accesses", structure).is_empty(), structure
    assert balanced_run.first_threads("bound_read_first") == dict.fromkeys(range(64), 1)


def test_without_balancing_there_are_none(unbalanced_run: GuestRun) -> None:
    trace = unbalanced_run.trace
    assert trace.info.recorder.counts == "first touches"
    assert trace.accesses.is_empty()
    assert not any("hinting" in sentence for sentence in trace.info.unseen)
    assert unbalanced_run.first_threads("parts") == OWNERS
