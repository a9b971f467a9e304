# SPDX-License-Identifier: Apache-2.0
"""The reasons for no NUMA problem, and the places of the accesses if there may be one."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from numascape.analysis.ownership import Owner
from numascape.findings import examine
from numascape.findings.diagnoses import no_problem, partitioned
from numascape.findings.diagnoses.no_problem import (
    _cached_share,
    _local_share,
    _runtime_share,
    _scattered,
    _where,
    private_share,
    why_none,
)
from numascape.findings.pattern import Pattern
from numascape.findings.thresholds import MIN_DOMINANT_SHARE
from synthetic.in_memory import trace_of
from synthetic.pattern import Pattern as Program


def facts(accesses: int, own: float, threads: int = 2) -> Any:
    return SimpleNamespace(accesses=accesses, own_share=own, threads=threads)


def run(*of_structures: Any, **known: Any) -> Any:
    """A run with these facts; its structures are called A, B, ..."""
    rows = range(len(of_structures))
    names = pl.DataFrame(
        {
            "structure": list(rows),
            "name": list("ABCDE"[: len(rows)]),
            "kind": ["heap"] * len(rows),
            "named": known.get("named"),
        }
    )
    return SimpleNamespace(
        facts=dict(enumerate(of_structures)),
        accesses=sum(one.accesses for one in of_structures),
        trace=SimpleNamespace(structures=names),
        **known,
    )


@pytest.mark.parametrize(
    ("threads", "local", "private", "cached", "said"),
    [
        (1, None, 0.0, 0.0, "One thread makes all"),
        (2, 0.91, 0.0, 0.0, "91 % of the accesses stay on the node of their thread"),
        (2, 0.9, 0.0, 0.0, "90 % of the accesses stay on the node of their thread"),
        (2, 0.89, 1.0, 1.0, ""),
        (2, None, 0.75, 0.0, "75 % of the accesses go to pages that the same thread"),
        (2, None, 0.5, 0.25, "small and stays in their caches"),
        (2, None, 0.76, 0.0, "76 % of the accesses go to pages that the same thread"),
        (2, None, 0.5, 0.26, "small and stays in their caches"),
        (2, None, 0.5, 0.24, ""),
    ],
)
def test_why_there_is_none(
    threads: int, local: float | None, private: float, cached: float, said: str
) -> None:
    found = why_none(threads, local, private, cached, 0.5)
    assert found.startswith(said) if threads < 2 or local or private > 0.5 else said in found
    assert bool(found) is bool(said)


@pytest.mark.parametrize(
    ("local", "private", "busiest", "serial"),
    [
        (None, 0.75, 0.951, True),
        (None, 0.75, 0.95, False),
        (None, 0.74, 0.951, False),
        (0.95, 0.75, 0.951, False),
    ],
)
def test_a_run_of_one_thread_says_so(
    local: float | None, private: float, busiest: float, serial: bool
) -> None:
    found = why_none(4, local, private, 0.0, busiest)
    assert found.startswith("One thread makes 95 % of the accesses, most of them") is serial


def test_shares_are_of_all_accesses() -> None:
    some = run(facts(60, 0.5), facts(40, 1.0), owners={0: Owner.RUNTIME, 1: Owner.PROGRAM})
    assert private_share(some) == 0.7
    assert _runtime_share(some) == 0.6
    nothing = run(owners={})
    assert (private_share(nothing), _runtime_share(nothing)) == (0.0, 0.0)


def test_shared_memory_in_caches_is_that_of_several_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(no_problem, "is_cache_resident", lambda subject: subject.resident)
    whole = [facts(40, 0.25), facts(30, 0.5), facts(30, 0.5, threads=1)]
    subjects = [
        SimpleNamespace(whole=one, resident=resident)
        for one, resident in zip(whole, (True, False, True), strict=True)
    ]
    assert _cached_share(run(*whole, subjects=subjects)) == 0.3


def test_structures_with_most_accesses_by_others_are_named() -> None:
    used = [facts(10, 0.0), facts(99, 1.0), facts(90, 0.5), facts(20, 0.0, 1), facts(30, 0.0)]
    assert _where(run(*used, named=[True] * 5)) == ", mostly of C, E, A"
    unnamed = _where(run(*used, named=[True, True, False, True, False]))
    assert unnamed == ", mostly of memory without a name, A"
    assert _where(run(facts(9, 1.0), named=[True])) == ""


def test_local_accesses_are_on_the_node_of_their_thread() -> None:
    table = pl.DataFrame({"thread_node": [0, 1, 1], "node": [0, 0, 1], "accesses": [3, 4, 1]})
    nodes = SimpleNamespace(observed=True, traffic=lambda _: table)
    assert _local_share(run(nodes=nodes, work=None)) == 0.5
    empty = SimpleNamespace(observed=True, traffic=lambda _: table.clear())
    assert _local_share(run(nodes=empty, work=None)) is None
    assert _local_share(run(nodes=None)) is None
    assert _local_share(run(nodes=SimpleNamespace(observed=False))) is None


@pytest.mark.parametrize(
    ("relative", "label", "fixes"),
    [(0.97, "interleave", 2), (0.97, "replicate", 2), (0.99, "interleave", 1)],
)
def test_a_policy_that_saves_enough_is_advised(relative: float, label: str, fixes: int) -> None:
    policy: Any = SimpleNamespace(relative=relative, label=label)
    why, advised = _scattered(run(facts(10, 0.25), named=[True]), 0.25, None, policy)
    assert "But 75 % of the accesses go to pages that another thread touched first" in why
    assert len(advised) == fixes
    if fixes == 2:
        assert advised[0].text.startswith("Run it" if label == "interleave" else "Make a copy")
        assert advised[0].text.endswith("predicted 3 % of the run time saved on the given machine.")
    remote, _ = _scattered(run(facts(10, 0.25), named=[True]), 0.25, 0.6, None)
    assert "But 40 % of the accesses go to a node where their thread does not run" in remote


@pytest.mark.parametrize(
    ("own", "remote", "found"),
    [
        (MIN_DOMINANT_SHARE, None, True),
        (MIN_DOMINANT_SHARE, 1 - MIN_DOMINANT_SHARE, True),
        (MIN_DOMINANT_SHARE, 1.01 - MIN_DOMINANT_SHARE, False),
        (MIN_DOMINANT_SHARE - 0.01, None, False),
        (MIN_DOMINANT_SHARE - 0.01, 1.0, False),
    ],
)
def test_partitioned_memory_is_used_by_its_first_toucher_and_local(
    monkeypatch: pytest.MonkeyPatch, own: float, remote: float | None, found: bool
) -> None:
    monkeypatch.setattr(partitioned, "who_touched", lambda _: "")
    monkeypatch.setattr(partitioned, "pin", lambda _: "")
    subject: Any = SimpleNamespace(
        pattern=Pattern.SPLIT,
        whole=SimpleNamespace(first_toucher=0),
        own_share=own,
        remote=remote,
        use=SimpleNamespace(dominance=1.0),
        run=None,
        structure=0,
        name="A",
        threads=(),
        used_at=None,
    )
    assert (partitioned.diagnose(subject) is not None) is found
    subject.whole.first_toucher = None
    assert partitioned.diagnose(subject) is None


@pytest.mark.parametrize(("sample", "private"), [(0.05, 1.0), (None, 0.25)])
def test_bursts_do_not_see_all_first_touches(sample: float | None, private: float) -> None:
    """The kernel filled three of four pages of a stack before the program ran."""
    pattern = Program("stack", 1)
    s = pattern.structure("Stack#0", 4, kind="stack")
    pattern.access(s, np.arange(4), 0, 1000, 0)
    pattern.touch(s, np.arange(1), 0)
    trace = trace_of(pattern)
    options = {} if sample is None else {"sample": sample}
    recorder = dataclasses.replace(trace.info.recorder, options=options)
    trace.__dict__["info"] = dataclasses.replace(trace.info, recorder=recorder)
    assert private_share(examine(trace)) == private
