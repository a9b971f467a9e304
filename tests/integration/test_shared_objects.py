# SPDX-License-Identifier: Apache-2.0
"""Memory that processes share is one structure (programs/shared_objects.c)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from integration.conftest import Recording

PAGES = range(4)
WRITTEN = dict.fromkeys(PAGES, (0, 512))
READ = dict.fromkeys(PAGES, (512, 0))
POSIX = f"/numascape-test-{os.getpid()}"


@pytest.fixture(scope="module")
def shared(record: Any) -> Recording:
    recording: Recording = record("shared_objects", POSIX)
    assert recording.status == 0
    assert len(recording.trace.info.processes) == 3
    assert not Path("/dev/shm", POSIX[1:]).exists()
    return recording


@pytest.mark.parametrize(
    ("name", "skipped"),
    [
        ("anonymous", 0),
        ("scratch", 0),
        ("system_v", 0),
        (POSIX[1:], 1),  # pages that the second child did not map
        ("memfd:unnamed (deleted)", 2),
    ],
    # The same in every process of pytest.
    ids=["anonymous", "scratch", "system_v", "posix", "memfd"],
)
def test_processes_share_one_structure(shared: Recording, name: str, skipped: int) -> None:
    structures = shared.trace.structures.filter(pl.col("name") == name)
    assert structures.select("process", "pages", "instances", "shared").rows() == [(0, 4, 1, True)]
    threads = shared.pages_by_thread(name)
    assert threads == {0: WRITTEN, 1: READ, 2: {page: READ[page] for page in PAGES[skipped:]}}
    touched = shared.trace.first_touch.join(structures.select("structure"), on="structure")
    assert touched.select("page", "thread").rows() == [(page, 0) for page in PAGES]


def test_memory_of_a_process_stays_its_own(shared: Recording) -> None:
    structures = shared.trace.structures.filter(pl.col("name") == "own")
    assert structures.select("process", "shared").rows() == [(0, False)]
    assert shared.pages_by_thread("own") == {0: WRITTEN}


def test_objects_are_in_the_trace(shared: Recording) -> None:
    trace = shared.trace
    known = trace.instances.filter(pl.col("object") != "")
    names = known.join(trace.structures.select("structure", "name"), on="structure")["name"]
    assert {"anonymous", "system_v", POSIX[1:]} <= set(names)
    assert known["object"].n_unique() == known.height
    (segment,) = known.filter(pl.col("object").str.ends_with(" System V"))["object_page"]
    assert segment == 0
