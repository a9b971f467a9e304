# SPDX-License-Identifier: Apache-2.0
"""The advice names code that the reader can change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

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
        whole=SimpleNamespace(first_toucher_share=1.0, place=("", "", 0)),
        run=SimpleNamespace(openmp=True, sources=SimpleNamespace(text=lambda _: "")),
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
