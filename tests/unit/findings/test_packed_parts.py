# SPDX-License-Identifier: Apache-2.0
"""Separate data of several threads in one cache line, as samples saw it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from numascape.findings import Kind, findings_of
from numascape.findings.finding import LINES_TRAVEL
from synthetic.pattern import Pattern
from unit.findings.run_cases import run_of
from unit.findings.seen_line_cases import false_sharing_is_found, packed


def test_the_finding_says_what_each_thread_uses_and_how_to_pad_it() -> None:
    (finding,) = (
        f for f in findings_of(run_of(packed(90_000))) if f.kind is Kind.LINE_FALSE_SHARING
    )
    assert finding.name == "counts"
    assert finding.threads == (0, 1, 2, 3)
    assert "4 threads write the same cache lines. Each of them writes its own 8" in finding.why
    assert finding.evidence[0].value == 4 * 90_000
    assert finding.advice[0].startswith("Pad each thread's element from 8 to 64 bytes")


@pytest.mark.parametrize(
    ("writers", "shared", "found"), [(4, False, True), (4, True, False), (0, False, False)]
)
def test_only_separate_bytes_that_several_threads_write_are_false_sharing(
    writers: int, shared: bool, found: bool
) -> None:
    assert false_sharing_is_found(packed(90_000, writers=writers, shared=shared)) is found


def test_a_thread_that_only_reads_beside_what_another_one_writes_shares_the_line() -> None:
    pattern = packed(90_000, writers=1)
    pattern.seen_lines = [row for row in pattern.seen_lines if row[4] < 2]
    (finding,) = (f for f in findings_of(run_of(pattern)) if f.kind is Kind.LINE_FALSE_SHARING)
    assert finding.threads == (0, 1)
    assert "the same cache lines. Each of them uses its own 8 bytes of 64. Not all" in finding.why
    assert "Not all of them write: only thread 0. They share no" in finding.why


def test_threads_that_only_read_do_not_disturb_each_other() -> None:
    # Threads 2 and 3 read what thread 1 writes, and use no byte in common.
    pattern = packed(90_000, writers=1)
    masks = {0: 0xFFFF, 1: 0xFF, 2: 0xFF00}
    pattern.seen_lines = []
    for number, mask in masks.items():
        pattern.see(0, 0, number, 1, line=0, bytes_=mask, times=90, writing=90 * (number == 0))
    assert not false_sharing_is_found(pattern)


def test_who_only_sets_and_collects_the_values_does_not_share_them() -> None:
    pattern = packed(90_000)
    pattern.threads = 5
    pattern.see(0, 0, 4, 1, line=0, bytes_=0xFFFFFFFF, times=40)
    assert false_sharing_is_found(pattern)


def test_threads_that_live_one_after_the_other_do_not_disturb_each_other() -> None:
    run = run_of(packed(90_000))
    assert Kind.LINE_FALSE_SHARING in {finding.kind for finding in findings_of(run)}
    lives = run.trace.threads
    start = lives["thread"].cast(int) * 1000
    run.trace.__dict__["threads"] = lives.with_columns(created_ns=start, ended_ns=start + 500)
    assert Kind.LINE_FALSE_SHARING not in {finding.kind for finding in findings_of(run)}


@pytest.mark.parametrize(("cpus", "found"), [(3, True), (4, False)])
def test_lines_that_were_counted_decide_if_each_thread_had_a_cpu(cpus: int, found: bool) -> None:
    pattern = packed(90_000)
    pattern.take_lines(0, 0, (0, 1), (10, 5, 0))
    info = pattern.info()
    info["host"]["cpus"] = cpus
    pattern.info = lambda: info  # type: ignore[method-assign]
    assert false_sharing_is_found(pattern) is found


def test_bytes_that_several_threads_write_are_true_sharing() -> None:
    pattern = packed(90_000, shared=True)
    (finding,) = (f for f in findings_of(run_of(pattern)) if f.kind in LINES_TRAVEL)
    assert (finding.kind, finding.name) == (Kind.LINE_TRUE_SHARING, "counts")
    assert finding.threads == (0, 1, 2, 3)
    assert "4 threads write the same bytes of cache lines, as those of a counter" in finding.why
    assert finding.nearer == finding.evidence[0].value == 4 * 90_000
    assert finding.advice[0].startswith("Let each thread work on a copy of its own")
    assert finding.advice[-1].startswith("Put data that threads only read, such as pointers")


@pytest.mark.parametrize(("share", "found"), [(0.1, True), (0.06, True), (0.04, False)])
def test_a_counter_is_shared_although_its_structure_has_other_data(
    share: float, found: bool
) -> None:
    """Each thread makes this share of its accesses to the structure to the counter."""
    travelling = [
        finding.kind
        for finding in findings_of(run_of(packed(90_000, share, shared=True)))
        if finding.kind in LINES_TRAVEL
    ]
    assert travelling == [Kind.LINE_TRUE_SHARING] * found
    # Samples may not show all bytes that threads use elsewhere in the line.
    assert not false_sharing_is_found(packed(90_000, share))


@pytest.mark.parametrize(("file", "found"), [("a.py", True), ("descriptor.c", False)])
def test_objects_of_libraries_of_python_cannot_be_copied_for_each_thread(
    file: str, found: bool
) -> None:
    pattern = packed(90_000, shared=True)
    pattern.structures[0]["file"] = file
    pattern.structures[1]["file"] = "a.py"
    pattern.structures[0]["size"] = 256
    kinds = {finding.kind for finding in findings_of(run_of(pattern))}
    assert (Kind.LINE_TRUE_SHARING in kinds) is found
    # They are no reason to doubt that the run has no problem, either.
    assert (Kind.NO_PROBLEM in kinds) is not found


@pytest.mark.parametrize("known", [True, False])
def test_without_known_lines_nobody_says_that_there_is_no_problem(known: bool) -> None:
    """Four threads write the same bytes of a line of a stack.

    They are not known in a program that numascape-cc compiled.
    """
    pattern = packed(90_000, shared=True)
    if not known:
        pattern.seen_lines = []
    else:
        pattern.structures[0].update(name="Stack#0", kind="stack")
    pattern.structures[0]["size"] = 256
    (found,) = (f for f in findings_of(run_of(pattern)) if f.structure is None)
    assert found.kind is Kind.NO_SINGLE_CAUSE
    assert ("several threads write the same bytes of Stack#0" in found.why) is known
    assert ("several threads write counts, so lines travel" in found.why) is not known
    assert ("pad them to 64 bytes" in found.advice[0]) is not known


def table(*, writers: int = 4, lines: int = 16, apart: bool = False) -> Pattern:
    """Threads use one page, as a histogram, beside memory of their own.

    Samples saw each thread in `lines` lines of it: the same ones, or others for each thread. They
    make 4,000,000 of the run's 7,600,000 accesses there.
    """
    pattern = Pattern("table", 4)
    s = pattern.structure("hist", 1, size=4096)
    thread = np.arange(4)
    written = np.where(thread < writers, 500_000, 0)
    pattern.access(s, np.array([0]), thread, 1_000_000 - written, written)
    pattern.touch(s, np.array([0]), 0)
    rest = pattern.structure("rest", 64)
    pattern.access(rest, np.arange(64), np.arange(64) // 16, 56_250, 0)
    pattern.touch(rest, np.arange(64), np.arange(64) // 16)
    for number in range(4):
        mask = ((1 << lines) - 1) << (lines * number if apart else 0)
        pattern.see(s, 0, number, mask, times=900_000, writing=450_000 * (number < writers))
    return pattern


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ({}, Kind.LINE_TRUE_SHARING),
        ({"apart": True}, Kind.CACHE_RESIDENT),
        ({"writers": 1}, Kind.PRODUCER_CONSUMER),
        ({"lines": 5}, Kind.CACHE_RESIDENT),  # samples would show two threads in 2.3 common lines
    ],
)
def test_a_small_table_that_all_threads_write_is_no_state_that_needs_no_action(
    known: dict[str, Any], found: Kind
) -> None:
    (finding,) = (f for f in findings_of(run_of(table(**known))) if f.name == "hist")
    assert finding.kind is found


def test_what_samples_do_not_show_of_a_small_table_is_said() -> None:
    pattern = table()
    (finding,) = (f for f in findings_of(run_of(pattern)) if f.name == "hist")
    assert "4 threads write all cache lines of it. Either they write any entry" in finding.why
    assert finding.evidence[0].value == 4_000_000
    for line in range(16):
        for number in range(4):
            pattern.see(0, 0, number, 1 << line, line=line, bytes_=0xFF, times=9, writing=9)
    (finding,) = (f for f in findings_of(run_of(pattern)) if f.name == "hist")
    assert "4 threads write any entry of it, as those of a histogram or an array" in finding.why
    assert "Pad each entry to 64 bytes" in finding.advice[1]


@pytest.mark.parametrize(
    ("users", "bytes_", "ends"),
    [(2, 0xFFFF, True), (2, 0xFF, False), (2, 0xFF0F, True), (3, 0xFFFF, False)],
)
def test_two_ends_of_a_queue_get_lines_of_their_own(users: int, bytes_: int, ends: bool) -> None:
    pattern = packed(90_000)
    pattern.seen_lines = []
    for number in range(users):
        pattern.see(0, 0, number, 1, line=0, bytes_=bytes_, times=90_000, writing=45_000)
    (finding,) = (f for f in findings_of(run_of(pattern)) if f.kind is Kind.LINE_TRUE_SHARING)
    assert finding.advice[0].startswith("Put data that different threads write") is ends
