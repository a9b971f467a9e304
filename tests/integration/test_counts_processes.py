# SPDX-License-Identifier: Apache-2.0
"""Counts survive forks, execs, signals and every way for a process to end."""

import json
import signal
from typing import Any

import pytest

WORDS = 1024


def test_fork_gives_the_child_its_own_counts(record: Any) -> None:
    recording = record("processes", "fork")
    assert recording.status == 0
    assert recording.total("data", process=0) == (0, 2 * WORDS)
    assert recording.total("data", process=1) == (2 * WORDS, 0)


def test_nested_forks_count_apart(record: Any) -> None:
    recording = record("processes", "forks")
    assert len(recording.trace.info.processes) == 6
    for k in range(6):
        assert recording.total("data", process=k) == (0, k * WORDS), k


def test_memory_that_a_child_only_reads_is_that_of_its_ancestor(record: Any) -> None:
    """The kernel copies a page only when it is written."""
    recording = record("processes", "inherit")
    assert recording.status == 0
    trace = recording.trace
    owners = {name: trace.structures.filter(name=name) for name in ("data", "more")}
    assert owners["data"].select("process", "shared").rows() == [(0, False)]
    written, read = (dict.fromkeys(range(2), counts) for counts in ((0, 512), (512, 0)))
    assert recording.pages_by_thread("data") == {0: written, 1: read, 2: read}
    touched = trace.first_touch.join(owners["data"].select("structure"), on="structure")
    assert touched.select("page", "thread").rows() == [(0, 0), (1, 0)]
    # The child wrote a word of it, and may have read its own copy. The grandchild wrote nothing.
    assert owners["more"]["process"].to_list() == [0, 1]
    assert recording.total("more", process=1) == (WORDS, 1)
    assert recording.total("more") == (2 * WORDS, WORDS + 1)


@pytest.mark.parametrize("mode", ["exec", "reexec", "spawn"])
def test_program_after_exec_is_recorded(record: Any, mode: str) -> None:
    recording = record("processes", mode)
    assert recording.status == 0
    assert recording.total("data") == (WORDS, WORDS)
    assert recording.total("data", process=0) == (0, WORDS)


@pytest.mark.parametrize(
    ("mode", "status"),
    [
        ("return", 3),
        ("exit", 4),
        ("_exit", 6),
        ("thread_exit", 5),
        ("main_thread_ends", 0),
        ("abort", signal.SIGABRT),
        ("crash", signal.SIGSEGV),
        ("kill", signal.SIGKILL),
    ],
)
def test_nothing_is_lost_at_the_end(record: Any, mode: str, status: int) -> None:
    recording = record("endings", mode)
    if isinstance(status, signal.Signals):
        assert recording.status in (-status, 128 + status)
    else:
        assert recording.status == status
    rounds = 2 if mode == "main_thread_ends" else 1
    assert recording.pages_by_thread("data") == dict.fromkeys(
        [0], dict.fromkeys(range(2), (0, WORDS // 2))
    )
    assert recording.pages_by_thread("thread_data") == dict.fromkeys(
        [1], dict.fromkeys(range(2), (0, rounds * WORDS // 2))
    )


def test_signal_handlers_count(record: Any) -> None:
    recording = record("signals")
    printed = json.loads(recording.output)
    words = printed["words"]
    assert recording.total("by_raise") == (0, 10 * words)
    assert recording.total("by_thread") == (0, 10 * words)
    assert recording.total("after_fault") == (0, 5 * words)
    assert recording.total("by_timer") == (0, printed["timer_signals"])
    assert recording.total("interrupted") == (printed["rounds"] * words, 0)


def test_the_first_use_of_a_mask_register_loses_no_vector(record: Any) -> None:
    assert record("first_mask").status == 0
