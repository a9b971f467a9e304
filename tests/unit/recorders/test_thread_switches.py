# SPDX-License-Identifier: Apache-2.0
"""Threads that wait and wake up all the time are distinguished from threads that compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from numascape.recorders.thread_switches import switches_often

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("threads", "often"),
    [
        ([f"{3 * SECOND} 17 900\n"], False),  # in turn with another program
        ([f"{SECOND} 17 16000\n"], True),  # a server
        ([f"{SECOND} 17 16000\n", f"{SECOND} 0 100\n"], False),
        (["0 0 0\n"], False),
        (["not known\n"], False),
        ([], False),
    ],
)
def test_switches_of_all_threads_count_per_cpu_time(
    tmp_path: Path, threads: list[str], often: bool
) -> None:
    for number, text in enumerate(threads):
        task = tmp_path / f"proc/7/task/{number}"
        task.mkdir(parents=True)
        (task / "schedstat").write_text(text)
    assert switches_often(7, tmp_path) is often
