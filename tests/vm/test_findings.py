# SPDX-License-Identifier: Apache-2.0
"""Findings that need a machine with several nodes, on runs that differ only in placement."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from numascape.findings import Finding, Kind, find
from vm.conftest import converted

ABOUT_NODES = {Kind.ONE_NODE_SERVES_ALL, Kind.MIGRATED_THREADS, Kind.DISPLACED_PAGES}


@cache
def findings(folder: Path, how: str) -> list[Finding]:
    return find(converted(folder, how))


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("still", set()),
        ("full", {Kind.DISPLACED_PAGES}),
        ("bound", {Kind.DISPLACED_PAGES, Kind.ONE_NODE_SERVES_ALL}),
    ],
)
def test_what_is_wrong_with_the_nodes_is_found(
    guest_folder: Path, how: str, expected: set[Kind]
) -> None:
    found = {finding.kind for finding in findings(guest_folder, how)}
    assert found & ABOUT_NODES == expected


def test_threads_that_moved_are_found(guest_folder: Path) -> None:
    # With an emulated processor, the recorder may have no time to see both places of a thread.
    found = {f.kind: f for f in findings(guest_folder, "moved") if f.kind in ABOUT_NODES}
    assert found
    if Kind.MIGRATED_THREADS not in found:
        assert "the thread moved after it" in found[Kind.DISPLACED_PAGES].why


def test_a_full_node_is_told_from_a_policy(guest_folder: Path) -> None:
    causes = {}
    for how in ("full", "bound"):
        (displaced,) = (f for f in findings(guest_folder, how) if f.kind is Kind.DISPLACED_PAGES)
        assert displaced.name == "A"
        causes[how] = displaced.why
    assert "memory was full" in causes["full"]
    assert "most are on node 1" in causes["bound"]
