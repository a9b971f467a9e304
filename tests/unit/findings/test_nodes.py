# SPDX-License-Identifier: Apache-2.0
"""Findings that need several nodes (full nodes, one busy node, migrated threads), and gains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from numascape.findings import Finding, Kind, examine, find
from numascape.findings.nodes import Nodes
from numascape.machine import open_machine
from synthetic.in_memory import trace_of
from synthetic.placed import Placed

Find = Callable[["Placed"], list[Finding]]
THREADS = 64
PAGES = 1280


def parts(*, serial: bool = False) -> Placed:
    """Each of 64 threads, 16 on each of 4 nodes, works on 20 pages of its own."""
    pattern = Placed("parts", THREADS)
    page = np.arange(PAGES)
    owner = page * THREADS // PAGES
    s = pattern.structure("A", PAGES)
    pattern.access(s, page, owner, 4000, 4000)
    pattern.touch(s, page, 0 if serial else owner)
    pattern.placed_by_first_touch = True
    return pattern


def shared() -> Placed:
    """All threads read all pages, which the first one initialised."""
    pattern = Placed("shared", THREADS)
    page = np.arange(PAGES)
    s = pattern.structure("A", PAGES)
    pattern.access(s, page[None, :], np.arange(THREADS)[:, None], 500, 0)
    pattern.touch(s, page, 0)
    pattern.placed_by_first_touch = True
    return pattern


@pytest.fixture
def found() -> Find:
    return lambda pattern: find(trace_of(pattern))


def kinds(findings: list[Finding]) -> set[Kind]:
    return {finding.kind for finding in findings}


def test_pages_of_their_users_are_well_placed(found: Find) -> None:
    assert kinds(found(parts())) == {Kind.PARTITIONED, Kind.NO_PROBLEM}


def test_pages_on_one_node_are_piled(found: Find) -> None:
    findings = found(shared())
    assert kinds(findings) == {Kind.ONE_NODE_SERVES_ALL, Kind.SHARED_READ_MOSTLY}
    piled = next(finding for finding in findings if finding.kind is Kind.ONE_NODE_SERVES_ALL)
    assert piled.evidence[0].value == 1
    assert piled.threads == tuple(range(16, THREADS))
    assert piled.nearer == PAGES * 48 * 500
    assert piled.gain is not None
    assert piled.gain.low <= piled.gain.share <= piled.gain.high
    assert piled.gain.share > 0.3


def test_what_is_interleaved_on_purpose_is_no_finding(found: Find) -> None:
    pattern = shared()
    pattern.node_of_page = np.arange(PAGES) % 4
    (finding,) = found(pattern)
    assert finding.kind is Kind.NO_SINGLE_CAUSE
    assert "75 % of the accesses go to a node where their thread does not run, mostly of A" in (
        finding.why
    )


def test_why_there_is_no_problem(found: Find) -> None:
    alone = Placed("alone", 1)
    structure = alone.structure("A", PAGES)
    alone.access(structure, np.arange(PAGES), 0, 4000, 4000)
    alone.touch(structure, np.arange(PAGES), 0)
    whys = {
        "One thread makes all accesses": alone,
        "100 % of the accesses stay on the node of their thread": parts(),
    }
    for why, pattern in whys.items():
        (finding,) = (f for f in found(pattern) if f.kind is Kind.NO_PROBLEM)
        assert why in finding.why


def test_many_small_structures_of_other_threads_are_no_single_cause(found: Find) -> None:
    """Each has less than 1/400 of the accesses; together they matter."""
    pattern = Placed("many", 4)
    page = np.arange(4)
    for number in range(450):
        s = pattern.structure(f"s{number}", 4)
        pattern.access(s, page, 1 + number % 3, 4000, 4000)
        pattern.touch(s, page, 0)
    info = pattern.info()
    info["machine"]["nodes"] = info["machine"]["nodes"][:1]
    pattern.info = lambda: info  # type: ignore[method-assign]
    (finding,) = found(pattern)
    assert finding.kind is Kind.NO_SINGLE_CAUSE
    assert finding.why.startswith(
        "No single structure has a NUMA problem. But 100 % of the accesses go to pages that "
        "another thread touched first"
    )


def test_parts_that_are_interleaved_are_not_near(found: Find) -> None:
    pattern = parts()
    pattern.node_of_page = np.arange(PAGES) % 4
    findings = found(pattern)
    assert kinds(findings) == {Kind.DISPLACED_PAGES}
    assert "a memory policy spreads them" in findings[0].why
    assert findings[0].evidence[0].value == 0.75


def test_a_node_that_was_full_is_told(found: Find) -> None:
    pattern = parts()
    page = np.arange(PAGES)
    # The last half of each node's pages went to the next node.
    own = page * 4 // PAGES
    late = page % (PAGES // 4) >= PAGES // 8
    pattern.node_of_page = np.where(late, (own + 1) % 4, own)
    findings = found(pattern)
    assert Kind.DISPLACED_PAGES in kinds(findings)
    full = next(finding for finding in findings if finding.kind is Kind.DISPLACED_PAGES)
    assert "memory was full" in full.why
    assert "host sweep" in full.advice[0]


def test_threads_that_moved_after_touching_are_told(found: Find) -> None:
    pattern = parts()
    pattern.node_of_page = (np.arange(PAGES) * 4 // PAGES + 1) % 4
    findings = found(pattern)
    assert kinds(findings) == {Kind.DISPLACED_PAGES}
    assert "the thread moved after it touched them" in findings[0].why
    assert "Pin the threads" in findings[0].advice[0]


def test_pages_bound_to_one_node_are_told(found: Find) -> None:
    pattern = parts()
    pattern.node_of_page = np.full(PAGES, 2)
    findings = found(pattern)
    assert kinds(findings) == {Kind.DISPLACED_PAGES, Kind.ONE_NODE_SERVES_ALL}
    bound = next(finding for finding in findings if finding.kind is Kind.DISPLACED_PAGES)
    assert "most are on node 2" in bound.why


def test_pages_that_were_moved_to_their_users_are_no_finding(found: Find) -> None:
    pattern = parts(serial=True)
    pattern.node_of_page = np.arange(PAGES) * 4 // PAGES
    assert kinds(found(pattern)) == {Kind.NO_PROBLEM}


def test_threads_that_changed_nodes_are_told(found: Find) -> None:
    pattern = parts()
    pattern.nodes_of_threads = [[t // 16] if t % 4 else [0, t // 16] for t in range(THREADS)]
    findings = found(pattern)
    assert Kind.MIGRATED_THREADS in kinds(findings)
    moved = next(finding for finding in findings if finding.kind is Kind.MIGRATED_THREADS)
    assert moved.threads == tuple(range(16, THREADS, 4))
    assert moved.evidence[0].value == 12


def test_gains_are_predicted_for_the_machine_given() -> None:
    trace = trace_of(parts(serial=True))
    machine = open_machine("numa16")
    findings = find(trace, machine)
    assert findings[0].kind in (Kind.SERIAL_FIRST_TOUCH, Kind.ONE_NODE_SERVES_ALL)
    serial = next(f for f in findings if f.kind is Kind.SERIAL_FIRST_TOUCH)
    assert serial.gain is not None
    assert serial.gain.machine == machine.name
    assert serial.gain.share > 0.3
    # The share that a finding concerns does not depend on the machine: all work except thread 0's.
    assert serial.nearer == pytest.approx(PAGES * 8000 * (1 - 1 / THREADS))


def test_findings_are_ranked_by_gain() -> None:
    pattern = parts(serial=True)
    page = np.arange(PAGES // 8)
    small = pattern.structure("small", PAGES // 8)
    pattern.access(small, page, page * THREADS * 8 // PAGES, 4000, 4000)
    pattern.touch(small, page, 0)
    findings = find(trace_of(pattern), open_machine("numa16"))
    gains = [finding.gain.share for finding in findings if finding.gain]
    assert gains == sorted(gains, reverse=True)
    names = [f.name for f in findings if f.kind is Kind.SERIAL_FIRST_TOUCH]
    assert names == ["A", "small"]


def test_memory_of_a_gpu_that_no_page_is_on_makes_no_second_node() -> None:
    pattern = parts()
    pattern.nodes_of_threads = [[0]] * THREADS
    info = pattern.info()
    cpus = [list(range(THREADS)), [], [], []]
    for node, own in zip(info["machine"]["nodes"], cpus, strict=True):
        node["cpus"] = own
    pattern.info = lambda: info  # type: ignore[method-assign]
    tables = pattern.tables()
    where = {"on it": 0, "elsewhere": 1}
    found = {}
    for name, node in where.items():
        placed = tables["placement"].with_columns(node=pl.lit(node, pl.Int32))
        pattern.tables = lambda placed=placed: {**tables, "placement": placed}  # type: ignore
        found[name] = examine(trace_of(pattern)).nodes
    assert found["on it"] is None
    assert found["elsewhere"] is not None


def test_a_trace_that_names_nodes_its_machine_lacks_is_looked_at(found: Find) -> None:
    pattern = parts()
    pattern.node_of_page = np.full(PAGES, 77)
    pattern.nodes_of_threads = [[99]] * THREADS
    assert found(pattern)


def test_traffic_is_that_of_each_row_and_page() -> None:
    """Pages on one node, on two nodes and on none, against a join of the tables."""
    rng = np.random.default_rng(11)
    pages = [
        (structure, page, node, share)
        for structure in (3, 5)
        for page in range(40)
        for node, share in [[(0, 1.0)], [(0, 0.25), (2, 0.75)], []][int(rng.integers(3))]
    ]
    names = {"structure": pl.UInt32, "page": pl.UInt32, "node": pl.Int32, "share": pl.Float64}
    placed = pl.DataFrame(pages, names, orient="row").with_columns(instance=pl.lit(0, pl.UInt32))
    nodes = Nodes(open_machine("numa32"), True, np.array([0, 2, -1, 3]), placed)
    rows = pl.DataFrame(
        {
            "structure": rng.choice([3, 5], 500),
            "instance": np.zeros(500, int),
            "page": rng.integers(0, 45, 500),
            "thread": rng.integers(0, 4, 500),
            "reads": rng.integers(0, 9, 500),
            "writes": rng.integers(0, 9, 500),
        },
        schema_overrides=dict.fromkeys(["structure", "instance", "page", "thread"], pl.UInt32),
    )
    made = (pl.col("reads") + pl.col("writes")) * pl.col("share")
    keys = ["structure", "thread_node", "node"]
    expected = (
        rows.join(placed, on=["structure", "instance", "page"])
        .join(nodes.threads, on="thread")
        .group_by(keys)
        .agg(accesses=made.sum())
        .filter(pl.col("accesses") > 0)
        .sort(keys)
    )
    assert_frame_equal(nodes.traffic(rows).sort(keys), expected)
    assert nodes.traffic(rows.clear()).is_empty()
