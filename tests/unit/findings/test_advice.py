# SPDX-License-Identifier: Apache-2.0
"""The advice names code that the reader can change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from numascape.findings.advice import initialise_in_parallel, interleave_pages
from numascape.findings.finding import Place


def subject(touched: Place, touched_as: str | None = None, instances: int = 1) -> Any:
    return SimpleNamespace(
        touched_at=touched,
        used_at=None,
        worked_in=Place("work", "/home/a/lulesh.cc", 1510),
        name="nodes",
        row={
            "kind": "heap",
            "function": "make",
            "file": "/home/a/lulesh.cc",
            "line": 2715,
            "size": 8192,
            "instances": instances,
        },
        touched_as=touched_as,
        initial_loop=None,
        whole=SimpleNamespace(first_toucher=0, first_toucher_share=1.0, place=("", "", 0)),
        run=SimpleNamespace(openmp=True, sources=SimpleNamespace(text=lambda _: "")),
        structure=0,
    )


@pytest.mark.parametrize(
    ("function", "file"),
    [
        ("std::__fill_a1<int*, int>", "/usr/include/c++/12/bits/stl_algobase.h"),
        ("std::_Construct<int>", "/usr/include/c++/12/bits/stl_construct.h"),
    ],
)
def test_a_librarys_loop_is_not_the_readers_to_change(function: str, file: str) -> None:
    advice = initialise_in_parallel(subject(Place(function, file, 922)))
    assert "#pragma" not in advice
    assert "allocated at lulesh.cc:2715" in advice
    assert "lulesh.cc:1510" in advice


def test_the_readers_own_loop_is() -> None:
    advice = initialise_in_parallel(subject(Place("fill", "/home/a/lulesh.cc", 485)))
    assert "#pragma omp parallel for schedule(static)" in advice
    assert "lulesh.cc:485" in advice


def test_threads_allocate_small_blocks_themselves() -> None:
    blocks = subject(Place("fill", "/home/a/lulesh.cc", 2714, loop=True))
    blocks.row["kind"] = "small"
    advice = initialise_in_parallel(blocks)
    assert "many small blocks, which thread 0 allocated at lulesh.cc:2715. Let each" in advice
    assert "#pragma" not in advice
    blocks.whole.first_toucher_share = 0.5
    assert "which other threads allocated at lulesh.cc:2715" in initialise_in_parallel(blocks)
    assert "mbind" not in interleave_pages(blocks)
    assert "put them into one array" in interleave_pages(blocks)


@pytest.mark.parametrize(
    ("function", "threads", "own"),
    [
        ("memset", [1, 2], True),
        ("__memcpy_avx_unaligned_erms", [1, 2], True),
        ("fill", [1, 2], False),  # an array on a stack
        ("memset", [1, 1], False),
    ],
)
def test_threads_cannot_initialise_their_thread_local_variables(
    function: str, threads: list[int], own: bool
) -> None:
    local = subject(Place("", "/home/a/ep.c", 51))
    local.row.update(kind="local", function="", file="/home/a/ep.c", line=51)
    local.whole.place = (function, "memset.S", 9)
    rows = [(0, instance, thread, 90, 9) for instance, thread in enumerate(threads)]
    rows += [(0, instance, 0, 0, 5) for instance in range(2)]
    names = ["structure", "instance", "thread", "reads", "writes"]
    rows = rows if own else [*rows[:2], (0, 0, 2, 99, 99), (0, 1, 2, 99, 99)]
    local.run.recorded = SimpleNamespace(accesses=pl.DataFrame(rows, names, orient="row"))
    advice = initialise_in_parallel(local)
    assert ("Make it a pointer, and let each thread allocate" in advice) is own


@pytest.mark.parametrize(
    ("instances", "when"),
    [(45, "before `dvdx` is freed, or once for the whole run"), (1, "before `dvdx` is freed")],
)
def test_memory_of_freed_blocks_is_placed_already(instances: int, when: str) -> None:
    reused = subject(Place("fill", "/src/a.c", 12, loop=True), "dvdx", instances)
    advice = initialise_in_parallel(reused)
    assert "the memory of `dvdx`, which was freed: its pages were touched first at a.c:12" in advice
    assert f"Allocate it {when} (now at lulesh.cc:2715), and initialise it in parallel" in advice
    assert "`mbind` comes too late" in interleave_pages(reused)
    by_library = subject(Place("make", "/home/a/lulesh.cc", 2715), "dvdx", instances)
    assert "were touched first, for `dvdx`. Allocate" in initialise_in_parallel(by_library)
